/** What one client sends over one connection, in the pieces it sends. */
export interface Stream {
  readonly chunks: readonly Buffer[];
}

export type Random = (below: number) => number;

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface Message {
  line: string;
  headers: string[];
  body: string;
  /** Between head and body. */
  gap: string;
}

export const MAX_BODY_BYTES = 2_000;

const BODIES = [
  '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
  '{"jsonrpc":"2.0","id":"é😀","method":"eth_chainId","params":[]}',
  '{"jsonrpc":"2.0","id":22,"method":"web3_clientVersion"}',
  '{"jsonrpc":"2.0","method":"eth_chainId"}',
  '{"jsonrpc":"2.0","id":3,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"0x4"}]}',
  '{"jsonrpc":"2.0","id":4,"method":"eth_getBlockReceipts","params":["latest"]}',
  '{"jsonrpc":"2.0","id":5,"method":"eth_call","params":[{"to":"0x0000000000000000000000000000000000000000"}]}',
  '[{"jsonrpc":"2.0","id":6,"method":"eth_chainId"},{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber"}]',
  'not json',
  ' ',
  `{"jsonrpc":"2.0","id":8,"method":"eth_chainId","pad":"${'x'.repeat(1_500)}"}`,
];

const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json;',
  'application/vnd.api+json',
  'application/json ',
  ' application/json',
  'text/plain',
  'application/jsonp',
  'application/jso',
  '',
  'application/json, text/plain',
  'application/json\t;x',
];

const EXTRA = [
  'User-Agent: front/1',
  'Accept: */*',
  'accept-encoding: gzip, deflate, br',
  'X_under: 1',
  'X-Empty:',
  'X-Empty: ',
  'X-Space:  two  spaces  ',
  'X-Tab:\ttab\tbed',
  'X-High: caf\xe9',
  'X-Utf8: \xc3\xa9',
  'X-Del: a\x7fb',
  'X-Null: a\0b',
  'X-Bell: a\x07b',
  'X-Cr: a\rb',
  'X-Lf: a\nb',
  'X-Fold: a\r\n b',
  'X-Fold: a\r\n\tb',
  ' X-Leading: a',
  'X-Trailing : a',
  'X Space: a',
  'X(Paren): a',
  "X-!#$%&'*+.^`|~: a",
  'X-\xe9: a',
  ': nameless',
  'no colon',
  'Expect: 100-continue',
  'Expect: 100-Continue',
  'Expect: something',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Connection: Upgrade',
  'Connection: upgrade, keep-alive',
  'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  'Connection: keep-alive',
  'Connection: Keep-Alive',
  'Connection: keep-alive ',
  'connection: KEEP-ALIVE',
  'Connection: close',
  'Connection: Close',
  'Connection: keep-alive, close',
  'Connection: close, keep-alive',
  'Connection: x',
  'Connection:',
  'Connection: keep-alivex',
  'Connection : close',
  'Proxy-Connection: close',
  'Proxy-Connection: keep-alive',
  'Keep-Alive: timeout=1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'transfer-encoding: gzip',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  'TE: trailers',
  'Trailer: X-Late',
  'Host: again',
  'Content-Type: text/plain',
  'Content-Type: application/json',
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Lengt: 5',
  'Content-Lengthh: 5',
  'Content_Length: 5',
  'Origin: https://example.org',
  'origin: null',
  'ORIGIN:',
  'Origin: http://localhost',
  'Origin: http://localhost ',
  'Origin: https://allowed.example',
  'Origin : http://localhost',
  'Origi: x',
  'Authorization: Bearer x',
  'Cookie: a=b',
  'Cookie: c=d',
  `X-Long: ${'y'.repeat(4_000)}`,
  `X-Longer: ${'y'.repeat(9_000)}`,
  `X-Too-Long: ${'y'.repeat(17_000)}`,
  Array.from({ length: 110 }, (_, i) => `X-${i}: ${i}`).join('\r\n'),
  Array.from({ length: 1_010 }, () => 'a:').join('\r\n'),
];

/** The chain of the test ends with block 4. */
const AT_LEAST = [
  '0',
  '4',
  '4;0',
  '3;12',
  '5',
  '5;1',
  '007',
  '',
  'x',
  '4 ',
  ' 4',
  '\t4',
  '4\t',
  '4;',
  ';4',
  ';',
  '4;5;6',
  '4, 4',
  '4,4',
  '+4',
  '-4',
  '0x4',
  '4.0',
  '4\r\nX-Chain-At-Least: 4',
  '4\r\nx-chain-at-least: 3',
  '4\r\n 4',
  '999999999999999',
  '9999999999999999',
  '9'.repeat(32),
  '9'.repeat(33),
  '4\xe9',
];
/** The listeners of the test are on loopback; of other names they know one. */
const HOSTS = [
  'localhost',
  'localhost:1234',
  'LocalHost',
  'localhost.',
  ' localhost',
  'localhost ',
  '\tlocalhost',
  '127.0.0.1',
  '127.0.0.1:1',
  '127.255.1.2',
  '[::1]',
  '[::1]:80',
  'allowed.example',
  'Allowed.Example:443',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '',
  ':80',
  'localhost:x',
  'localhost, localhost',
  'user@localhost',
  '10.0.0.1',
  'localhost\xe9',
  'x'.repeat(300),
];
const AT_LEAST_NAMES = [
  'X-Chain-At-Least',
  'x-chain-at-least',
  'X-CHAIN-AT-LEAST',
  'x-chain-at-least ',
  'x-chain-at_least',
  'x-chain-at-leas',
];

const LINES = [
  'POST /path HTTP/1.1',
  'POST /?query HTTP/1.1',
  'POST http://example.org/ HTTP/1.1',
  'POST * HTTP/1.1',
  'POST  / HTTP/1.1',
  'POST /  HTTP/1.1',
  'POST / HTTP/1.1 ',
  'POST / HTTP/1.0',
  'POST / HTTP/0.9',
  'POST / HTTP/2.0',
  'POST / HTTP/1.2',
  'POST / HTTP/1.10',
  'POST / HTTP/01.1',
  'POST / http/1.1',
  'POST / HTTP /1.1',
  'POST / HTTPS/1.1',
  'POST /',
  'POST / ',
  'post / HTTP/1.1',
  'Post / HTTP/1.1',
  'POSTS / HTTP/1.1',
  'POS / HTTP/1.1',
  ' POST / HTTP/1.1',
  'POST\t/ HTTP/1.1',
  'POST /\xe9 HTTP/1.1',
  'POST /\0 HTTP/1.1',
  'POST /a b HTTP/1.1',
  'GET / HTTP/1.1',
  'HEAD / HTTP/1.1',
  'PUT / HTTP/1.1',
  'OPTIONS / HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'QUERY / HTTP/1.1',
  'CONNECT example.org:443 HTTP/1.1',
  'PRI * HTTP/2.0',
  'SOURCE / ICE/1.0',
  '\r\nPOST / HTTP/1.1',
  '\nPOST / HTTP/1.1',
  '\r\n\r\n\r\nPOST / HTTP/1.1',
  '\rPOST / HTTP/1.1',
  '\x16\x03\x01\x02',
];

const LENGTHS: readonly ((right: number) => string)[] = [
  (right) => `+${right}`,
  (right) => `-${right}`,
  (right) => `0${right}`,
  (right) => `000000000000000000000${right}`,
  (right) => `${right} `,
  (right) => ` ${right}`,
  (right) => `\t${right}`,
  (right) => `${right}\t`,
  (right) => `${right}, ${right}`,
  (right) => `${right},`,
  (right) => `${right}.0`,
  (right) => `${right}e0`,
  (right) => `0x${right.toString(16)}`,
  (right) => `${right} ${right}`,
  (right) => `${right}\r\nContent-Length: ${right}`,
  (right) => `${right}\r\ncontent-length: ${right + 1}`,
  (right) => `${right}\r\n 1`,
  (right) => String(right + 1),
  (right) => String(right + 7),
  (right) => String(right - 1),
  (right) => String(Math.max(right - 7, 0)),
  () => '0',
  () => '',
  () => 'x',
  () => '1999',
  () => '2000',
  () => '2001',
  () => '999999999',
  () => '1000000000',
  () => '4294967296',
  () => '4294967301',
  () => '9007199254740993',
  () => '18446744073709551615',
  () => '18446744073709551616',
  () => '99999999999999999999999999',
  () => 'NaN',
  (right) => `"${right}"`,
  (right) => `${right};x`,
];

const GARBAGE = ['x', '\r\n', '\n', '\r', '\0', 'GET', '\r\n\r\n', ' ', '0\r\n\r\n', 'POST', '\xff\xfe', '}'];

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

function plain(random: Random): Message {
  const body = Buffer.from(pick(random, BODIES)).toString('latin1');
  const host = random(4) === 0 ? pick(random, HOSTS) : 'localhost';
  const headers = [`Host: ${host}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  // In any order, as clients do.
  if (random(2) === 0) headers.reverse();
  if (random(3) === 0) headers.splice(random(4), 0, pick(random, EXTRA.slice(0, 3)));
  if (random(4) === 0)
    headers.splice(random(4), 0, `X-Chain-At-Least: ${pick(random, AT_LEAST.slice(0, 6))}`);
  return { line: 'POST / HTTP/1.1', headers, body, gap: '' };
}

function atLeast(random: Random): string {
  const name = pick(random, [...AT_LEAST_NAMES.slice(0, 3), pick(random, AT_LEAST_NAMES)]);
  return `${name}: ${pick(random, AT_LEAST)}`;
}

/** Changes of one thing in a message. */
const CHANGES: readonly ((message: Message, random: Random) => void)[] = [
  (message, random) => {
    message.line = pick(random, LINES);
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, pick(random, EXTRA));
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, pick(random, EXTRA));
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, atLeast(random));
  },
  (message, random) => {
    const value = pick(random, LENGTHS)(message.body.length);
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Length') ? `Content-Length: ${value}` : header,
    );
  },
  (message, random) => {
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Type') ? `Content-Type: ${pick(random, TYPES)}` : header,
    );
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length), 1);
  },
  (message, random) => {
    const at = random(message.headers.length);
    const header = message.headers[at] ?? '';
    message.headers[at] = pick(random, [
      header.toLowerCase(),
      header.toUpperCase(),
      header.replace(': ', ':'),
      header.replace(':', ' :'),
      header.replace(': ', ':  '),
      header.replace(': ', ':\t'),
      header.replace(': ', ':\r\n '),
      `${header} `,
      `${header}\t`,
      header.replace('-', '_'),
      header.replace(':', ''),
    ]);
  },
  (message, random) => {
    message.body = chunked(message.body, random);
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Length') ? 'Transfer-Encoding: chunked' : header,
    );
  },
  (message, random) => {
    message.body += pick(random, GARBAGE);
  },
  (message, random) => {
    message.gap = pick(random, GARBAGE);
  },
];

function chunked(body: string, random: Random): string {
  const size = body.length.toString(16);
  return pick(random, [
    `${size}\r\n${body}\r\n0\r\n\r\n`,
    `${size};ext=1\r\n${body}\r\n0\r\nX-Late: 1\r\n\r\n`,
    `${size}\n${body}\r\n0\r\n\r\n`,
    `+${size}\r\n${body}\r\n0\r\n\r\n`,
    `${size}\r\n${body}x\r\n0\r\n\r\n`,
  ]);
}

function render({ line, headers, body, gap }: Message, random: Random): Buffer {
  // Now and then lines end as they should not, all of them or one.
  const style = random(60);
  const end = style === 0 ? '\n' : style === 1 ? '\r' : style === 2 ? '\r\r\n' : '\r\n';
  const odd = random(20) === 0 ? random(headers.length + 2) : -1;
  const head = [line, ...headers, '']
    .map((text, index) => text + (index === odd ? pick(random, ['\n', '\r', ' \r\n', '\r\r\n', '']) : end))
    .join('');
  return Buffer.from(head + gap + body, 'latin1');
}

function spoil(bytes: Buffer, random: Random): Buffer {
  const at = random(bytes.length + 1);
  const byte = Buffer.from([pick(random, [0, 9, 10, 13, 32, 45, 48, 58, 127, 128, 255, random(256)])]);
  const kind = random(4);
  if (kind === 0) return Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(at)]);
  if (kind === 1) return Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(at + 1)]);
  if (kind === 2) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  return bytes.subarray(0, at);
}

function split(bytes: Buffer, starts: readonly number[], random: Random): readonly Buffer[] {
  const cuts = new Set<number>();
  const kind = random(8);
  if (kind < 3) for (let count = 1 + random(6); count > 0; count--) cuts.add(random(bytes.length + 1));
  if (kind === 2 || kind === 3 || kind === 4) for (const start of starts) cuts.add(start);
  if (kind === 5 && bytes.length < 700) for (let at = 1; at < bytes.length; at++) cuts.add(at);
  const sorted = [...cuts].filter((cut) => cut > 0 && cut < bytes.length).toSorted((a, b) => a - b);
  return [0, ...sorted].map((cut, index) => bytes.subarray(cut, sorted[index] ?? bytes.length));
}

/** A few requests on one connection, most of them with something wrong or unusual, cut somewhere. */
export function makeStream(random: Random): Stream {
  const segments: Buffer[] = [];
  const starts: number[] = [];
  for (let count = 1 + random(4); count > 0; count--) {
    const message = plain(random);
    const changes = pick(random, [0, 0, 1, 1, 1, 2, 3]);
    for (let i = 0; i < changes; i++) pick(random, CHANGES)(message, random);
    const bytes = render(message, random);
    segments.push(random(12) === 0 ? spoil(bytes, random) : bytes);
    starts.push(segments.reduce((sum, segment) => sum + segment.length, 0));
  }
  const bytes = Buffer.concat(segments);
  return { chunks: bytes.length === 0 ? [] : split(bytes, starts, random) };
}

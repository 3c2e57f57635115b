import type { Random } from '../../support/random.ts';
import type { Keyring } from './keyring.ts';
import { goodToken, makeApiKey, makeToken } from './tokens.ts';

/** One request as it goes over the wire, and how it must be answered. */
export interface MadeRequest {
  readonly bytes: Buffer;
  readonly status: number;
  readonly id: number;
  readonly kind: string;
}

/** A credential as a request carries it, and whom it lets in. */
interface Credential {
  readonly text: string;
  readonly grants: 'all' | 'few' | 'nothing';
}

const FOREIGN_HOSTS = ['evil.example', '10.0.0.1', 'localhost.evil.example', 'user@localhost', ''];
const LOCAL_HOSTS = ['localhost', '127.0.0.1', 'localhost:8546', '[::1]', 'LOCALHOST'];
const FOREIGN_ORIGINS = ['http://evil.example', 'null', 'https://localhost.evil.example', 'x'];
const GOOD_TYPES = ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON'];
const BAD_TYPES = ['text/plain', 'application/jsonp', '', 'application/json, text/plain', 'x\xe9'];
const BAD_AT_LEAST = ['x', '', '-1', '1;', '0x1', '1e1', '1;2;3', '9'.repeat(40), '\xe9'];
const JUNK = [
  ...['user-agent: fuzz', 'accept: */*', 'x-forwarded-for: 192.0.2.1', 'x-forwarded-for: evil, , 1.2.3.4'],
  ...[
    'x-forwarded-for: \xe9',
    'forwarded: for=192.0.2.1',
    'x-real-ip: 192.0.2.1',
    'cookie: a=b',
    'via: 1.1 x',
  ],
  ...[
    'proxy-authorization: Bearer x',
    'x-api-keys: x',
    'x-api-ke: x',
    'authorizatio: Bearer x',
    'te: trailers',
  ],
  ...['x-long: '.padEnd(3_000, 'y'), 'x-empty:', 'accept-encoding: gzip', 'cache-control: no-cache'],
];

/** What a header may carry; the rest is for who reads framing. */
const asHeader = (text: string): string => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim();

/** A credential that lets somebody in, or one that looks like it. Tokens that are only late or early depend on the clock. */
function credential(random: Random, ring: Keyring): Credential {
  const [all = '', few = ''] = ring.keys;
  const grantsOf = (text: string): Credential['grants'] =>
    text === all ? 'all' : text === few ? 'few' : 'nothing';
  return random.weighted<Credential>([
    [4, () => ({ text: all, grants: 'all' })],
    [2, () => ({ text: few, grants: 'few' })],
    [2, () => ({ text: goodToken(random, ring, { chain_query: {} }), grants: 'all' })],
    [
      2,
      () => {
        const text = asHeader(makeApiKey(random, ring).token);
        return { text, grants: grantsOf(text) };
      },
    ],
    [
      2,
      () => {
        const { token, expected, kind } = makeToken(random, ring);
        // Too long for a head, or for others to judge.
        if (expected !== 'refused' || kind === 'with bad claims' || token.length > 4_000)
          return { text: 'e30.e30.e30', grants: 'nothing' };
        return { text: asHeader(token), grants: 'nothing' };
      },
    ],
  ]);
}

/** Headers and a path that carry credentials, and what they grant together: two that differ, or one header twice, are none. */
function credentials(
  random: Random,
  ring: Keyring,
): { headers: string[]; path: string; grants: Credential['grants'] } {
  const headers: string[] = [];
  let path = random.pick(['/', '/', '/rpc', '/v1/base', '/?x=1']);
  const given: string[] = [];
  let grants: Credential['grants'] = 'nothing';
  const seen = new Set<string>();
  let isNone = false;
  const one = credential(random, ring);
  for (let left = random.pick([0, 1, 1, 1, 1, 2, 3]); left > 0; left--) {
    const { text, grants: own } = random.chance(0.5) ? one : credential(random, ring);
    const place = random.pick(['authorization', 'x-api-key', 'path']);
    if (place === 'path') {
      // Only keys are looked for in a path: anything else is a name in it.
      if (!ring.keys.includes(text)) continue;
      if (seen.has(place)) continue;
      path = random.pick([`/${text}`, `/v1/${text}`, `/${text}/`, `/base/v1/${text}?x=1`]);
      given.push(text);
    } else if (place === 'authorization') {
      const scheme = random.pick(['Bearer ', 'Bearer ', 'bearer ', 'BEARER  ', 'Basic ', 'Token ', 'Bearer']);
      const isBearer = /^bearer +$/i.test(scheme) && text !== '' && !/\s/.test(text);
      headers.push(`${random.pick(['authorization', 'Authorization'])}: ${scheme}${text}`);
      given.push(isBearer ? text : '');
      isNone ||= !isBearer;
    } else {
      headers.push(`${random.pick(['x-api-key', 'X-API-Key'])}: ${text}`);
      given.push(text);
    }
    if (place !== 'path' && seen.has(place)) isNone = true;
    seen.add(place);
    grants = own;
  }
  const isOne = new Set(given).size === 1 && !isNone;
  return { headers, path, grants: isOne ? grants : 'nothing' };
}

/** The status that a request must get: what is looked at first decides. */
function statusOf(facts: {
  readonly isForeign: boolean;
  readonly isPost: boolean;
  readonly grants: Credential['grants'];
  readonly isJson: boolean;
  readonly isAtLeastGood: boolean;
}): number {
  if (facts.isForeign) return 403;
  if (!facts.isPost) return 405;
  if (facts.grants === 'nothing') return 401;
  if (!facts.isJson) return 415;
  if (!facts.isAtLeastGood) return 400;
  return facts.grants === 'few' ? 403 : 200;
}

/** A request to a dedicated listener that is framed as it should be, with headers that are not all so. */
export function makeRequest(random: Random, ring: Keyring, id: number): MadeRequest {
  const { headers, path, grants } = credentials(random, ring);
  const isPost = !random.chance(0.05);
  const method = isPost ? 'POST' : random.pick(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
  const isForeignHost = random.chance(0.05);
  const isForeignOrigin = random.chance(0.05);
  const isJson = !random.chance(0.06);
  const atLeast = random.weighted<readonly string[]>([
    [16, () => []],
    [2, () => ['1']],
    [1, () => [random.pick(BAD_AT_LEAST)]],
    [1, () => ['1', '1']],
  ]);
  const isAtLeastGood = atLeast.length === 0 || (atLeast.length === 1 && atLeast[0] === '1');
  const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}`;
  const isChunked = random.chance(0.2);
  const all = [
    `host: ${random.pick(isForeignHost ? FOREIGN_HOSTS : LOCAL_HOSTS)}`,
    ...(isForeignOrigin ? [`origin: ${random.pick(FOREIGN_ORIGINS)}`] : []),
    `content-type: ${random.pick(isJson ? GOOD_TYPES : BAD_TYPES)}`,
    isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`,
    ...atLeast.map((value) => `x-chain-at-least: ${value}`),
    ...headers,
    ...random.list(random.pick([0, 0, 1, 2]), () => random.pick(JUNK)),
  ];
  const order = all.map((header) => ({ header, by: random.next() })).sort((a, b) => a.by - b.by);
  const lines = order.map(({ header }) => spaced(random, header));
  const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  const isForeign = isForeignHost || isForeignOrigin;
  const status = statusOf({ isForeign, isPost, grants, isJson, isAtLeastGood });
  const text = `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${sent}`;
  return { bytes: Buffer.from(text, 'latin1'), status, id, kind: `${method} ${grants}` };
}

/** A plain request, after which the server closes the connection. */
export function lastRequest({ keys }: Keyring, id: number): MadeRequest {
  const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}`;
  const head = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  const text = `POST / HTTP/1.1\r\n${head}x-api-key: ${keys[0]}\r\nconnection: close\r\n\r\n${body}`;
  return { bytes: Buffer.from(text), status: 200, id, kind: 'the last' };
}

function spaced(random: Random, header: string): string {
  const at = header.indexOf(':');
  const [name, value] = [header.slice(0, at), header.slice(at + 1).trim()];
  const styled = random.pick([name, name, name.toUpperCase()]);
  // Space around what frames a request is for who reads framing.
  if (/^(?:content-length|transfer-encoding)$/.test(name)) return `${styled}: ${value}`;
  return `${styled}:${random.pick([' ', ' ', ' ', '', '  ', '\t'])}${value}${random.pick(['', '', '', ' ', '\t'])}`;
}

const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const NEXT = '{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber"}';
const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';
const post = (body = BODY, extra = ''): string =>
  `POST / HTTP/1.1\r\n${HEAD}${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const withHeaders = (headers: string, body = BODY): string =>
  `POST / HTTP/1.1\r\n${HEAD}${headers}\r\n${body}`;
const length = `Content-Length: ${BODY.length}\r\n`;
const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

/** Requests whose end two readers could see in two places, and the statuses that answer them. */
export const FRAMING: readonly (readonly [name: string, bytes: string, statuses: string])[] = [
  ['two requests at once', post() + post(NEXT), '200 200'],
  ['the same length twice', withHeaders(length + length), '400'],
  ['two lengths', withHeaders(`${length}Content-Length: 5\r\n`) + post(NEXT), '400'],
  ['a list of lengths', withHeaders(`Content-Length: ${BODY.length}, ${BODY.length}\r\n`), '400'],
  ['a length and chunks', withHeaders('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', chunked), '400'],
  ['chunks', withHeaders('Transfer-Encoding: chunked\r\n', chunked) + post(NEXT), '200 200'],
  ['a coding nobody knows', withHeaders('Transfer-Encoding: xchunked\r\n', chunked), '400'],
  ['chunks, then identity', withHeaders('Transfer-Encoding: chunked, identity\r\n', chunked), '400'],
  ['a space before the colon', withHeaders(`Transfer-Encoding : chunked\r\n${length}`), '400'],
  ['a folded header', withHeaders(`X-A: b\r\n Content-Length: 3\r\n${length}`), '400'],
  ['bare line feeds', `POST / HTTP/1.1\nHost: a\nContent-Length: ${BODY.length}\n\n${BODY}`, '400'],
  ['one bare line feed', withHeaders(`X-A: b\n${length}`), '400'],
  ['a bare carriage return', withHeaders(`X-A: b\rContent-Length: 5\r\n${length}`), '400'],
  ['a space before the method', ` ${post()}`, '400'],
  ['a length with a sign', withHeaders(`Content-Length: +${BODY.length}\r\n`), '400'],
  ['a length in hex', withHeaders('Content-Length: 0x2f\r\n'), '400'],
  ['a negative length', withHeaders('Content-Length: -1\r\n'), '400'],
  ['a length beyond 64 bits', withHeaders('Content-Length: 18446744073709551663\r\n'), '400'],
  ['no length, then a request', withHeaders('', '') + post(NEXT), '200 200'],
  ['a length of nothing, then a request', withHeaders('Content-Length: 0\r\n', '') + post(NEXT), '200 200'],
  ['no host', `POST / HTTP/1.1\r\nContent-Type: application/json\r\n${length}\r\n${BODY}`, '400'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400'],
  [
    'a chunk size beyond 64 bits',
    withHeaders('Transfer-Encoding: chunked\r\n', `fffffffffffffffff\r\n${BODY}`),
    '400',
  ],
  [
    'a chunk after a bare line feed',
    withHeaders('Transfer-Encoding: chunked\r\n', `${BODY.length.toString(16)}\n${BODY}\r\n0\r\n\r\n`),
    '400',
  ],
  ['a request within a body', post(post()), '200'],
  ['a header of 20 kB', withHeaders(`X-A: ${'a'.repeat(20_000)}\r\n${length}`), '431'],
  ['a zero byte in a header', withHeaders(`X-A: a\0b\r\n${length}`), '400'],
  [
    'another content type',
    `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n${length}\r\n${BODY}`,
    '415',
  ],
  ['an expectation nobody can meet', withHeaders(`Expect: banana\r\n${length}`), '417'],
  ['an upgrade to HTTP/2', withHeaders(`Connection: Upgrade\r\nUpgrade: h2c\r\n${length}`), '200'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '400'],
];

const call = (id: string, method = 'eth_chainId', params = '[]'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`;
const RESULT = /"result":"0x/;
const parseError = /"code":-32700/;
const invalid = /"code":-32600/;
const badParams = /"code":-32602/;
const unknown = /"code":-32601/;

/** Bodies that parsers, or programs behind them, have stumbled over; and what answers them. */
export const ODD_JSON: readonly (readonly [name: string, body: string, answer: RegExp])[] = [
  ['an id beyond doubles', call('1e400'), /"id":1e400,"result"/],
  ['an id of many digits', call('123456789012345678901234567890'), /"id":123456789012345678901234567890,/],
  ['an id that is an object', call('{}'), invalid],
  ['an id with half a pair', call('"\\u0000\\ud800"'), /"id":"\\u0000\\ud800","result"/],
  ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_chainId"}', /"id":2,"result"/],
  [
    'an id with an escape in its name',
    '{"jsonrpc":"2.0","i\\u0064":7,"method":"eth_chainId"}',
    /"id":7,"result"/,
  ],
  ['a request as __proto__', '{"__proto__":{"jsonrpc":"2.0","method":"eth_chainId","id":1}}', invalid],
  [
    'an override of __proto__',
    call(
      '1',
      'eth_call',
      '[{"to":"0x00000000000000000000000000000000000000aa"},"latest",{"__proto__":{"code":"0x00"}}]',
    ),
    badParams,
  ],
  ['a method called __proto__', call('1', '__proto__'), unknown],
  ['a method called constructor', call('1', 'constructor'), unknown],
  ['a method of a megabyte', call('1', 'a'.repeat(1_000_000)), unknown],
  ['a million parameters', call('1', 'eth_chainId', `[${'1,'.repeat(1_000_000)}1]`), invalid],
  ['parameters by name', call('1', 'eth_chainId', '{}'), badParams],
  ['a batch of nothing', '[]', invalid],
  ['a batch of too many', `[${Array.from({ length: 101 }, () => call('1')).join(',')}]`, invalid],
  ['a batch in a batch', `[[${call('1')}]]`, invalid],
  ['a byte order mark', `\ufeff${call('1')}`, parseError],
  ['two million brackets', '['.repeat(2_000_000) + ']'.repeat(2_000_000), parseError],
  ['half a million objects in each other', `${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`, parseError],
  ['a number of five million digits', `1${'0'.repeat(5_000_000)}`, invalid],
  ['a million objects', `[${'{},'.repeat(1_000_000)}{}]`, invalid],
  ['two million quotes', call('1', 'eth_chainId', `["${'\\"'.repeat(2_000_000)}"]`), badParams],
  ['an ordinary request', call('1'), RESULT],
];

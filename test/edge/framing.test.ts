import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closed } from '../support/closed.ts';
import { type OurNode, startOurNode } from '../support/servers/node.ts';
import { curl } from './curl.ts';

let node: OurNode;
beforeAll(async () => {
  node = await startOurNode(['--request-timeout-ms', '1500', '--keep-alive-ms', '2000']);
});
afterAll(() => node?.stop());

const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

/** All that comes back for some pieces, until the node closes the connection, and how long that took. */
async function exchange(
  pieces: readonly string[],
  everyMs = 0,
): Promise<{ readonly text: string; readonly milliseconds: number }> {
  const { hostname, port } = new URL(node.publicUrl);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const began = performance.now();
  const ended = closed(socket);
  const left = [...pieces];
  const send = (): void => {
    const next = left.shift();
    if (next !== undefined && socket.writable) socket.write(next);
    else clearInterval(timer);
  };
  const timer = setInterval(send, everyMs);
  await ended;
  clearInterval(timer);
  return { text, milliseconds: performance.now() - began };
}

describe('what is not HTTP as it should be', () => {
  it.each([
    [
      'both lengths',
      `${HEAD}Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /evil`,
    ],
    ['two lengths', `${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`],
    ['a length with a sign', `${HEAD}Content-Length: +5\r\n\r\nabcde`],
    ['a coding that is none', `${HEAD}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a folded header', `${HEAD}Content-Length\r\n : 5\r\n\r\nabcde`],
    ['a space before the colon', `${HEAD}Content-Length : 5\r\n\r\nabcde`],
    ['a bare line feed', `POST / HTTP/1.1\nHost: localhost\n\n`],
  ])('400 for %s (smuggling), and the connection is closed', async (_, request) => {
    const { text } = await exchange([request]);
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    // Nothing of what followed was taken for a request.
    expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  it('431 for headers of more than 16 KiB', async () => {
    const { text } = await exchange([`${HEAD}x-long: ${'a'.repeat(20_000)}\r\n\r\n`]);
    expect(text).toMatch(/^HTTP\/1.1 431 /);
  });

  it('408 for a head and for a body that drip in (slow loris)', async () => {
    for (const drip of [HEAD, `${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`]) {
      const { text, milliseconds } = await exchange(drip.split(''), 100);
      expect(text).toMatch(/^HTTP\/1.1 408 /);
      expect(milliseconds).toBeLessThan(6_000);
    }
  });

  it('a connection that is idle is closed after the time that it was told, and not before', async () => {
    const { text, milliseconds } = await exchange([`${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`]);
    expect(text).toContain('Keep-Alive: timeout=2');
    expect(milliseconds).toBeGreaterThan(2_000);
  });

  it('and others are served meanwhile', async () => {
    const slow = Array.from({ length: 50 }, () => exchange(HEAD.split(''), 100));
    expect((await curl(node.publicUrl)).status).toBe(200);
    await Promise.all(slow);
  });
});

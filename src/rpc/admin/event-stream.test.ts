import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { closed } from '../../../test/support/closed.ts';
import { EventStream, eventText } from './event-stream.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(stream: EventStream): Promise<string> {
  server = createServer((_, response) => {
    if (!stream.take(response, eventText('state', {}))) response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('sends each event to all, and takes no more than it may', async () => {
  const stream = new EventStream({ maxClients: 2, maxQueuedBytes: 1_000 });
  const url = await serve(stream);
  const [one, two, three] = await Promise.all([fetch(url), fetch(url), fetch(url)]);
  expect([one, two, three].map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 503]);
  expect(one?.headers.get('content-type')).toBe('text/event-stream');
  expect(stream.clients).toBe(2);
});

it('cuts a client that never reads, and goes on for the others', async () => {
  const stream = new EventStream({ maxClients: 8, maxQueuedBytes: 64 * 1_024 });
  const { port } = new URL(await serve(stream));
  const deaf = connect(Number(port), '127.0.0.1').pause();
  deaf.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const cut = closed(deaf);
  const reader = (await fetch(`http://127.0.0.1:${port}`)).body?.getReader();
  await expect.poll(() => stream.clients).toBe(2);
  const text = eventText('live', 'x'.repeat(32 * 1_024));
  let heard = 0;
  // The system holds some megabytes for the deaf one before anything waits here.
  for (let sent = 0; sent < 2_000 && stream.clients === 2; sent++) {
    stream.send(text);
    heard += (await reader?.read())?.value?.length ?? 0;
  }
  expect(stream.clients).toBe(1);
  expect(heard).toBeGreaterThan(0);
  deaf.resume();
  await cut;
});

it('writes an event on one line, whatever is in it', () => {
  expect(eventText('note', { text: 'a\nb\n\nevent: x' })).toBe(
    'event: note\ndata: {"text":"a\\nb\\n\\nevent: x"}\n\n',
  );
});

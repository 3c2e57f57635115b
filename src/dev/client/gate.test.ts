import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { Turns } from '../../primitives/turns.ts';
import { openGate } from './gate.ts';

/** A server that answers with what it was sent, behind a gate. */
async function setup(maxWaiting = 10) {
  const echo = createServer((request, response) => request.pipe(response));
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const turns = new Turns(maxWaiting);
  const target = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  const gate = await openGate({ host: '127.0.0.1', port: 0 }, { target, turns });
  const send = (body: string): Promise<Response> => fetch(gate.url, { method: 'POST', body });
  return {
    ...{ turns, send, url: gate.url },
    async [Symbol.asyncDispose]() {
      await gate[Symbol.asyncDispose]();
      echo.close();
      echo.closeAllConnections();
    },
  };
}

it('passes requests on, one after another', async () => {
  await using gate = await setup();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const turn = gate.turns.take(async () => {
    await held.promise;
    order.push('turn');
  });
  const answer = gate.send('hello').then(async (response) => order.push(await response.text()));
  // By the time another request is answered through the same door, the first one has come to it.
  expect((await fetch(gate.url, { method: 'OPTIONS' })).status).toBe(204);
  held.resolve();
  await Promise.all([turn, answer]);
  expect(order).toEqual(['turn', 'hello']);
});

it('refuses bodies that are too large, and more waiting requests than it has room for', async () => {
  await using gate = await setup(1);
  expect((await gate.send('x'.repeat(6 * 2 ** 20))).status).toBe(413);
  const held = Promise.withResolvers<void>();
  const turn = gate.turns.take(() => held.promise);
  expect((await gate.send('hello')).status).toBe(503);
  held.resolve();
  await turn;
  expect((await gate.send('hello')).status).toBe(200);
});

it('says when the server behind it is gone', async () => {
  await using gate = await openGate(
    { host: '127.0.0.1', port: 0 },
    { target: 'http://127.0.0.1:1', turns: new Turns(1) },
  );
  expect((await fetch(gate.url, { method: 'POST', body: '{}' })).status).toBe(502);
});

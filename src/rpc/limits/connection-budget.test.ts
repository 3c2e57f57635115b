import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { closed } from '../../../test/support/closed.ts';
import { ConnectionBudget, gateConnections, newConnectionMemory } from './connection-budget.ts';

it('is one for all who share the memory, and gives places back', async () => {
  const memory = newConnectionMemory();
  const [one, other] = [new ConnectionBudget(memory, 2), new ConnectionBudget(memory, 2)];
  const server = createServer((_, response) => response.end('ok'));
  const admitted: Socket[] = [];
  gateConnections(server, (socket) => {
    const budget = admitted.length % 2 === 0 ? one : other;
    if (!budget.admit(socket)) {
      socket.destroy();
      return false;
    }
    admitted.push(socket);
    return true;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all(clients.map((client) => once(client, 'connect')));
  const refused = connect(port, '127.0.0.1');
  await closed(refused);
  expect(admitted).toHaveLength(2);
  clients[0]?.destroy();
  await once(admitted[0] as Socket, 'close');
  const last = connect(port, '127.0.0.1');
  last.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = (await once(last, 'data')) as [Buffer];
  expect(answer.toString()).toContain('200 OK');
  for (const client of [...clients, last]) client.destroy();
  server.close();
});

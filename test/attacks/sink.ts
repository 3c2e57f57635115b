// Whom the control run attacks: it takes every byte, answers every request at once, and does nothing.

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const UPGRADED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

function serve(socket: Socket): void {
  let head = '';
  let bodyLeft = 0;
  let swallows = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (!swallows && rest.length > 0) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, rest.length);
        bodyLeft -= taken;
        rest = rest.subarray(taken);
        if (bodyLeft === 0) socket.write(ANSWER);
        continue;
      }
      head += rest.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(head.slice(0, end))?.[1] ?? 0);
      swallows = length === 0;
      if (head.startsWith('GET ')) socket.write(UPGRADED);
      rest = Buffer.from(head.slice(end + 4), 'latin1');
      bodyLeft = length;
      head = '';
    }
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A load balancer that asks its nodes in turn, one request each, and knows nothing of chains. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Requests passed on so far, by node. */
  readonly passed: readonly number[];
}

export async function startBalancer(nodes: readonly string[]): Promise<Balancer> {
  const passed = nodes.map(() => 0);
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const at = turn % nodes.length;
    turn += 1;
    passed[at] = (passed[at] ?? 0) + 1;
    const headers = { ...incoming.headers, host: new URL(nodes[at] ?? '').host };
    const onward = request(nodes[at] ?? '', { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

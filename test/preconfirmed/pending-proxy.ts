import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Hex, zeroHash } from 'viem';
import type { Form } from '../support/flashblocks/forms.ts';
import { request } from '../support/servers/rpc-client.ts';

/** Where the pending block can be asked for. */
export interface PendingProxy extends AsyncDisposable {
  readonly url: string;
  /** Questions that it has answered. */
  readonly asked: number;
}

export interface PendingProxyOptions {
  /** Has all partial blocks. */
  readonly oracleUrl: string;
  readonly form: Form;
  /** What is shown as pending: the newest partial block, or the head where there is none. */
  pending(): Hex;
}

/**
 * A stand-in for a provider whose `pending` is the block that its chain's builder is at work on: it answers
 * `eth_getBlockByNumber("pending", true)` with the partial block that op-geth holds, and nothing else. Our own node does not serve
 * that method yet, and op-geth itself knows of no flashblocks.
 */
export async function startPendingProxy(options: PendingProxyOptions): Promise<PendingProxy> {
  let asked = 0;
  const answer = async (): Promise<unknown> => {
    const block = await request<Readonly<Record<string, unknown>>>(options.oracleUrl, 'eth_getBlockByHash', [
      options.pending(),
      true,
    ]);
    asked += 1;
    return { ...block, ...masked[options.form] };
  };
  const server = createServer((incoming, response) => {
    incoming.resume();
    answer().then(
      (result) => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result })),
      () => response.writeHead(503).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get asked() {
      return asked;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What nodes show of a block whose hashes they were not told: geth and others leave them out of a pending block. */
const masked: Readonly<Record<Form, Readonly<Record<string, unknown>>>> = {
  real: {},
  zeroRoot: { stateRoot: zeroHash },
  allZero: { stateRoot: zeroHash, hash: null, withdrawalsRoot: zeroHash },
};

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Hex } from 'viem';
import { owner } from '../workload/token.ts';
import { startAnvil } from './anvil.ts';
import { gethBinary } from './paths.ts';
import { type Running, start, tempDir, until } from './process.ts';
import { request } from './rpc-client.ts';

export interface Mined {
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly contractAddress: Hex | null;
}

/** A real development chain over both transports. */
export interface LiveChain extends AsyncDisposable {
  readonly http: string;
  readonly ws: string;
  /** Sends a transaction and waits until it is in a block. */
  send(transaction: { readonly to?: Hex; readonly data?: Hex }): Promise<Mined>;
}

async function send(url: string, transaction: { to?: Hex; data?: Hex }): Promise<Mined> {
  const signed = await owner.signTransaction({
    chainId: Number(await request<Hex>(url, 'eth_chainId')),
    type: 'eip1559',
    gas: 200_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1n,
    nonce: Number(await request<Hex>(url, 'eth_getTransactionCount', [owner.address, 'latest'])),
    ...transaction,
  });
  const hash = await request<Hex>(url, 'eth_sendRawTransaction', [signed]);
  return until(
    'a transaction to be mined',
    async () => (await request<Mined | null>(url, 'eth_getTransactionReceipt', [hash])) ?? undefined,
  );
}

export interface LiveGeth extends LiveChain {
  /** Ends it without warning; it can be started again at the same address with what it had saved. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** `geth --dev` as a plain upstream is: recent state only, no debug methods, default limits. */
export async function startLiveGeth(): Promise<LiveGeth> {
  const dir = await tempDir('geth-live');
  const run = async (port: string): Promise<{ readonly running: Running; readonly port: string }> => {
    const running = start(gethBinary(), [
      ...[
        '--dev',
        '--datadir',
        dir.path,
        '--nodiscover',
        '--maxpeers',
        '0',
        '--port',
        '0',
        '--ipcdisable',
        '--nat',
        'none',
      ],
      ...['--http', '--http.addr', '127.0.0.1', '--http.port', port, '--http.api', 'eth,net,web3'],
      ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', port, '--ws.api', 'eth,net,web3'],
    ]);
    const bound = await until(
      'geth to listen',
      () => /HTTP server started\s+endpoint=\S+:(\d+) auth=false/.exec(running.output())?.[1],
    );
    await until('geth to answer', () =>
      request(`http://127.0.0.1:${bound}`, 'eth_blockNumber').catch(() => undefined),
    );
    return { running, port: bound };
  };
  const first = await run('0');
  let { running } = first;
  const http = `http://127.0.0.1:${first.port}`;
  return {
    http,
    ws: `ws://127.0.0.1:${first.port}`,
    send: (transaction) => send(http, transaction),
    async kill() {
      running.signal('SIGKILL');
      await running.exited;
    },
    async restart() {
      ({ running } = await run(first.port));
    },
    async [Symbol.asyncDispose]() {
      await running.stop();
      await dir[Symbol.asyncDispose]();
    },
  };
}

export async function startLiveAnvil(): Promise<LiveChain> {
  const { url, stop } = await startAnvil();
  await request(url, 'anvil_setBalance', [owner.address, '0xffffffffffffffffffff']);
  return {
    http: url,
    ws: url.replace('http', 'ws'),
    send: (transaction) => send(url, transaction),
    [Symbol.asyncDispose]: stop,
  };
}

/** A way to a server that can be held up or closed: real answers, late or not at all. */
export interface Gate extends AsyncDisposable {
  readonly http: string;
  state: 'open' | 'held' | 'closed';
}

export async function startGate(target: string): Promise<Gate> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let state: Gate['state'] = 'open';
  const server = createServer((client) => {
    if (state === 'closed') {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      if (state === 'open') client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    http: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get state() {
      return state;
    },
    set state(next) {
      state = next;
      if (next === 'closed') for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Init code of a contract that starts with 42 in slot 0 and 7 in slot 5, logs nothing but that it did, and adds one
 * to slot 0 with every call.
 */
export const counterInitCode: Hex = '0x602a600055600760055560006000a06960016000540160005500600052600a6016f3';
export const counterCode: Hex = '0x60016000540160005500';

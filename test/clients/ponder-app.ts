import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COUNTER } from '../../src/dev/client/genesis.ts';
import { start, tempDir, until } from '../support/servers/process.ts';
import { clientTools } from './tools.ts';

/** An app as its authors write it: events of a contract with blocks, transactions and receipts, and every block. */
const files = {
  'package.json': '{"private":true,"type":"module"}',
  'tsconfig.json': '{"compilerOptions":{"strict":true,"module":"ESNext","moduleResolution":"bundler"}}',
  'ponder.config.ts': `
    import { createConfig } from 'ponder';
    import { parseAbi } from 'viem';
    export default createConfig({
      chains: { dev: { id: 901, rpc: process.env['RPC'] } },
      contracts: {
        Counter: {
          chain: 'dev',
          abi: parseAbi(['event Incremented(address indexed by, uint256 count)']),
          address: '${COUNTER.address}',
          startBlock: 0,
          includeTransactionReceipts: true,
        },
      },
      blocks: { Each: { chain: 'dev', startBlock: 1, interval: 1 } },
    });`,
  'ponder.schema.ts': `
    import { onchainTable } from 'ponder';
    export const increments = onchainTable('increments', (t) => ({
      id: t.text().primaryKey(), by: t.hex(), count: t.bigint(), block: t.bigint(), blockHash: t.hex(),
      timestamp: t.bigint(), hash: t.hex(), from: t.hex(), nonce: t.integer(), status: t.text(),
      gasUsed: t.bigint(), cumulative: t.bigint(),
    }));
    export const blocks = onchainTable('blocks', (t) => ({
      number: t.bigint().primaryKey(), hash: t.hex(), parent: t.hex(), timestamp: t.bigint(), gasUsed: t.bigint(),
      miner: t.hex(),
    }));`,
  'src/index.ts': `
    import { ponder } from 'ponder:registry';
    import { blocks, increments } from 'ponder:schema';
    ponder.on('Counter:Incremented', async ({ event, context }) => {
      const { block, transaction, transactionReceipt, args, id } = event;
      await context.db.insert(increments).values({
        id, by: args.by, count: args.count, block: block.number, blockHash: block.hash, timestamp: block.timestamp,
        hash: transaction.hash, from: transaction.from, nonce: transaction.nonce, status: transactionReceipt.status,
        gasUsed: transactionReceipt.gasUsed, cumulative: transactionReceipt.cumulativeGasUsed,
      });
    });
    ponder.on('Each:block', async ({ event: { block }, context }) => {
      const { number, hash, parentHash: parent, timestamp, gasUsed, miner } = block;
      await context.db.insert(blocks).values({ number, hash, parent, timestamp, gasUsed, miner });
    });`,
  'src/api/index.ts': `
    import { db } from 'ponder:api';
    import { blocks, increments } from 'ponder:schema';
    import { Hono } from 'hono';
    const app = new Hono();
    app.get('/rows', async (c) => {
      const rows = { increments: await db.select().from(increments), blocks: await db.select().from(blocks) };
      return c.text(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
    });
    export default app;`,
} as const;

type Row = Readonly<Record<string, string>>;

export interface Rows {
  readonly increments: readonly Row[];
  readonly blocks: readonly Row[];
}

/** A running app, on a database of its own. */
export interface PonderApp extends AsyncDisposable {
  /** What its database has. */
  rows(): Promise<Rows>;
  output(): string;
}

/** Starts the app on a node. */
export async function startPonder(rpc: string, port: number): Promise<PonderApp> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await tempDir('ponder'));
  const tools = join(await clientTools(), 'node_modules');
  await mkdir(join(folder.path, 'src/api'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  await symlink(tools, join(folder.path, 'node_modules'));
  const args = ['start', '--schema', 'app', '--port', `${port}`, '--log-format', 'json'];
  const running = start(join(tools, '.bin/ponder'), args, {
    cwd: folder.path,
    env: { RPC: rpc, PONDER_TELEMETRY_DISABLED: '1' },
  });
  starting.defer(() => running.stop());
  const url = `http://127.0.0.1:${port}/rows`;
  const rows = async (): Promise<Rows> => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`ponder answered ${response.status}: ${running.output()}`);
    return JSON.parse(await response.text()) as Rows;
  };
  await until('ponder to answer', rows).catch((cause: unknown) => {
    throw new Error(`ponder does not answer: ${running.output().slice(-2_000)}`, { cause });
  });
  const resources = starting.move();
  return { rows, output: () => running.output(), [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

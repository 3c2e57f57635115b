import { randomInt } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { start, tempDir, until } from '../../support/servers/process.ts';
import { clientTools } from '../tools.ts';

/** An app as its authors write it: a token's transfers with blocks, transactions and receipts, balances, and every block. */
const files = {
  'package.json': '{"private":true,"type":"module"}',
  'tsconfig.json': '{"compilerOptions":{"strict":true,"module":"ESNext","moduleResolution":"bundler"}}',
  'ponder.config.ts': `
    import { createConfig } from 'ponder';
    import { parseAbi } from 'viem';
    export default createConfig({
      chains: { dev: { id: 901, rpc: process.env['RPC'] } },
      contracts: {
        Token: {
          chain: 'dev',
          abi: parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)']),
          address: process.env['TOKEN'],
          startBlock: 0,
          includeTransactionReceipts: true,
        },
      },
      blocks: { Each: { chain: 'dev', startBlock: 1, interval: 1 } },
    });`,
  'ponder.schema.ts': `
    import { onchainTable } from 'ponder';
    export const transfers = onchainTable('transfers', (t) => ({
      id: t.text().primaryKey(), from: t.hex(), to: t.hex(), value: t.bigint(), block: t.bigint(), blockHash: t.hex(),
      timestamp: t.bigint(), hash: t.hex(), sender: t.hex(), nonce: t.integer(), index: t.integer(), status: t.text(),
      gasUsed: t.bigint(), cumulative: t.bigint(),
    }));
    export const balances = onchainTable('balances', (t) => ({ owner: t.hex().primaryKey(), value: t.bigint() }));
    export const blocks = onchainTable('blocks', (t) => ({
      number: t.bigint().primaryKey(), hash: t.hex(), parent: t.hex(), timestamp: t.bigint(), gasUsed: t.bigint(),
      miner: t.hex(),
    }));`,
  'src/index.ts': `
    import { ponder } from 'ponder:registry';
    import { balances, blocks, transfers } from 'ponder:schema';
    ponder.on('Token:Transfer', async ({ event, context }) => {
      const { block, transaction, transactionReceipt, args, id } = event;
      await context.db.insert(transfers).values({
        id, ...args, block: block.number, blockHash: block.hash, timestamp: block.timestamp, hash: transaction.hash,
        sender: transaction.from, nonce: transaction.nonce, index: transaction.transactionIndex,
        status: transactionReceipt.status, gasUsed: transactionReceipt.gasUsed,
        cumulative: transactionReceipt.cumulativeGasUsed,
      });
      for (const [owner, value] of [[args.from, -args.value], [args.to, args.value]])
        await context.db.insert(balances).values({ owner, value })
          .onConflictDoUpdate((row) => ({ value: row.value + value }));
    });
    ponder.on('Each:block', async ({ event: { block }, context }) => {
      const { number, hash, parentHash: parent, timestamp, gasUsed, miner } = block;
      await context.db.insert(blocks).values({ number, hash, parent, timestamp, gasUsed, miner });
    });`,
  'src/api/index.ts': `
    import { db } from 'ponder:api';
    import { asc } from 'ponder';
    import { balances, blocks, transfers } from 'ponder:schema';
    import { Hono } from 'hono';
    const app = new Hono();
    app.get('/rows', async (c) => {
      const rows = {
        transfers: await db.select().from(transfers).orderBy(asc(transfers.id)),
        balances: await db.select().from(balances).orderBy(asc(balances.owner)),
        blocks: await db.select().from(blocks).orderBy(asc(blocks.number)),
      };
      return c.text(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
    });
    export default app;`,
} as const;

type Row = Readonly<Record<string, string>>;

export interface Rows {
  readonly transfers: readonly Row[];
  readonly balances: readonly Row[];
  readonly blocks: readonly Row[];
}

/** A running app, on a database of its own. */
export interface PonderApp extends AsyncDisposable {
  /** What its database has. */
  rows(): Promise<Rows>;
  output(): string;
}

/** Starts the app on a node, for a token. */
export async function startPonder(rpc: string, token: string): Promise<PonderApp> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await tempDir('ponder'));
  const tools = join(await clientTools(), 'node_modules');
  await mkdir(join(folder.path, 'src/api'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  await symlink(tools, join(folder.path, 'node_modules'));
  // The first free port from there on: it says which. Two that start together and look from one on may find the same.
  const from = randomInt(20_000, 30_000);
  const args = ['start', '--schema', 'app', '--port', String(from), '--log-format', 'json'];
  const running = start(join(tools, '.bin/ponder'), args, {
    cwd: folder.path,
    env: { RPC: rpc, TOKEN: token, PONDER_TELEMETRY_DISABLED: '1' },
  });
  starting.defer(() => running.stop());
  const isThere = (): string | undefined => /"Created HTTP server","port":(\d+)/.exec(running.output())?.[1];
  // It brings a database of its own, which takes half a minute to start where many programs run.
  const port = await until('ponder to listen', isThere, 120_000).catch((cause: unknown) => {
    throw new Error(`ponder does not listen: ${running.output().slice(-2_000)}`, { cause });
  });
  const rows = async (): Promise<Rows> => {
    const response = await fetch(`http://127.0.0.1:${port}/rows`);
    if (!response.ok) throw new Error(`ponder answered ${response.status}: ${running.output()}`);
    return JSON.parse(await response.text()) as Rows;
  };
  const resources = starting.move();
  return { rows, output: () => running.output(), [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

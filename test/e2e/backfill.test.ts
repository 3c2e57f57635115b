// A copy that began in the middle of a real chain, and the history below it, fetched while the copy is served.
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLmdbStore } from '../../src/store/lmdb/index.ts';
import { blockKey } from '../../src/store/lmdb/keys.ts';
import { openTables } from '../../src/store/lmdb/tables.ts';
import { startChain } from '../support/servers/chains.ts';
import { type DevGeth, startDevGeth } from '../support/servers/geth.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { request, sendBatch } from '../support/servers/rpc-client.ts';
import { runProgram, startProgram, startServing } from '../support/servers/serving.ts';
import { answerTo, startFakeServer } from '../support/source/upstreams.ts';
import { makeToken } from '../support/workload/token.ts';
import { Workload } from '../support/workload/workload.ts';

const MAP = ['--store-map-size', '1GiB'] as const;
const MAP_BYTES = 2 ** 30;

let geth: DevGeth;
let dir: TempDir;
let anchor: number;

beforeAll(async () => {
  geth = await startDevGeth();
  dir = await tempDir('backfill');
  await makeToken(geth.url, 150, 5);
  anchor = Number(await request<string>(geth.url, 'eth_blockNumber'));
});
afterAll(async () => {
  await geth?.stop();
  await dir?.[Symbol.asyncDispose]();
});

const following = (): readonly string[] => ['--upstream', geth.url, ...MAP];
const quick = ['--finality-ms', '200', '--upstream-poll-ms', '50', '--threads', '1'] as const;

function backfillArguments(data: string, ...more: readonly string[]): readonly string[] {
  return ['backfill', '--data', data, '--upstream', geth.url, ...MAP, ...more];
}

/** Where a stored row of receipts is damaged. */
const DAMAGED_AT = 30;

async function lowestOf(data: string): Promise<number> {
  const store = await openLmdbStore({ path: data, mapSizeBytes: MAP_BYTES, readOnly: true });
  try {
    return store.marks()?.lowest.number ?? Number.POSITIVE_INFINITY;
  } finally {
    await store.close();
  }
}

/** Logs and receipts of each block. */
async function historyOf(url: string, last: number): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (let from = 0; from <= last; from += 50) {
    const numbers = Array.from({ length: Math.min(50, last - from + 1) }, (_, index) => from + index);
    const calls = numbers.flatMap((number) => {
      const block = `0x${number.toString(16)}`;
      return [
        { method: 'eth_getBlockReceipts', params: [block] },
        { method: 'eth_getLogs', params: [{ fromBlock: block, toBlock: block }] },
      ];
    });
    answers.push(...(await sendBatch(url, calls)));
  }
  return answers;
}

describe('backfill', () => {
  it('survives kill -9 while the chain is followed, and ends with all that the upstream has', async () => {
    const data = join(dir.path, 'data');
    await using node = await startServing(data, { args: [...following(), ...quick] });
    expect(await lowestOf(data)).toBe(anchor);

    const slow = ['--backfill-in-flight', '1', '--backfill-batch', '2'];
    const killed = startProgram(backfillArguments(data, ...slow));
    await until('a part of the history', async () =>
      (await lowestOf(data)) <= anchor - 20 ? true : undefined,
    );
    killed.signal('SIGKILL');
    expect(await killed.exited).toBe('SIGKILL');
    const half = await lowestOf(data);
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(anchor);

    // Two processes write to one store: new blocks above, old ones below.
    const [resumed] = await Promise.all([
      runProgram(backfillArguments(data, ...slow)),
      makeToken(geth.url, 10, 5),
    ]);
    expect(resumed.output).toMatch(
      new RegExp(`backfilled ${half} blocks and \\d+ logs, lowest 0 0x[0-9a-f]{64}\n`),
    );
    expect(resumed.code).toBe(0);

    const head = Number(await request<string>(geth.url, 'eth_blockNumber'));
    expect(head).toBeGreaterThan(anchor);
    await untilServed(node.dedicatedUrl, head);
    expect(await historyOf(node.dedicatedUrl, head)).toEqual(await historyOf(geth.url, head));
    const everything = [{ fromBlock: '0x0', toBlock: 'latest' }];
    const logs = await request<readonly unknown[]>(node.dedicatedUrl, 'eth_getLogs', everything);
    expect(logs).toEqual(await request(geth.url, 'eth_getLogs', everything));
    expect(logs.length).toBeGreaterThan(700);
  });

  it('leaves a store that verifies, until one byte of it is changed', async () => {
    const data = join(dir.path, 'data');
    const sound = await runProgram(['verify', '--data', data, ...MAP]);
    expect(sound.output).toMatch(
      /verified \d+ blocks, head \d+ 0x[0-9a-f]{64}\nstate root not checked: the copy is partial\n/,
    );
    expect(sound.code).toBe(0);

    const copy = join(dir.path, 'damaged');
    await mkdir(copy);
    await cp(data, copy, { recursive: true });
    const tables = openTables({ path: copy, mapSizeBytes: MAP_BYTES, readOnly: false, unsafeNoSync: true });
    // Of a block that has transactions: in a row without any there is no such byte.
    let number = 39;
    let key: Buffer = Buffer.alloc(0);
    let row: Buffer = Buffer.alloc(0);
    while (row.length <= DAMAGED_AT) {
      number++;
      const block = [`0x${number.toString(16)}`, false];
      const { hash } = await request<{ hash: `0x${string}` }>(geth.url, 'eth_getBlockByNumber', block);
      key = blockKey(number, hash);
      row = Buffer.from(tables.receipts.getBinary(key) ?? []);
    }
    row[DAMAGED_AT] = (row[DAMAGED_AT] ?? 0) ^ 1;
    tables.root.transactionSync(() => tables.receipts.putSync(key, row));
    await tables.root.close();
    const damaged = await runProgram(['verify', '--data', copy, ...MAP]);
    expect(damaged.output).toMatch(new RegExp(`chain-query: block ${number} .*receipts`));
    expect(damaged.code).toBe(3);
  });

  it('has nothing to do twice, and refuses a gap', async () => {
    const data = join(dir.path, 'data');
    expect((await runProgram(backfillArguments(data))).output).toMatch(
      /backfilled 0 blocks and 0 logs, lowest 0/,
    );
    const fresh = join(dir.path, 'fresh');
    await using _ = await startServing(fresh, { args: [...following(), ...quick] });
    const gap = await runProgram(backfillArguments(fresh, '--to', '10'));
    expect(gap.output).toContain('--to 10 would leave a gap');
    expect(gap.code).toBe(2);
    expect((await runProgram(backfillArguments(join(dir.path, 'none')))).output).toContain(
      'there is no store at',
    );
  });

  it('takes nothing false from an upstream that lies about blocks and receipts', async () => {
    const data = join(dir.path, 'lied-to');
    await using liar = await startFakeServer({ http: async (body) => ({ body: await twist(body) }) });
    {
      await using _ = await startServing(data, { args: [...following(), ...quick] });
    }
    const honest = backfillArguments(data, '--upstream', liar.http, '--upstream-demotion-ms', '1');
    const filled = await runProgram(honest);
    expect(filled.output).toMatch(/lowest 0 0x/);
    expect(filled.code).toBe(0);
    expect((await runProgram(['verify', '--data', data, ...MAP])).code).toBe(0);
    await using node = await startServing(data, { args: [...MAP] });
    expect(await historyOf(node.dedicatedUrl, anchor)).toEqual(await historyOf(geth.url, anchor));
    expect(filled.output).toContain('an upstream gave a false answer');

    const alone = ['backfill', '--data', join(dir.path, 'fresh'), '--upstream', liar.http, ...MAP];
    const refused = await runProgram([...alone, '--backfill-patience-ms', '1']);
    expect(refused.output).toMatch(/chain-query: every upstream is banned for lying, last http.* about 0x/);
    expect(refused.code).toBe(1);
  });
});

// anvil adds fields of its own to receipts: it is no oracle.
describe.each(['geth', 'op-geth'] as const)('history of a busy %s', (name) => {
  it('is the same here, and verifies, also after reorgs', { timeout: 120_000 }, async () => {
    const data = join(dir.path, name);
    await using chain = await startChain(name);
    const workload = new Workload(20_261_115, chain.traits, chain.readNonces);
    for await (const block of workload.setup()) await chain.mine(block);
    for (let left = 10; left > 0; left--) await chain.mine(await workload.next());
    const upstream = ['--upstream', chain.url, ...MAP] as const;
    const served = [...upstream, '--chain', chain.rulesFile, ...quick];
    await using node = await startServing(data, { args: served });
    for (let left = 10; left > 0; left--) await chain.mine(await workload.next());
    await chain.reorg?.(3, () => workload.next());
    for (let left = 5; left > 0; left--) await chain.mine(await workload.next());
    const filled = await runProgram(['backfill', '--data', data, ...upstream]);
    expect(filled.output).toMatch(/lowest 0 0x/);
    const head = Number(await request<string>(chain.url, 'eth_blockNumber'));
    await untilServed(node.dedicatedUrl, head);
    expect(await historyOf(node.dedicatedUrl, head)).toEqual(await historyOf(chain.url, head));
    await node.running.stop();
    const { code, output } = await runProgram(['verify', '--data', data, ...MAP]);
    expect(output).toContain(`verified ${head + 1} blocks, head ${head} `);
    expect(code).toBe(0);
  });
});

/** Waits until a node serves everything from the first block to `head`. */
async function untilServed(url: string, head: number): Promise<void> {
  await until('the node to serve all of it', async () => {
    const [first] = await sendBatch(url, [{ method: 'eth_getBlockReceipts', params: ['0x0'] }]);
    const at = Number(await request<string>(url, 'eth_blockNumber'));
    return first !== undefined && 'result' in first && first.result !== null && at >= head ? true : undefined;
  });
}

let lies = 0;

/** What the chain says, with a lie now and then. */
async function twist(body: string): Promise<string> {
  const calls = JSON.parse(body) as
    | { method: string; params: unknown[] }
    | { method: string; params: unknown[] }[];
  const list = Array.isArray(calls) ? calls : [calls];
  const answers = await sendBatch(
    geth.url,
    list.map(({ method, params }) => ({ method, params })),
  );
  let index = 0;
  return answerTo(body, ({ method }) => {
    const answer = answers[index++];
    const result = answer !== undefined && 'result' in answer ? answer.result : null;
    lies++;
    if (lies % 7 !== 0 || result === null) return result;
    if (method === 'eth_getBlockReceipts') {
      const [first, ...rest] = result as { logs: object[] }[];
      return first === undefined ? result : [{ ...first, logs: first.logs.slice(1) }, ...rest];
    }
    if (method.startsWith('eth_getBlock')) return { ...(result as object), gasUsed: '0x1' };
    return result;
  });
}

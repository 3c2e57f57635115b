import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Outcome } from '../../src/chain/outcome.ts';
import type { LogQuery } from '../../src/store/interface.ts';
import { type LmdbStore, openLmdbStore } from '../../src/store/lmdb/index.ts';
import { hotAddress, plantedTopic, syntheticChain, transferTopic } from './synthetic.ts';

// Logs at scale: synthetic blocks straight into the LMDB store, then queries whose cost must follow their matches.

const { values: flags } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
  },
});
const seed = Number(flags.seed);
const blocks = flags.full ? 200_000 : 20_000;
const logsPerBlock = 50;
const batch = 2048;
const matches = 100;
const narrow = 2_000;
const plants = 20;
const repetitions = 15;
const limit = 3;

interface Plant {
  readonly topic: Uint8Array;
  readonly blocks: readonly number[];
}

/** Values that occur in 100 blocks each: `step` apart, from `first` on. */
function plant(id: number, first: number, step: number): Plant {
  return {
    topic: plantedTopic(id),
    blocks: Array.from({ length: matches }, (_, index) => first + index * step),
  };
}

const scattered = Array.from({ length: plants }, (_, id) =>
  plant(id, id, Math.floor((blocks - plants) / matches)),
);
const packed = Array.from({ length: plants }, (_, id) =>
  plant(
    1000 + id,
    Math.floor(((blocks - narrow) * id) / plants) + (id % 7),
    Math.floor((narrow - 7) / matches),
  ),
);

console.log(`seed ${seed}: ${blocks} blocks, ${blocks * logsPerBlock} logs`);
const path = await mkdtemp(join(tmpdir(), 'chain-query-scale-'));
let failed = 0;
try {
  const store = await openLmdbStore({ path, unsafeNoSync: true });
  const fillSeconds = await fill(store);
  const sizes = store.tableBytes();
  const results = await measure(store);
  const lines = describe(results, sizes, store.usedBytes(), fillSeconds);
  console.log(lines.join('\n'));
  if (flags.report) await writeFile('docs/logs-at-scale.md', report(lines));
  await store.close();
} finally {
  await rm(path, { recursive: true, force: true });
}

async function fill(store: LmdbStore): Promise<number> {
  const started = performance.now();
  let storing = 0;
  let pending: Outcome[] = [];
  const flush = async (): Promise<void> => {
    const before = performance.now();
    await store.append(pending);
    storing += performance.now() - before;
    pending = [];
  };
  for (const outcome of syntheticChain({ seed, blocks, logsPerBlock, planted: [...scattered, ...packed] })) {
    pending.push(outcome);
    if (pending.length === batch) await flush();
    if (outcome.number % 20_000 === 19_999) {
      console.log(`${outcome.number + 1} blocks after ${Math.round((performance.now() - started) / 1000)} s`);
    }
  }
  await flush();
  return storing / 1000;
}

interface Measured {
  readonly name: string;
  readonly median: number;
  readonly found: number;
}

interface Case {
  readonly name: string;
  readonly run: (index: number) => { readonly query: LogQuery; readonly from: number; readonly to: number };
  readonly expected?: number;
}

/** Cases take turns, so that noise of the machine hits all of them alike. */
async function measure(store: LmdbStore): Promise<Map<string, Measured>> {
  const head = blocks - 1;
  const byTopic = (topic: Uint8Array | undefined): LogQuery => ({
    addresses: [],
    topics: [[], [topic ?? hotAddress]],
  });
  const rangeOf = (index: number) => {
    const from = packed[index]?.blocks[0] ?? 0;
    return { from, to: from + narrow - 7 };
  };
  const cases: Case[] = [
    {
      name: 'narrow',
      expected: matches,
      run: (at) => ({ query: byTopic(packed[at]?.topic), ...rangeOf(at) }),
    },
    {
      name: 'all',
      expected: matches,
      run: (at) => ({ query: byTopic(scattered[at]?.topic), from: 0, to: head }),
    },
    {
      name: 'hot+rare',
      expected: matches,
      run: (at) => ({
        query: { addresses: [hotAddress], topics: [[transferTopic], [scattered[at]?.topic ?? hotAddress]] },
        from: 0,
        to: head,
      }),
    },
    {
      name: 'any of 1,000',
      run: (at) => ({
        query: {
          addresses: [],
          topics: [[], Array.from({ length: 1000 }, (_, id) => plantedTopic(id === 0 ? at : 1e6 + id))],
        },
        from: 0,
        to: head,
      }),
      expected: matches,
    },
    {
      name: 'hot, 100 blocks',
      run: (at) => ({ query: { addresses: [hotAddress], topics: [] }, from: at * 100, to: at * 100 + 99 }),
    },
  ];
  const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  const found = new Map<string, number>();
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (let index = 0; index < plants; index++) {
      for (const { name, run, expected } of cases) {
        const { query, from, to } = run(index);
        const started = performance.now();
        const count = await consume(store, query, from, to);
        times.get(name)?.push(performance.now() - started);
        found.set(name, count);
        if (expected !== undefined && count !== expected)
          throw new Error(`${name}: ${count} matches, not ${expected}`);
      }
    }
  }
  return new Map(
    cases.map(({ name }) => [
      name,
      { name, median: median(times.get(name) ?? []), found: found.get(name) ?? 0 },
    ]),
  );
}

async function consume(store: LmdbStore, query: LogQuery, from: number, to: number): Promise<number> {
  let count = 0;
  for await (const { block, indexes } of store.findLogs(query, from, to)) {
    for (const index of indexes) {
      const log = block.log(index);
      if (block.transactionHash(log.transactionIndex).length === 32) count++;
    }
  }
  return count;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

function describe(
  results: Map<string, Measured>,
  sizes: Record<string, number>,
  used: number,
  fillSeconds: number,
): string[] {
  const at = (name: string): Measured => results.get(name) ?? { name, median: 0, found: 0 };
  const logs = blocks * logsPerBlock;
  const perLog = (name: string): string => ((sizes[name] ?? 0) / logs).toFixed(1);
  const checks: [string, number][] = [
    [
      `${matches} matches in all ${blocks} blocks, against in ${narrow} blocks`,
      at('all').median / at('narrow').median,
    ],
    [
      'hot address + hot topic + rare topic, against the rare topic alone',
      at('hot+rare').median / at('all').median,
    ],
  ];
  const verdicts = checks.map(([what, ratio]) => {
    if (!(ratio <= limit)) failed++;
    return `| ${what} | ${ratio.toFixed(2)}× | ≤ ${limit}× | ${ratio <= limit ? 'ok' : 'FAILED'} |`;
  });
  return [
    '',
    '| query | matches | median ms |',
    '|---|---|---|',
    ...[...results.values()].map(
      ({ name, median: ms, found }) => `| ${name} | ${found} | ${ms.toFixed(3)} |`,
    ),
    '',
    '| ratio | measured | limit | |',
    '|---|---|---|---|',
    ...verdicts,
    '',
    `Bytes per log: ${(used / logs).toFixed(1)} in the file; bodies ${perLog('logs')}, postings ${perLog('postings')},` +
      ` recent ${perLog('recent')}, receipts ${perLog('receipts')}.`,
    `File: ${(used / 2 ** 20).toFixed(0)} MiB. Appended in ${fillSeconds.toFixed(0)} s` +
      ` (${Math.round(logs / fillSeconds)} logs a second, ${batch} blocks an append, no flush).`,
    '',
  ];
}

function report(lines: readonly string[]): string {
  const command = `npm run test:scale --${flags.full ? ' --full' : ''} --report --seed ${seed}`;
  return `# Logs at scale

${blocks.toLocaleString('en')} synthetic blocks of ${logsPerBlock} logs, ${(blocks * logsPerBlock).toLocaleString('en')} logs, straight into the LMDB store;
one address emits a fifth of all logs, in every block. Medians of ${repetitions * plants} runs a query, cases taking turns,
file in the page cache. Written by \`${command}\`
on ${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}.
${lines.join('\n')}
- **narrow**: ${matches} matches of a rare topic within ${narrow} blocks. **all**: as many, spread over all blocks.
- **hot+rare**: the hot address, the hot topic 0 and the rare topic 1 of **all**.
- **any of 1,000**: a list of 1,000 alternatives at one position, one of which occurs.
- **hot, 100 blocks**: every log of the hot address in 100 blocks.
`;
}

console.log(`${2 - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

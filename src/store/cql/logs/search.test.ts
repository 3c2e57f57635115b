import { expect, it } from 'vitest';
import { address, createRandom, makeOutcome, topic } from '../../../../test/support/store/contract-chain.ts';
import { readAll } from '../../../../test/support/store/contract-observe.ts';
import type { Log } from '../../../chain/log.ts';
import type { Outcome } from '../../../chain/outcome.ts';
import type { LogQuery } from '../../interface.ts';
import { createMatcher } from '../../match.ts';
import { blockStatements } from '../bodies.ts';
import type { Row, RowReader, Statement, Value } from '../session.ts';
import { postingStatements, rowStart } from './posting-rows.ts';
import { searchIndex } from './search.ts';

const COPY = 1n;
const zero = `0x${'00'.repeat(32)}` as const;

/** Rows as a server keeps them, of the two tables that a search reads. */
class Rows implements RowReader {
  readonly #postings = new Map<string, Map<string, readonly [first: bigint, places: Value]>>();
  readonly #bodies = new Map<string, Row[]>();
  reads = 0;

  write(statements: readonly Statement[]): void {
    for (const { query, values } of statements) {
      const [copy, second, third, fourth, fifth, sixth, places] = values;
      if (query.startsWith('INSERT INTO postings')) {
        const key = keyOf([copy, second, third, fourth]);
        const rows = this.#postings.get(key) ?? new Map<string, readonly [bigint, Value]>();
        this.#postings.set(key, rows.set(keyOf([fifth, sixth]), [fifth as bigint, places ?? null]));
      } else {
        const key = keyOf([copy, second, third]);
        const row = { part: fourth, hash: fifth, bytes: sixth } as unknown as Row;
        this.#bodies.set(key, [...(this.#bodies.get(key) ?? []), row]);
      }
    }
  }

  async rows(query: string, values: readonly Value[]): Promise<Row[]> {
    this.reads++;
    await Promise.resolve();
    if (query.includes('FROM bodies')) {
      const all = this.#bodies.get(keyOf(values.slice(0, 3))) ?? [];
      return query.includes('part = ?') ? all.filter((row) => row['part'] === values[3]) : all;
    }
    const key = keyOf(values.slice(0, 4));
    const [from, to, limit] = values.slice(4) as [bigint, bigint, number | undefined];
    return [...(this.#postings.get(key)?.values() ?? [])]
      .filter(([first]) => first >= from && first <= to)
      .toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
      .slice(0, limit)
      .map(([first, places]) => ({ first, places }) as unknown as Row);
  }
}

function keyOf(values: readonly (Value | undefined)[]): string {
  return values
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)))
    .join(' ');
}

async function search(rows: Rows, query: LogQuery, range: readonly [number, number]): Promise<string[]> {
  const found = searchIndex(
    {
      session: rows,
      copy: COPY,
      canonicalHash: () => Promise.resolve(undefined),
      checkpoint: () => {},
    },
    query,
    range,
  );
  return (await readAll(found)).map(({ block, indexes }) => `${block.number}: ${indexes.join(' ')}`);
}

it('finds what looking at every log finds, however far apart it is, and rows that came in parts', async () => {
  const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = createRandom(seed);
  for (let chain = 0; chain < 4; chain++) {
    const length = [2_000, 60_000, 700_000][chain % 3] ?? 0;
    const rows = new Rows();
    // In every other chain, some rows have more places of a value than are listed.
    const blocks = randomBlocks(random, length, chain % 2 === 0 ? 6 : 160);
    for (const block of blocks) rows.write(blockStatements(COPY, block, { time: 1n, diff: false }));
    for (const own of Map.groupBy(blocks, ({ number }) => rowStart(number)).values()) {
      const cut = random(3) === 0 ? random(own.length + 1) : 0;
      for (const part of [own.slice(0, cut), own.slice(cut)]) rows.write(postingStatements(COPY, part, 1n));
      // Those who prepend may have written some before, and more of it later.
      if (random(4) === 0) rows.write(postingStatements(COPY, own, 1n));
    }
    for (let turn = 0; turn < 8; turn++) {
      const query = randomQuery(random);
      const [from = 0, to = 0] = [random(length), random(length)].toSorted((a, b) => a - b);
      const matches = createMatcher(query);
      const expected = blocks
        .filter(({ number }) => number >= from && number <= to)
        .map(({ number, logs }) => ({
          number,
          indexes: logs.flatMap((log, at) => (matches(log) ? [at] : [])),
        }))
        .filter(({ indexes }) => indexes.length > 0)
        .map(({ number, indexes }) => `${number}: ${indexes.join(' ')}`);
      const found = await search(rows, query, [from, to]);
      expect(found, `seed ${seed}, chain ${chain}, turn ${turn}, blocks ${from} to ${to}`).toEqual(expected);
    }
  }
}, 30_000);

it('asks no more often where the same matches are further apart', async () => {
  const asked = async (step: number): Promise<number> => {
    const rows = new Rows();
    for (let at = 0; at < 100; at++) {
      const block = blockAt(at * step, [logOf(address(1), [topic(1)])]);
      rows.write(blockStatements(COPY, block, { time: 1n, diff: false }));
      rows.write(postingStatements(COPY, [block], 1n));
    }
    const query = { addresses: [address(1)], topics: [[topic(1)]] };
    expect(await search(rows, query, [0, 100 * step])).toHaveLength(100);
    return rows.reads;
  };
  expect(await asked(2_000)).toBe(await asked(100));
});

/** Blocks in heaps and alone; some values are in nearly all of them, some in few. */
function randomBlocks(random: (below: number) => number, length: number, most: number): Outcome[] {
  const numbers = new Set<number>();
  for (let heap = 0; heap < 12; heap++) {
    const first = random(length);
    for (let left = random(3) === 0 ? 70 : 4; left > 0; left--)
      numbers.add(Math.min(length - 1, first + random(150)));
  }
  return [...numbers]
    .toSorted((a, b) => a - b)
    .map((number) =>
      blockAt(
        number,
        Array.from({ length: 1 + random(most) }, () => {
          const topics = Array.from({ length: random(3) }, () => topic(skewed(random)));
          return logOf(address(skewed(random)), topics);
        }),
      ),
    );
}

function skewed(random: (below: number) => number): number {
  return random(2) === 0 ? 0 : random(2) === 0 ? random(4) : random(60);
}

function randomQuery(random: (below: number) => number): LogQuery {
  const some = (make: (value: number) => Uint8Array): Uint8Array[] =>
    Array.from({ length: random(3) === 0 ? 1 + random(30) : 1 }, () => make(skewed(random)));
  const topics = Array.from({ length: random(3) }, () => (random(3) === 0 ? [] : some(topic)));
  const isBare = topics.every((values) => values.length === 0);
  return { addresses: isBare || random(2) === 0 ? some(address) : [], topics };
}

function blockAt(number: number, logs: readonly Log[]): Outcome {
  return makeOutcome({ number: number - 1, hash: zero }, { logs });
}

function logOf(from: Uint8Array, topics: readonly Uint8Array[]): Log {
  return { transactionIndex: 0, address: from, topics, data: new Uint8Array(0) };
}

import { blockStatements } from '../../src/store/cql/bodies.ts';
import { catchUp } from '../../src/store/cql/catch-up.ts';
import { nameStatements } from '../../src/store/cql/index-rows.ts';
import { postingStatements, ROW_BLOCKS } from '../../src/store/cql/logs/posting-rows.ts';
import type { CqlStoreOptions } from '../../src/store/cql/options.ts';
import { CqlReader } from '../../src/store/cql/reader.ts';
import { copyOf, type Root, RootRow } from '../../src/store/cql/root.ts';
import { createTables } from '../../src/store/cql/schema.ts';
import { Session, type Statement } from '../../src/store/cql/session.ts';
import { View } from '../../src/store/cql/view.ts';
import { indexBlocks } from '../../src/store/cql/write/index-blocks.ts';
import { beginning } from '../../src/store/cql/write/next-root.ts';
import { note } from '../stores/timing.ts';
import { blockOf, hashOf, plantOf } from './history.ts';

/** Rows of blocks that are written together, and batches at a time: there are no blocks that come first. */
const LOT_ROWS = 16;
const BATCHES_AT_ONCE = 16;
/** How often progress is said. */
const NOTE_BLOCKS = 50 * LOT_ROWS * ROW_BLOCKS;

/** `whole`: all rows of all blocks. `index`: postings, hashes and what logs of planted topics need; no state. */
export type Extent = 'whole' | 'index';

/** A made-up chain in a keyspace of its own, and how it is read. */
export interface Loaded {
  readonly blocks: number;
  readonly extent: Extent;
  readonly keyspace: string;
  readonly copy: bigint;
  readonly session: Session;
  readonly reader: CqlReader;
  readonly secondsToLoad: number;
}

/**
 * Writes a chain of so many blocks and opens it. Rows are made by the store's own functions and written in its own batches, but many
 * blocks at a time, without what makes each of them canonical one by one: links, and a conditional write each. The root row comes last,
 * and says that all is indexed.
 */
export async function load(
  place: Pick<CqlStoreOptions, 'contactPoints' | 'localDataCenter'>,
  blocks: number,
  extent: Extent,
): Promise<Loaded> {
  const keyspace = `growth_${blocks}`;
  const options = { ...place, keyspace, replication: 1, chain: 'growth', timeoutMs: 30_000 };
  const session = await Session.connect(options);
  try {
    await createTables(session);
    const row = await RootRow.take(session, options.chain, 'bench');
    const head = blocks - 1;
    const start = beginning(blockOf(0, blocks), false);
    const root: Root = {
      ...start,
      marks: { ...start.marks, head: { number: head, hash: hashOf(head) } },
      ...{ settled: head, indexed: head },
    };
    const copy = copyOf(root);
    const began = performance.now();
    const time = row.nextTime();
    const target = { session, copy, nextTime: () => row.nextTime(), atOnce: BATCHES_AT_ONCE };
    for (let first = 0; first < blocks; first += LOT_ROWS * ROW_BLOCKS) {
      const statements: Statement[] = [];
      const whole: Promise<void>[] = [];
      for (let at = first; at < Math.min(blocks, first + LOT_ROWS * ROW_BLOCKS); at += ROW_BLOCKS) {
        const length = Math.min(ROW_BLOCKS, blocks - at);
        const some = Array.from({ length }, (_, offset) => blockOf(at + offset, blocks));
        const kept =
          extent === 'whole' ? some : some.filter(({ number }) => plantOf(number, blocks) !== undefined);
        for (const block of kept) statements.push(...blockStatements(copy, block, { time, diff: false }));
        if (extent === 'whole') whole.push(indexBlocks({ ...target, atOnce: 1 }, some));
        else {
          statements.push(...postingStatements(copy, some, time));
          for (const block of some) statements.push(...nameStatements(copy, block, time));
        }
      }
      await Promise.all([...whole, session.write(statements, BATCHES_AT_ONCE)]);
      if (first % NOTE_BLOCKS === 0) note(`${first} of ${blocks} blocks are loaded`);
    }
    const secondsToLoad = (performance.now() - began) / 1_000;
    const view = new View();
    await row.commit(root, () => {});
    await catchUp(session, view, root);
    const reader = new CqlReader(session, options.chain, view);
    return { blocks, extent, keyspace, copy, session, reader, secondsToLoad };
  } catch (error) {
    await session.close();
    throw error;
  }
}

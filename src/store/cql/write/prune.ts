import { decodeDiff } from '../../../chain/outcome-codec.ts';
import { decodeReceipts } from '../../../chain/receipt-codec.ts';
import { deleteBodies, readBlockLogs, readHashes, readLinks, readPart, unlinkStatement } from '../bodies.ts';
import { deleteHashes, readHash, unnameStatements } from '../index-rows.ts';
import { deletePostings, ROW_BLOCKS, rowStart } from '../logs/posting-rows.ts';
import type { Root } from '../root.ts';
import type { Statement } from '../session.ts';
import { supersededStatements } from '../state-rows.ts';
import { type Subject, subjectText, writesOf } from '../tail.ts';
import type { IndexTarget } from './index-blocks.ts';

/** How far the BLOCKHASH opcode looks back. */
const BLOCK_HASH_REACH = 256;

/**
 * Deletes rows of blocks below `below`, a row of postings at a time, until about `limit` statements were sent; how far it came. The row
 * of the lowest block stays, since it also names blocks that are held: `below` is where a row begins.
 */
export async function deleteHistory(
  target: IndexTarget,
  root: Root,
  below: number,
  limit: number,
): Promise<number> {
  const { session, copy } = target;
  let { pruned } = root;
  for (let left = limit; left > 0 && pruned < below; ) {
    const end = Math.min(below, rowStart(pruned) + ROW_BLOCKS);
    const { index, bodies } = await deletionsOf(target, pruned, end);
    await session.write(index, target.atOnce);
    // Only now: they are what tells which rows there are.
    await session.write(bodies, target.atOnce);
    const reach = root.marks.lowest.number - BLOCK_HASH_REACH;
    await session.write(
      deleteHashes(copy, pruned - BLOCK_HASH_REACH, Math.min(end, reach), target.nextTime()),
    );
    left -= index.length + bodies.length;
    pruned = end;
  }
  return pruned;
}

/** What to delete for blocks `from` up to `end`, in two steps. */
async function deletionsOf(
  { session, copy, nextTime }: IndexTarget,
  from: number,
  end: number,
): Promise<{ readonly index: readonly Statement[]; readonly bodies: readonly Statement[] }> {
  const time = nextTime();
  const index: Statement[] = [];
  const bodies: Statement[] = [];
  const blocks: {
    readonly number: number;
    readonly logs: Parameters<typeof deletePostings>[1][number]['logs'];
  }[] = [];
  const written = new Map<string, readonly [Subject, number]>();
  for (let number = from; number < end; number++) {
    const canonical = await readHash(session, copy, number);
    for (const hash of await readHashes(session, copy, number)) {
      const ref = { number, hash };
      const [receipts, diffBytes, logs] = await Promise.all([
        readPart(session, copy, ref, 'receipts'),
        readPart(session, copy, ref, 'diff'),
        readBlockLogs(session, copy, ref),
      ]);
      const list = receipts === undefined ? [] : decodeReceipts(receipts);
      index.push(...unnameStatements(copy, { ...ref, receipts: list }, time));
      const length = logs?.length ?? 0;
      blocks.push({
        number,
        logs: Array.from({ length }, (_, at) => (logs as NonNullable<typeof logs>).log(at)),
      });
      // What a block wrote that was taken off supersedes nothing.
      const diff = diffBytes === undefined || hash !== canonical ? undefined : decodeDiff(diffBytes);
      for (const [subject] of diff === undefined ? [] : writesOf({ diff }))
        written.set(subjectText(subject), [subject, number]);
    }
    bodies.push(deleteBodies(copy, number, time));
  }
  index.push(...deletePostings(copy, blocks, rowStart(from), time));
  for (const [subject, number] of written.values())
    index.push(...supersededStatements(copy, subject, number, time));
  const links = await readLinks(session, copy, from, end - 1);
  bodies.push(...links.map((link) => unlinkStatement(copy, link, time)));
  return { index, bodies };
}

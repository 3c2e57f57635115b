import type { Outcome } from '../chain/outcome.ts';
import type { ChainSource } from '../source/interface.ts';
import type { BlockReader, ReadBlock } from './block-reader.ts';

/** Where a copy begins: a tag or a number of the upstream's chain. */
export type AnchorChoice = 'latest' | 'safe' | 'finalized' | number;

export interface AnchorModules {
  readonly source: Pick<ChainSource, 'head' | 'finality'>;
  readonly blocks: BlockReader;
}

/** The block that a copy begins with, and its receipts; none of its state is known yet. */
export async function readAnchor(
  choice: AnchorChoice,
  modules: AnchorModules,
  signal: AbortSignal,
): Promise<Outcome> {
  const block = await chosenBlock(choice, modules, signal);
  return modules.blocks.outcomeOf(block, { signal, prefer: block.upstream });
}

async function chosenBlock(
  choice: AnchorChoice,
  { source, blocks }: AnchorModules,
  signal: AbortSignal,
): Promise<ReadBlock> {
  if (typeof choice === 'number') return blocks.byNumber(choice, { signal });
  if (choice === 'latest') {
    const { value, upstream } = await source.head({ signal });
    return blocks.byHash(value.hash, { signal, prefer: upstream });
  }
  const { value, upstream } = await source.finality({ signal });
  const ref = value[choice];
  if (ref === undefined) throw new Error(`the chain has no ${choice} block to begin at`);
  return blocks.byHash(ref.hash, { signal, prefer: upstream });
}

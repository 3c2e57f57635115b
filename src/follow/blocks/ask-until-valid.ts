import { InvalidBlockError, InvalidProofError } from '../../executor/errors.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { SourceError } from '../../source/errors.ts';
import type { ChainSource, UpstreamAnswer } from '../../source/interface.ts';

/** How many upstreams may be found lying about one thing before it is given up. */
const MAX_LIARS = 8;

/** A question to upstreams whose answer can be checked. */
export interface Checkable<A, T> {
  /** What it is about, for the log. */
  readonly item: string;
  readonly ask: () => Promise<UpstreamAnswer<A>>;
  /** Checks the answer: throws `InvalidBlockError` or `InvalidProofError` when it is false. */
  readonly read: (answer: UpstreamAnswer<A>) => Awaitable<T>;
}

/** Asks until somebody tells the truth; whoever does not is reported, and so not asked for a while. */
export async function askUntilValid<A, T>(
  source: Pick<ChainSource, 'report'>,
  { item, ask, read }: Checkable<A, T>,
): Promise<T> {
  for (let liars = 0; liars < MAX_LIARS; liars++) {
    const answer = await ask();
    try {
      return await read(answer);
    } catch (error) {
      if (!(error instanceof InvalidBlockError || error instanceof InvalidProofError)) throw error;
      source.report(answer.upstream, { item, what: error.type.reason });
    }
  }
  throw new SourceError({ code: 'noUpstream' }, `no upstream tells the truth about ${item}`);
}

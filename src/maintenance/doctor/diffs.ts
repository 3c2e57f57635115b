import { configText } from '../../rules/chains.ts';
import type { UpstreamHead } from '../../source/interface.ts';
import type { Upstream } from '../../source/pool/upstream.ts';
import { stateDiffsOf } from '../../source/reads/state.ts';
import { isTheirs, type Section, wordsOf } from './report.ts';

export interface DiffsContext {
  readonly upstream: Upstream;
  readonly section: Section;
  readonly rules: string;
  readonly head: UpstreamHead;
  readonly unknownFork: 'stop' | 'follow-by-diffs';
  readonly signal: AbortSignal;
}

const FIX =
  'use a server that offers debug_traceBlockByHash with prestateTracer and diffMode (geth, op-geth, reth)';

/** Whether an upstream tells what transactions changed, where something needs that: native contracts, or forks that are not known. */
export async function checkDiffs(context: DiffsContext): Promise<void> {
  const { upstream, section, rules, head, unknownFork, signal } = context;
  const { nativeContracts = [] } = JSON.parse(configText(rules)) as { nativeContracts?: readonly string[] };
  if (nativeContracts.length === 0 && unknownFork === 'stop') return;
  const needs = nativeContracts.length > 0 ? 'native contracts' : '--unknown-fork follow-by-diffs';
  try {
    await stateDiffsOf(upstream, head.hash, signal);
    section.ok('state diffs', `offered, for ${needs}`);
  } catch (error) {
    if (!isTheirs(error)) throw error;
    section.fail('state diffs', `${needs} cannot be followed with it: ${wordsOf(error)}`, FIX);
  }
}

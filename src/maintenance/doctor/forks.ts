import { differenceWords, readConfig, UPGRADE } from '../../follow/rules/fork-watch.ts';
import { parseObject } from '../../primitives/parse.ts';
import { configText } from '../../rules/chains.ts';
import { compareConfig } from '../../rules/compare-config.ts';
import { forksOf } from '../../rules/eth-config.ts';
import type { ChainConfig } from '../../rules/row.ts';
import { SourceError } from '../../source/errors.ts';
import type { Upstream } from '../../source/pool/upstream.ts';
import { isNotOffered } from '../../source/reads/fork-configs.ts';
import { shaped } from '../../source/reads/shape.ts';
import type { Section } from './report.ts';

export interface ForksContext {
  readonly upstream: Upstream;
  readonly section: Section;
  /** Those that the chain would be followed by. */
  readonly rules: string;
  readonly head: { readonly timestamp: number };
  readonly signal: AbortSignal;
}

/** Compares the forks that an upstream knows (`eth_config`) with those that are known here. */
export async function checkForks(context: ForksContext): Promise<void> {
  const { upstream, section, rules, head, signal } = context;
  const answer = await section.attempt(
    'forks',
    async () => {
      try {
        const value = await upstream.request('eth_config', [], signal);
        return shaped(upstream, () => parseObject(value, 'eth_config'));
      } catch (error) {
        if (error instanceof SourceError && isNotOffered(error)) return {};
        throw error;
      }
    },
    { level: 'warn' },
  );
  if (answer === undefined) return;
  const theirs = readConfig(answer);
  if (theirs === undefined) {
    section.ok(
      'forks',
      'eth_config is not offered: one that is not known here shows when a block is refused',
    );
    return;
  }
  const differences = compareConfig(JSON.parse(configText(rules)) as ChainConfig, theirs);
  const times = forksOf(theirs).map(({ activationTime }) => activationTime);
  if (differences.length === 0) section.ok('forks', `known here up to time ${Math.max(...times)}`);
  for (const difference of differences) {
    const { kind, activationTime } = difference;
    const detail = `it ${differenceWords(difference)}`;
    const fix = kind === 'blobs' ? 'nothing: serve adopts them if no other upstream denies them' : UPGRADE;
    if (kind === 'unknown fork' && activationTime <= head.timestamp) section.fail('rulesTooOld', detail, fix);
    else section.warn('forks', detail, fix);
  }
}

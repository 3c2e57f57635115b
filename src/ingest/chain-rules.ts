import { existsSync, readFileSync } from 'node:fs';
import { presetOf } from '../executor/native-executor.ts';
import type { ChainSource } from '../source/interface.ts';
import type { Store } from '../store/interface.ts';
import { chainConfigOf, GENESIS_META } from './restore.ts';

/** Name under which a store that began at an anchor keeps the rules of its chain. */
const RULES_META = 'rules';

/** The rules of the chain that a store holds: the name of a preset, or a chain config. */
export async function storedRules(store: Pick<Store, 'getMeta'>): Promise<string | undefined> {
  const genesis = await store.getMeta(GENESIS_META);
  return genesis === undefined ? store.getMeta(RULES_META) : chainConfigOf(genesis);
}

/** The rules to follow a chain by: the store's, else those asked for, else those that go with the chain id. */
export async function rulesToFollow(
  asked: string | undefined,
  { store, source }: { readonly store: Pick<Store, 'getMeta' | 'setMeta'>; readonly source: ChainSource },
  signal: AbortSignal,
): Promise<string> {
  const stored = await storedRules(store);
  if (stored !== undefined) return stored;
  const rules = asked === undefined ? await rulesByChainId(source, signal) : readRules(asked);
  await store.setMeta(RULES_META, rules);
  return rules;
}

/** Every upstream must be of one chain, and of the one that is expected. */
export async function expectChainId(
  source: Pick<ChainSource, 'chainIds'>,
  expected: bigint,
  signal: AbortSignal,
): Promise<void> {
  for (const { value, upstream } of await source.chainIds({ signal })) {
    if (value === expected) continue;
    throw new Error(`${upstream} is of chain ${value}, and this copy is of chain ${expected}`);
  }
}

async function rulesByChainId(source: ChainSource, signal: AbortSignal): Promise<string> {
  const [first] = await source.chainIds({ signal });
  const preset = first === undefined ? undefined : presetOf(first.value);
  if (preset !== undefined) return preset;
  throw new Error(
    `the rules of chain ${first?.value} are not known here: name its genesis file with --chain FILE`,
  );
}

/** A genesis file or chain config by path, or else the name of a preset, which the native core knows. */
export function readRules(asked: string): string {
  if (!existsSync(asked)) return asked;
  const text = readFileSync(asked, 'utf8');
  const { config } = JSON.parse(text) as { readonly config?: unknown };
  return config === undefined ? text : chainConfigOf(text);
}

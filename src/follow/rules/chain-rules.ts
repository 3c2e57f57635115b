import { existsSync, readFileSync } from 'node:fs';
import { nameOfChain } from '../../rules/chains.ts';
import type { ChainSource } from '../../source/interface.ts';
import type { Store } from '../../store/interface.ts';
import { withAdopted } from './adopted-blobs.ts';
import { chainConfigOf, GENESIS_META } from './genesis.ts';

/** Name under which a store keeps the rules that its chain was followed by; they win over those of its genesis. */
const RULES_META = 'rules';

/** The rules that a chain is followed by. */
export interface FollowedRules {
  /** The name of a preset, or a chain config. */
  readonly text: string;
  /**
   * `kept`: the store's own. `fitting`: those of the upstream's chain id, kept once there is a block. `unproven`:
   * asked for, and kept once a block has verified under them, so that wrong ones can be corrected at any time.
   */
  readonly standing: 'kept' | 'fitting' | 'unproven';
}

/** The rules of the chain that a store holds: the name of a preset, or a chain config. */
export async function storedRules(store: Pick<Store, 'getMeta'>): Promise<string | undefined> {
  const followed = await store.getMeta(RULES_META);
  if (followed !== undefined) return followed;
  const genesis = await store.getMeta(GENESIS_META);
  return genesis === undefined ? undefined : chainConfigOf(genesis);
}

/** The rules of a copy, for whoever has nobody to ask for them; `nothing` is what to say of an empty store. */
export async function rulesOfCopy(store: Pick<Store, 'getMeta' | 'marks'>, nothing: Error): Promise<string> {
  if ((await store.marks()) === undefined) throw nothing;
  const rules = await storedRules(store);
  if (rules !== undefined) return withAdopted(store, rules);
  throw new Error(
    'no block has been verified under its rules yet: follow it with serve --upstream until one has',
  );
}

/** The rules to follow a chain by: those asked for, else the store's, else those that go with the chain id. */
export async function rulesToFollow(
  asked: string | undefined,
  { store, source }: { readonly store: Pick<Store, 'getMeta' | 'marks'>; readonly source: ChainSource },
  signal: AbortSignal,
): Promise<FollowedRules> {
  // Without a block, whatever an earlier start left behind has never been tried.
  const stored = (await store.marks()) === undefined ? undefined : await storedRules(store);
  const wanted = asked === undefined ? stored : readRules(asked);
  if (wanted !== undefined) return { text: wanted, standing: wanted === stored ? 'kept' : 'unproven' };
  return { text: await rulesByChainId(source, signal), standing: 'fitting' };
}

/** The rules of a copy that another process writes: those asked for, else its own; undefined before any are known. */
export async function rulesOfShared(
  asked: string | undefined,
  store: Pick<Store, 'getMeta'>,
): Promise<string | undefined> {
  const rules = asked === undefined ? await storedRules(store) : readRules(asked);
  return rules === undefined ? undefined : withAdopted(store, rules);
}

/** Keeps the rules that a copy was followed by. */
export function keepRules(store: Pick<Store, 'setMeta'>, { text }: FollowedRules): Promise<void> {
  return store.setMeta(RULES_META, text);
}

/** Rules can be corrected, but not into those of another chain: its blocks would replace what is held. */
export async function expectSameChain(
  store: Pick<Store, 'getMeta' | 'marks'>,
  chainId: bigint,
  path: string,
): Promise<void> {
  const stored = (await store.marks()) === undefined ? undefined : await storedRules(store);
  if (stored === undefined || nameOfChain(chainId) === stored) return;
  const held = stored.startsWith('{') ? chainIdOf(stored) : stored;
  if (held === chainId) return;
  throw new Error(
    `--chain is of chain ${chainId}, and the copy in ${path} is of chain ${held}: use another --data`,
  );
}

function chainIdOf(config: string): bigint {
  // A number, as text or not: geth takes both.
  return BigInt((JSON.parse(config) as { readonly chainId: number | string }).chainId);
}

/** Has upstreams of another chain not be used, from now on; when there is no other upstream, that is an error. */
export async function expectChainId(
  source: Pick<ChainSource, 'chainIds' | 'expectChain' | 'status'>,
  expected: bigint,
  signal: AbortSignal,
): Promise<void> {
  const claimed = await source.chainIds({ signal }).finally(() => source.expectChain(expected));
  const others = claimed.filter(({ value }) => value !== expected);
  const [first] = others;
  // One that does not answer now may be of the right chain.
  if (first === undefined || others.length < source.status().length) return;
  throw new Error(`${first.upstream} is of chain ${first.value}, and this copy is of chain ${expected}`);
}

async function rulesByChainId(source: ChainSource, signal: AbortSignal): Promise<string> {
  const claimed = await source.chainIds({ signal });
  const [first] = claimed;
  const other = claimed.find(({ value }) => value !== first?.value);
  if (other !== undefined) {
    const said = `${first?.upstream} is of chain ${first?.value}, ${other.upstream} of chain ${other.value}`;
    throw new Error(`${said}: name upstreams of one chain, or the one to follow with --chain`);
  }
  const preset = first === undefined ? undefined : nameOfChain(first.value);
  if (preset !== undefined) return preset;
  throw new Error(
    `the rules of chain ${first?.value} are not known here: name its genesis file with --chain FILE`,
  );
}

/** A genesis file or chain config by path, or else the name of a preset, which the native core knows. */
export function readRules(asked: string): string {
  if (!existsSync(asked)) {
    if (/[./\\]/.test(asked)) throw new Error(`--chain: there is no file ${asked}`);
    return asked;
  }
  const text = readFileSync(asked, 'utf8');
  const { config } = JSON.parse(text) as { readonly config?: unknown };
  return config === undefined ? text : chainConfigOf(text);
}

import { BASE_CHAINS } from './chains/base.ts';
import { DEVELOPMENT_CHAINS } from './chains/development.ts';
import { ETHEREUM_CHAINS } from './chains/ethereum.ts';
import { OP_CHAINS } from './chains/op-stack.ts';
import type { ChainRow } from './row.ts';

/** The chains that are known by name. */
export const CHAINS: readonly ChainRow[] = [
  ...ETHEREUM_CHAINS,
  ...OP_CHAINS,
  ...BASE_CHAINS,
  ...DEVELOPMENT_CHAINS,
];

/**
 * The name of the rules that go with a chain id, where they are known. Of the ids that development nodes share, it is the
 * rules of a node started without options.
 */
export function nameOfChain(chainId: bigint): string | undefined {
  return CHAINS.find(({ config }) => BigInt(config.chainId) === chainId)?.name;
}

/** The text of a chain config, of a chain by name or as it was given. */
export function configText(rules: string): string {
  if (rules.trimStart().startsWith('{')) return rules;
  const row = CHAINS.find(({ name }) => name === rules);
  if (row !== undefined) return JSON.stringify(row.config);
  throw new Error(
    `no chain is known by the name ${JSON.stringify(rules)}: chain-query chains prints those that are`,
  );
}

/** Name under which a store keeps the genesis file of its chain. */
export const GENESIS_META = 'genesis';

/** The chain config inside a genesis file, which tells the native core the rules. */
export function chainConfigOf(genesis: string): string {
  const { config } = parseGenesis(genesis);
  // Without one, the native core would take the rules of Ethereum.
  if (typeof config !== 'object' || config === null || !('chainId' in config))
    throw new Error('the genesis file has no "config" object with a "chainId"');
  return JSON.stringify(config);
}

function parseGenesis(text: string): { readonly config?: unknown } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error('the genesis file is not JSON', { cause });
  }
  return typeof parsed === 'object' && parsed !== null ? parsed : {};
}

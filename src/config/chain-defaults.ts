import { CHAINS } from '../rules/chains.ts';
import type { OptionName } from './table.ts';

const between = (least: number, value: number, most: number): string =>
  String(Math.min(Math.max(value, least), most));

/** What options are by default on a chain that is known by name: how often heads are asked for goes by how often there are any. */
export function chainDefaults(chain: string | undefined): Partial<Readonly<Record<OptionName, string>>> {
  const row = CHAINS.find(({ name }) => name === chain);
  if (row === undefined) return {};
  return {
    upstreamPollMs: between(50, row.blockTimeMs / 4, 1_000),
    finalityMs: between(1_000, row.blockTimeMs * 2, 12_000),
  };
}

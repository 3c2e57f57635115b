import type { Chain } from '../context.ts';
import { callDeviations } from './call.ts';
import type { Deviation } from './deviation.ts';
import { logDeviations } from './log.ts';
import { selectorDeviations } from './selector.ts';

/** All of them, in the order in which they are tried; ids and rules are those of docs/differential.md. */
export function deviationsOn(chain: Chain): readonly Deviation[] {
  // What a selector means comes first: the others look at the block it names.
  return [...selectorDeviations, ...logDeviations(chain), ...callDeviations(chain)];
}

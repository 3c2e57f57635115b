import { callDeviations } from './call-deviations.ts';
import type { Chain } from './context.ts';
import type { Deviation } from './deviation.ts';
import { logDeviations } from './log-deviations.ts';
import { selectorDeviations } from './selector-deviations.ts';

/** All of them, in the order in which they are tried; ids and rules are those of docs/differential.md. */
export function deviationsOn(chain: Chain): readonly Deviation[] {
  // What a selector means comes first: the others look at the block it names.
  return [...selectorDeviations, ...logDeviations(chain), ...callDeviations(chain)];
}

import type { Hex } from '../primitives/hex.ts';
import type { CallResult } from './interface.ts';

/** How something that was executed ended without a result of its own. */
type Unfinished = Extract<CallResult, { readonly kind: 'native' | 'timeout' | 'cancelled' | 'overloaded' }>;

/** Reads what the native core says where nothing came of it: the first character says why. */
export function unfinished(answer: string): Unfinished {
  switch (answer.charAt(0)) {
    case 'n':
      return { kind: 'native', address: answer.slice(1) as Hex };
    case 't':
      return { kind: 'timeout' };
    case 'c':
      return { kind: 'cancelled' };
    case 'f':
      return { kind: 'overloaded' };
    default:
      throw new Error(`the native core gave an unknown answer: ${answer.slice(0, 32)}`);
  }
}

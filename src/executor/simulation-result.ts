import type { Hex } from '../primitives/hex.ts';
import { own } from '../primitives/owned-bytes.ts';
import type { SimulationResult } from './interface.ts';

/** What the native core says of a simulation: bytes are its JSON, a text begins with what it is. */
export function simulationResult(answer: string | Buffer): SimulationResult {
  if (typeof answer !== 'string') return { kind: 'done', json: own(answer) };
  const rest = answer.slice(1);
  switch (answer.charAt(0)) {
    case 'e': {
      const end = rest.indexOf(' ');
      return { kind: 'refused', code: Number(rest.slice(0, end)), message: rest.slice(end + 1) };
    }
    case 'n':
      return { kind: 'native', address: rest as Hex };
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

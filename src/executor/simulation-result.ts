import { own } from '../primitives/owned-bytes.ts';
import type { SimulationResult } from './interface.ts';
import { unfinished } from './unfinished.ts';

/** What the native core says of a simulation: bytes are JSON that is long, a text begins with what it is. */
export function simulationResult(answer: string | Buffer): SimulationResult {
  if (typeof answer !== 'string') return { kind: 'done', json: own(answer) };
  if (answer.charAt(0) === '=') return { kind: 'done', json: answer.slice(1) };
  if (answer.charAt(0) !== 'e') return unfinished(answer);
  const end = answer.indexOf(' ');
  return { kind: 'refused', code: Number(answer.slice(1, end)), message: answer.slice(end + 1) };
}

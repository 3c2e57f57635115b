import type { Method } from '../../methods/method.ts';
import type { Message } from './task.ts';

/** To read and parse this much of a body costs a unit. */
const BYTES_PER_UNIT = 16_384;

/** What a request costs its client, in units: what its methods say, and for its size. */
export function costOf(
  message: Message,
  bytes: number,
  methods: ReadonlyMap<string, Pick<Method, 'cost'>>,
  head: number,
): number {
  let units = Math.floor(bytes / BYTES_PER_UNIT);
  const calls = 'method' in message ? [message] : message;
  for (const call of calls) {
    const cost = 'method' in call ? methods.get(call.method)?.cost : undefined;
    if (typeof cost !== 'object') units += cost ?? 1;
    else if ('params' in call) units += cost.of(Array.isArray(call.params) ? call.params : [], head);
  }
  return Math.max(units, 1);
}

import { filterMethods } from '../../../src/methods/filters/filter-methods.ts';
import type { FilterHost } from '../../../src/methods/filters/host.ts';
import type { Method } from '../../../src/methods/method.ts';
import { createMethods } from '../../../src/methods/registry.ts';
import { SUBSCRIPTION_METHODS } from '../../../src/subscriptions/subscribe-methods.ts';

/** For tests only: every method that a node serves. */
export function allMethods(
  host: FilterHost = { hasNothingNew: () => false, ask: async () => ({ kind: 'unknown' }), tell: () => {} },
): ReadonlyMap<string, Method> {
  return createMethods('0.0.0-test', [...SUBSCRIPTION_METHODS, ...filterMethods(host)]);
}

import type { Method } from '../method.ts';
import { filterChangeMethods } from './filter-changes.ts';
import type { FilterHost } from './host.ts';
import { newFilterMethods } from './new-filters.ts';

/** All methods of filters. */
export function filterMethods(host: FilterHost): readonly Method[] {
  return [...newFilterMethods(host), ...filterChangeMethods(host)];
}

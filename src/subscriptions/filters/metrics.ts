import { Counter, Gauge, type Registry } from 'prom-client';
import type { FilterKind } from './journal.ts';

const KINDS: readonly FilterKind[] = ['logs', 'pendingLogs', 'blocks', 'transactions'];

/** Why a filter ended without its client, or was not made. */
export type FilterEnd = 'expired' | 'lost' | 'displaced' | 'client' | 'total' | 'bytes';

/** What filters are measured by. */
export interface FilterMetrics {
  /** Reads the gauges from here. */
  watch(read: () => { readonly counts: ReadonlyMap<FilterKind, number>; readonly bytes: number }): void;
  ended(reason: Extract<FilterEnd, 'expired' | 'lost' | 'displaced'>): void;
  refused(reason: Exclude<FilterEnd, 'expired' | 'lost' | 'displaced'>): void;
}

/** Registers them. */
export function createFilterMetrics(registry: Registry): FilterMetrics {
  const counter = (name: string, help: string): Counter<'reason'> => {
    const made = new Counter({ name, help, labelNames: ['reason'] as const, registers: [registry] });
    return made;
  };
  const ended = counter(
    'chain_query_filters_ended_total',
    'Filters that expired, whose history was lost, or that gave way to those of clients who have fewer.',
  );
  const refused = counter('chain_query_filters_refused_total', 'Filters that were not made, by which limit.');
  return {
    watch(read) {
      const open = new Gauge({
        name: 'chain_query_filters',
        help: 'Filters by what they are of.',
        labelNames: ['kind'],
        registers: [registry],
        collect: () => {
          for (const kind of KINDS) open.set({ kind }, read().counts.get(kind) ?? 0);
        },
      });
      const held: Gauge = new Gauge({
        name: 'chain_query_filter_bytes',
        help: 'What filters hold: their criteria, and what they have not been told of yet.',
        registers: [registry],
        collect: () => held.set(read().bytes),
      });
    },
    ended: (reason) => ended.inc({ reason }),
    refused: (reason) => refused.inc({ reason }),
  };
}

import { Counter, Gauge, type Registry } from 'prom-client';
import type { ClientMemory, CutReason } from './client-memory.ts';

/** Measures what a worker holds for its clients, and whom it had to cut. */
export function measureClients(registry: Registry, memory: ClientMemory): void {
  const held: Gauge = new Gauge({
    name: 'chain_query_client_bytes',
    help: 'Memory held for clients: what they have not taken, unfinished requests, filters, connections.',
    registers: [registry],
    collect: () => held.set(memory.bytes),
  });
  const counted: Record<CutReason, number> = { slow: 0, memory: 0 };
  const cut: Counter<'reason'> = new Counter({
    name: 'chain_query_connections_cut_total',
    help: 'Connections cut: their client did not take its answers, or the process held too much for clients.',
    labelNames: ['reason'],
    registers: [registry],
    collect: () => {
      for (const reason of ['slow', 'memory'] as const) {
        cut.inc({ reason }, memory.cuts[reason] - counted[reason]);
        counted[reason] = memory.cuts[reason];
      }
    },
  });
}

import { Gauge, type Registry } from 'prom-client';
import type { NativeExecutor } from './native-executor.ts';

const HOT = [
  ['chain_query_hot_accounts', 'Accounts held in hot state.', 'accounts'],
  ['chain_query_hot_slots', 'Storage slots held in hot state.', 'slots'],
  ['chain_query_hot_code_bytes', 'Contract code held in hot state.', 'codeBytes'],
  ['chain_query_pooled_calls', 'Long calls waiting or running.', 'pooledCalls'],
  ['chain_query_historical_state_bytes', 'State held of blocks below the window.', 'historyBytes'],
  ['chain_query_trie_blocks', 'Blocks whose state trie is kept.', 'trieBlocks'],
  ['chain_query_trie_keys', 'Accounts and slots of the state tries that are kept.', 'trieKeys'],
] as const;
const PRECONFIRMED = [
  ['chain_query_preconfirmed_blocks', 'Blocks that are pre-confirmed.', 'blocks'],
  ['chain_query_preconfirmed_accounts', 'Accounts that pre-confirmed blocks changed.', 'accounts'],
  ['chain_query_preconfirmed_slots', 'Storage slots that pre-confirmed blocks changed.', 'slots'],
] as const;

/** Measures what the native core holds. */
export function measureExecutor(
  registry: Registry,
  executor: Pick<NativeExecutor, 'sizes' | 'preconfirmedSizes'>,
  poolThreads: number,
): void {
  const measure = (name: string, help: string, read: () => number): void => {
    const collect = (): void => gauge.set(read());
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
  };
  for (const [name, help, size] of HOT) measure(name, help, () => executor.sizes()[size]);
  const pooled = (): number => executor.sizes().pooledCalls;
  measure('chain_query_pool_running_calls', 'Long calls that run in the pool.', () =>
    Math.min(pooled(), poolThreads),
  );
  measure('chain_query_pool_waiting_calls', 'Long calls that wait for a thread of the pool.', () =>
    Math.max(0, pooled() - poolThreads),
  );
  for (const [name, help, size] of PRECONFIRMED) {
    measure(name, help, () => executor.preconfirmedSizes()[size]);
  }
}

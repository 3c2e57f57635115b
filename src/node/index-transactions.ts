import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from '../store/interface.ts';
import type { Logger } from '../telemetry/logger.ts';

/** Transactions that are indexed at once: about as long as writing a block takes. */
const STEP = 2_000;
/** Between two steps, so that blocks are not kept waiting. */
const PAUSE_MS = 20;
const SAY_MS = 10_000;

/** Indexes what was written before there was an index of transactions, beside all else, and says how far it is. */
export async function indexOlderTransactions(
  store: Pick<Store, 'marks' | 'transactionsFrom' | 'indexTransactions'>,
  logger: Pick<Logger, 'info'>,
  signal: AbortSignal,
): Promise<void> {
  let said = Number.NEGATIVE_INFINITY;
  let isAny = false;
  for (;;) {
    const marks = await store.marks();
    const from = await store.transactionsFrom();
    if (marks === undefined || from === undefined || from <= marks.lowest.number) break;
    isAny = true;
    if (performance.now() - said >= SAY_MS) {
      said = performance.now();
      logger.info({ from, to: marks.lowest.number }, 'indexing the transactions of older blocks');
    }
    await store.indexTransactions(STEP);
    if (signal.aborted) return;
    await pause(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
  if (isAny) logger.info('all transactions are indexed');
}

import { parentPort, workerData } from 'node:worker_threads';
import type { Outcome } from '../../../chain/outcome.ts';
import { decodeOutcome } from '../../../chain/outcome-codec.ts';
import { createLogger } from '../../../telemetry/logger.ts';
import { logWarnings } from '../../../telemetry/process-log.ts';
import { StoreError } from '../../error.ts';
import { type LmdbStore, openLmdbStore } from '../index.ts';
import type { SentOutcome, WriterAnswer, WriterData, WriterOrder } from './writer-messages.ts';

/** Changes a store for another thread, one change after the other. */
async function write(options: WriterData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('a writer is started by its store');
  logWarnings(createLogger('warn'));
  const store = await openLmdbStore(options);
  port.on('message', (order: WriterOrder) => {
    void carryOut(store, order)
      .then(
        (value): WriterAnswer => ({ id: order.id, kind: 'done', value }),
        (error: unknown): WriterAnswer =>
          error instanceof StoreError
            ? { id: order.id, kind: 'refused', code: error.code, message: error.message }
            : { id: order.id, kind: 'failed', error },
      )
      .then((answer) => {
        port.postMessage(answer);
        if (order.change === 'close') port.close();
      });
  });
}

// A change is made synchronously once it is begun, so changes never overlap and keep their order.
async function carryOut(store: LmdbStore, order: WriterOrder): Promise<unknown> {
  switch (order.change) {
    case 'setMeta':
      return store.setMeta(...order.args);
    case 'append': {
      const [outcomes, options] = order.args;
      return store.append(outcomes.map(read), options);
    }
    case 'prepend':
      return store.prepend(order.args[0].map(read));
    case 'pin':
      return store.pin(...order.args);
    case 'revertTo':
      return store.revertTo(...order.args);
    case 'prune':
      return store.prune(...order.args);
    case 'indexTransactions':
      return store.indexTransactions(...order.args);
    case 'mark':
      return store.mark(...order.args);
    case 'close':
      return store.close();
  }
}

function read(outcome: SentOutcome): Outcome {
  return 'encoded' in outcome ? decodeOutcome(outcome.encoded) : outcome;
}

await write(workerData as WriterData);

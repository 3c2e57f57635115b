import type { Outcome } from '../../chain/outcome.ts';
import { encodeReceipts } from '../../chain/receipt-codec.ts';
import { keccak256, type NativeExecutor, readHeader } from '../../executor/native-executor.ts';
import { toHex } from '../../primitives/hex.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { BlockLogs, Store } from '../../store/interface.ts';
import { receiptsAsJson } from '../verify/stored-receipts.ts';
import { SnapshotError } from './error.ts';
import type { Manifest } from './manifest.ts';
import type { Prover } from './restore.ts';

/** Proves blocks by their headers: hash, transactions, receipts, logs and their bloom; and a complete state by its root. */
export class HeaderProver implements Prover {
  readonly #executor: Pick<NativeExecutor, 'outcomeFromJson' | 'loadCommitment'>;

  constructor(executor: Pick<NativeExecutor, 'outcomeFromJson' | 'loadCommitment'>) {
    this.#executor = executor;
  }

  block(outcome: Outcome): Outcome {
    const { number, hash, diff, diffBytes } = outcome;
    const proven = this.#proven(outcome);
    const receipts = encodeReceipts(outcome.receipts);
    const isSame =
      proven.number === number &&
      proven.hash === hash &&
      proven.parentHash === outcome.parentHash &&
      proven.timestamp === outcome.timestamp &&
      Buffer.compare(proven.header, outcome.header) === 0 &&
      Buffer.compare(encodeReceipts(proven.receipts), receipts) === 0;
    if (!isSame) throw new SnapshotError(`block ${number} ${hash} is not what its header says`);
    return { ...proven, diff, diffBytes };
  }

  code(hash: Uint8Array, code: Uint8Array): void {
    if (Buffer.compare(keccak256(code), hash) === 0) return;
    throw new SnapshotError(`the code ${toHex(hash)} has another hash`);
  }

  async state(store: Store, { partial, marks }: Manifest): Promise<void> {
    if (partial) return;
    const { number } = marks.head;
    const root = await this.#executor.loadCommitment(store.scanState(number));
    const { stateRoot } = readHeader(await headerAt(store, number));
    if (root === stateRoot) return;
    throw new SnapshotError(`the state at block ${number} hashes to ${root}, its header says ${stateRoot}`);
  }

  #proven(outcome: Outcome): Outcome {
    try {
      const json = receiptsAsJson({ receipts: outcome.receipts, logs: logsOf(outcome) });
      return this.#executor.outcomeFromJson(outcome.block, json);
    } catch (cause) {
      throw new SnapshotError(`block ${outcome.number} ${outcome.hash} does not verify`, { cause });
    }
  }
}

function logsOf({ number, hash, timestamp, logs, receipts }: Outcome): BlockLogs {
  return {
    ...{ number, hash, timestamp },
    length: logs.length,
    log: (index) => listed(logs[index], 'log', index),
    transactionHash: (index) => listed(receipts[index], 'transaction', index).transactionHash,
  };
}

function listed<T>(item: T | undefined, what: string, index: number): T {
  if (item === undefined) throw new RangeError(`there is no ${what} ${index}`);
  return item;
}

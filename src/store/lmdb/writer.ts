import { Worker } from 'node:worker_threads';
import type { Outcome } from '../../chain/outcome.ts';
import { StoreError } from '../error.ts';
import type { Change, ChangeArguments, SentOutcome, WriterAnswer, WriterData } from './writer-messages.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A thread that changes a store: encoding rows, writing and flushing them takes longer than a caller can stand still. */
export class StoreWriter {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #closing = false;
  /** Set once it has ended. */
  #end: Error | undefined;

  /** `onFailure` hears that it ended without having been closed: nothing can be written any more. */
  constructor(data: WriterData, onFailure: (error: Error) => void) {
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: data });
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    this.#worker.on('message', (answer: WriterAnswer) => this.#take(answer));
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        const end = new Error('the thread that writes the store ended', { cause });
        this.#end = end;
        for (const { reject } of this.#waiting.values()) reject(end);
        this.#waiting.clear();
        resolve();
        if (!this.#closing) onFailure(end);
      });
    });
  }

  /** Makes a change; changes are made in the order in which they are asked for. */
  change<C extends Change | 'close'>(
    change: C,
    args: C extends Change ? ChangeArguments[C] : readonly [],
  ): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, change, args });
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.change('close', []);
    await this.#exited;
  }

  #take(answer: WriterAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    switch (answer.kind) {
      case 'done':
        waiting?.resolve(answer.value);
        break;
      case 'refused':
        waiting?.reject(new StoreError(answer.code, answer.message));
        break;
      case 'failed':
        waiting?.reject(answer.error);
        break;
    }
  }
}

/** An outcome in the form that is cheapest to send. */
export function toSent(outcome: Outcome & { readonly encoded?: Uint8Array }): SentOutcome {
  return outcome.encoded === undefined ? outcome : { encoded: outcome.encoded };
}

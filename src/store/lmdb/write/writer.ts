import { Worker } from 'node:worker_threads';
import type { Outcome } from '../../../chain/outcome.ts';
import { isUnwritable, StoreError } from '../../error.ts';
import type { Change, ChangeArguments, SentOutcome, WriterAnswer, WriterData } from './writer-messages.ts';

interface Waiting {
  readonly change: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterModules {
  /** Hears that the thread ended without having been closed: nothing can be written any more. */
  readonly onFailure: (error: Error) => void;
  /** Hears, once, why nothing can be written for now, and with `undefined` that it can again. */
  readonly onTrouble?: (trouble: string | undefined) => void;
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

  readonly #onTrouble: WriterModules['onTrouble'];
  /** Why a block could not be written, and why something smaller could not, which may find room where a block does not. */
  #blockTrouble: string | undefined;
  #smallTrouble: string | undefined;

  constructor(data: WriterData, { onFailure, onTrouble }: WriterModules) {
    this.#onTrouble = onTrouble;
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: data, name: 'writer' });
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
      this.#waiting.set(id, { change, resolve, reject });
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
        this.#heed(waiting?.change, undefined);
        waiting?.resolve(answer.value);
        break;
      case 'refused':
        this.#refuse(waiting, new StoreError(answer.code, answer.message));
        break;
      case 'failed':
        waiting?.reject(answer.error);
        break;
    }
  }

  #refuse(waiting: Waiting | undefined, error: StoreError): void {
    if (isUnwritable(error)) this.#heed(waiting?.change, error.message);
    waiting?.reject(error);
  }

  #heed(change: string | undefined, trouble: string | undefined): void {
    if (change === 'close') return;
    const before = this.#blockTrouble ?? this.#smallTrouble;
    if (change === 'append') this.#blockTrouble = trouble;
    if (change !== 'append' || trouble === undefined) this.#smallTrouble = trouble;
    const now = this.#blockTrouble ?? this.#smallTrouble;
    if (now !== before) this.#onTrouble?.(now);
  }
}

/** An outcome in the form that is cheapest to send. */
export function toSent(outcome: Outcome & { readonly encoded?: Uint8Array }): SentOutcome {
  return outcome.encoded === undefined ? outcome : { encoded: outcome.encoded };
}

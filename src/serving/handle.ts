import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { FeedItem } from '../feed/interface.ts';
import { type CallQuestionModules, CallQuestions } from './call-questions.ts';
import type { FilterRouter } from './filter-router.ts';
import type { WorkerCommand, WorkerData, WorkerEvent } from './messages.ts';
import { type PassQuestionModules, PassQuestions } from './pass-questions.ts';
import { type QuestionModules, StateQuestions } from './questions.ts';

export interface WorkerModules
  extends Omit<QuestionModules & CallQuestionModules & PassQuestionModules, 'say'> {
  readonly filters: FilterRouter;
  readonly onFailure: (error: Error) => void;
}

interface Waiting {
  readonly kind: WorkerEvent['kind'];
  readonly resolve: (news: WorkerEvent) => void;
  readonly reject: (error: Error) => void;
}

/** A worker thread that serves, as the main thread sees it. */
export class ServingWorker {
  readonly listening: Promise<WorkerData['endpoints']>;
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Set<Waiting>();
  /** The metrics that it has been asked for. */
  #asked: Promise<unknown> | undefined;
  #closing = false;
  /** Set once it has ended, for whatever reason. */
  #end: Error | undefined;

  constructor(data: WorkerData, { onFailure, filters, ...modules }: WorkerModules) {
    // The compiled program runs the compiled file.
    const file = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData: data,
      name: `serving-${data.workerIndex}`,
      // Past it the thread ends, and the node with it, in words; without it, all memory of the machine is its limit.
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(data.options.threadHeapBytes / 2 ** 20) },
    });
    let cause: unknown;
    this.#worker.on('error', (error) => {
      cause = error;
    });
    const questions = new StateQuestions({ ...modules, say: (order) => this.say(order) });
    const calls = new CallQuestions({ ...modules, say: (order) => this.say(order) });
    const passes = new PassQuestions({ ...modules, say: (order) => this.say(order) });
    this.#worker.on('message', (news: WorkerEvent) => {
      if (news.kind === 'load') void questions.ask(news);
      else if (news.kind === 'cancel') questions.cancel(news.id);
      else if (news.kind === 'forward') void calls.ask(news);
      else if (news.kind === 'cancelForward') calls.cancel(news.id);
      else if (news.kind === 'filter') filters.ask(news.question, news.id, (order) => this.say(order));
      else if (news.kind === 'filtered') filters.answered(news.id, news.answer);
      else if (news.kind === 'pass') void passes.ask(news);
      else if (news.kind === 'cancelPass') passes.cancel(news.id);
      else for (const waiting of this.#waiting) if (waiting.kind === news.kind) waiting.resolve(news);
    });
    this.#exited = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#worker.on('exit', () => {
      questions.cancelAll();
      calls.cancelAll();
      passes.cancelAll();
      const end = new Error('a serving thread ended', { cause });
      this.#end = end;
      for (const waiting of this.#waiting) waiting.reject(end);
      if (!this.#closing) onFailure(end);
    });
    this.listening = this.#next('listening').then((news) => news.endpoints);
  }

  /** What it measures; undefined when it does not say within the time. It is asked once, however many wait. */
  metrics(milliseconds: number): Promise<unknown> {
    if (this.#asked === undefined) {
      this.#asked = this.#next('metrics').then(({ metrics }) => metrics);
      const answered = (): void => {
        this.#asked = undefined;
      };
      this.#asked.then(answered, answered);
      this.say({ kind: 'metrics' });
    }
    const late = new AbortController();
    const over = delay(milliseconds, undefined, { signal: late.signal, ref: false }).catch(() => undefined);
    return Promise.race([this.#asked, over]).finally(() => late.abort());
  }

  /** Tells the thread of the next item of the feed. */
  feed(sequence: number, item: FeedItem, position?: string): void {
    this.say({ kind: 'feed', sequence, item, position });
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.say({ kind: 'close' });
    await this.#exited;
  }

  say(order: WorkerCommand): void {
    this.#worker.postMessage(order);
  }

  async #next<K extends WorkerEvent['kind']>(kind: K): Promise<Extract<WorkerEvent, { kind: K }>> {
    if (this.#end !== undefined) throw this.#end;
    const { promise, resolve, reject } = Promise.withResolvers<WorkerEvent>();
    const waiting = { kind, resolve, reject };
    this.#waiting.add(waiting);
    try {
      return (await promise) as Extract<WorkerEvent, { kind: K }>;
    } finally {
      this.#waiting.delete(waiting);
    }
  }
}

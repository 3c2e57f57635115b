import { readItem } from './codec.ts';
import type { FeedEvent, FeedItem } from './interface.ts';
import type { Progress } from './progress.ts';

export interface FeedFollowerModules {
  /** Makes an event part of what requests are answered from. */
  readonly apply: (event: FeedEvent, position: string | undefined) => Promise<void>;
  /** Tells subscribers, once requests to every thread are answered from it. */
  readonly publish: (event: FeedEvent) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Takes a thread through the feed, one item after another. */
export class FeedFollower {
  readonly #progress: Pick<Progress, 'applied' | 'everywhere'>;
  readonly #modules: FeedFollowerModules;
  #applied: Promise<unknown> = Promise.resolve();
  #published: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(progress: Pick<Progress, 'applied' | 'everywhere'>, modules: FeedFollowerModules) {
    this.#progress = progress;
    this.#modules = modules;
  }

  /** Takes no more; resolves once what was taken is applied. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#applied;
  }

  /** Takes the next item. */
  take(sequence: number, item: FeedItem, position?: string): void {
    if (this.#stopped) return;
    const { apply, publish, onFailure } = this.#modules;
    const event = this.#applied.then(async () => {
      const read = readItem(item);
      await apply(read, position);
      this.#progress.applied(sequence);
      return read;
    });
    this.#applied = event.catch(onFailure);
    this.#published = Promise.all([event, this.#published])
      .then(async ([read]) => {
        await this.#progress.everywhere(sequence, () => this.#stopped);
        if (!this.#stopped) publish(read);
      })
      .catch(onFailure);
  }
}

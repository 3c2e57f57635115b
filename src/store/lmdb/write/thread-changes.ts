import type { BlockRef, Outcome } from '../../../chain/outcome.ts';
import type { AppendOptions, Marks, Pin, StoreChanges } from '../../interface.ts';
import { type StoreWriter, toSent } from './writer.ts';

/** Changes that a thread of its own makes: none keeps the caller from anything else. */
export class ThreadChanges implements StoreChanges {
  readonly #writer: StoreWriter;

  constructor(writer: StoreWriter) {
    this.#writer = writer;
  }

  async setMeta(name: string, value: string): Promise<void> {
    await this.#writer.change('setMeta', [name, value]);
  }

  async append(outcomes: readonly Outcome[], options: AppendOptions = {}): Promise<void> {
    await this.#writer.change('append', [outcomes.map(toSent), options]);
  }

  async prepend(outcomes: readonly Outcome[]): Promise<void> {
    await this.#writer.change('prepend', [outcomes.map(toSent)]);
  }

  async pin(anchor: BlockRef, pins: readonly Pin[]): Promise<void> {
    await this.#writer.change('pin', [anchor, pins]);
  }

  async revertTo(number: number): Promise<void> {
    await this.#writer.change('revertTo', [number]);
  }

  async prune(below: number, limit: number): Promise<boolean> {
    return (await this.#writer.change('prune', [below, limit])) as boolean;
  }

  async indexTransactions(limit: number): Promise<boolean> {
    return (await this.#writer.change('indexTransactions', [limit])) as boolean;
  }

  async mark(marks: Partial<Pick<Marks, 'safe' | 'finalized'>>): Promise<void> {
    await this.#writer.change('mark', [marks]);
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }
}

import type { FilterLimits } from '../../methods/filters/host.ts';
import { Shares } from '../../primitives/shares.ts';

/** What answers of all filters may hold that are being made or are on their way to their clients, in bytes. */
const UNDER_WAY_BYTES = 32 * 2 ** 20;
/** What an answer may hold without asking for room, and how much it asks for at a time. */
const STEP_BYTES = 16_384;

/**
 * Room for answers until they are sent: hundreds of filters that are asked at once for all that happened would be gigabytes, each a string of its
 * own that goes from thread to thread.
 */
export class AnswerRoom {
  readonly #shares = new Shares(UNDER_WAY_BYTES);
  readonly #kept = new Map<string, () => void>();

  /** A page of a client that takes its room from here. */
  page(client: string, limits: FilterLimits): Page {
    return new Page(limits, {
      take: () => this.#shares.take(client, STEP_BYTES),
      give: (steps) => this.#shares.give(client, steps * STEP_BYTES),
    });
  }

  /** Keeps the room of an answer until it is settled, and nothing else of it. */
  keep(filter: string, poll: number, page: Page): void {
    this.#kept.set(`${filter} ${poll}`, page.leave());
  }

  /** Gives it back. */
  settle(filter: string, poll: number): void {
    const key = `${filter} ${poll}`;
    this.#kept.get(key)?.();
    this.#kept.delete(key);
  }
}

interface Room {
  readonly take: () => boolean;
  readonly give: (steps: number) => void;
}

/** The changes of one answer, as far as they fit. */
export class Page {
  readonly #limits: FilterLimits;
  readonly #room: Room;
  readonly #texts: string[] = [];
  #bytes = 2;
  #steps = 0;
  isFull = false;
  /** It is full as there is no room for more now, in this answer or another. */
  lacksRoom = false;

  constructor(limits: FilterLimits, room: Room) {
    this.#limits = limits;
    this.#room = room;
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  get json(): string {
    return `[${this.#texts.join()}]`;
  }

  /** False where there is no room for it. */
  add(text: string): boolean {
    const { maxResults, maxBytes } = this.#limits;
    const bytes = this.#bytes + text.length + 1;
    this.isFull = bytes > maxBytes || this.#texts.length >= maxResults;
    if (this.isFull) return false;
    for (; bytes > (this.#steps + 1) * STEP_BYTES; this.#steps++) {
      if (this.#room.take()) continue;
      this.isFull = true;
      this.lacksRoom = true;
      return false;
    }
    this.#texts.push(text);
    this.#bytes = bytes;
    return true;
  }

  /** What gives back its room later. */
  leave(): () => void {
    const [give, steps] = [this.#room.give, this.#steps];
    this.#steps = 0;
    return () => give(steps);
  }
}

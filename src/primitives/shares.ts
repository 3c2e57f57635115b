/**
 * A capacity that clients share. One may take no more than it leaves free for the others: many who take all they can
 * still leave something to one who asks for little, and nobody has to be counted or waited for.
 */
export class Shares {
  readonly #capacity: number;
  readonly #byClient = new Map<string, number>();
  #taken = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** What all clients have taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes a part for a client; false when that is more than it may have now. */
  take(client: string, count: number): boolean {
    const own = (this.#byClient.get(client) ?? 0) + count;
    const taken = this.#taken + count;
    if (own > this.#capacity - taken) return false;
    this.#byClient.set(client, own);
    this.#taken = taken;
    return true;
  }

  /** Gives back what was taken. */
  give(client: string, count: number): void {
    const own = (this.#byClient.get(client) ?? 0) - count;
    if (own > 0) this.#byClient.set(client, own);
    else this.#byClient.delete(client);
    this.#taken -= count;
  }
}

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

  /** Shares of `places`, of which all together may be taken, and one client may have half. */
  static ofPlaces(places: number): Shares {
    // The one more is never taken: whoever takes a place leaves as many as it has.
    return new Shares(places + 1);
  }

  /** What all clients have taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether a client may have so much more now. */
  hasRoom(client: string, count: number): boolean {
    return (this.#byClient.get(client) ?? 0) + count <= this.#capacity - this.#taken - count;
  }

  /** Takes a part for a client; false when that is more than it may have now. */
  take(client: string, count: number): boolean {
    if (!this.hasRoom(client, count)) return false;
    this.#byClient.set(client, (this.#byClient.get(client) ?? 0) + count);
    this.#taken += count;
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

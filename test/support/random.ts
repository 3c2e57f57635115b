/** A reproducible source of choices: the same seed and index give the same request on every machine. */
export class Random {
  private state: number;

  constructor(seed: number, index: number) {
    // Mixed twice so that neighbouring indexes share no visible pattern.
    this.state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35)) >>> 0;
    this.next();
    this.next();
  }

  /** 32 random bits (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** A whole number from 0 up to, and without, `limit`. */
  below(limit: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * limit);
  }

  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.next() / 0x1_0000_0000 < share;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('nothing to pick from');
    return choice;
  }

  /** One of several makers, by weight; only the chosen one runs. */
  weighted<T>(choices: readonly (readonly [weight: number, make: () => T])[]): T {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.below(total);
    for (const [weight, make] of choices) {
      left -= weight;
      if (left < 0) return make();
    }
    throw new Error('nothing to choose from');
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.next() & 0xff);
  }

  hex(length: number): string {
    return `0x${Buffer.from(this.bytes(length)).toString('hex')}`;
  }

  /** The same items in another order. */
  shuffle<T>(items: readonly T[]): T[] {
    const left = [...items];
    return Array.from(items, () => left.splice(this.below(left.length), 1)[0] as T);
  }

  list<T>(length: number, make: () => T): T[] {
    return Array.from({ length }, make);
  }
}

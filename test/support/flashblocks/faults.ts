import { Random } from '../random.ts';
import type { FlashblockMessage } from './builder.ts';

/** What a stream does with one message. `swap` sends it after the one that follows. */
export type Fault = 'lose' | 'duplicate' | 'swap' | 'garble' | { readonly delayMs: number };

/** Called once for each message, in order. */
export type FaultScript = (message: FlashblockMessage) => Fault | undefined;

/** Which share of the messages each fault befalls. */
export interface FaultShares {
  readonly lose?: number;
  readonly duplicate?: number;
  readonly swap?: number;
  readonly garble?: number;
  readonly delay?: number;
  readonly maxDelayMs?: number;
}

/** The same faults for the same seed and stream. */
export function randomFaults(seed: number, stream: number, shares: FaultShares): FaultScript {
  const random = new Random(seed, stream);
  const { lose = 0, duplicate = 0, swap = 0, garble = 0, delay = 0, maxDelayMs = 100 } = shares;
  return () => {
    // One number each time, so that a change of one share leaves the others where they were.
    const chance = random.below(1_000_000) / 1_000_000;
    const delayMs = random.between(1, maxDelayMs);
    const faults: readonly (readonly [share: number, fault: Fault])[] = [
      [lose, 'lose'],
      [duplicate, 'duplicate'],
      [swap, 'swap'],
      [garble, 'garble'],
      [delay, { delayMs }],
    ];
    let left = chance;
    for (const [share, fault] of faults) {
      if (left < share) return fault;
      left -= share;
    }
    return undefined;
  };
}

/** One text on its way to whoever listens. */
export interface Delivery {
  readonly text: string;
  readonly delayMs: number;
}

/** A stream's way of getting messages wrong. */
export class FaultyChannel {
  private readonly script: FaultScript;
  private swapped: Delivery[] = [];

  constructor(script: FaultScript = () => undefined) {
    this.script = script;
  }

  push(message: FlashblockMessage): readonly Delivery[] {
    const fault = this.script(message);
    const text = JSON.stringify(message);
    const plain = { text, delayMs: 0 };
    if (fault === 'swap') {
      this.swapped.push(plain);
      return [];
    }
    return [...this.own(fault, plain), ...this.swapped.splice(0)];
  }

  private own(fault: Exclude<Fault, 'swap'> | undefined, plain: Delivery): readonly Delivery[] {
    switch (fault) {
      case undefined:
        return [plain];
      case 'lose':
        return [];
      case 'duplicate':
        return [plain, plain];
      case 'garble':
        return [{ ...plain, text: plain.text.slice(0, plain.text.length >> 1) }];
      default:
        return [{ ...plain, delayMs: fault.delayMs }];
    }
  }
}

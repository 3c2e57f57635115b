import type { Outcome } from '../../../src/chain/outcome.ts';
import { address, makeChain, topic, word } from './contract-chain.ts';

/** A chain that two processes make alike: three logs a block, the first of a hot address. */
export function numberedChain(length: number): Outcome[] {
  const contents = Array.from({ length }, (_, number) => ({
    logs: [0, 1, 2].map((index) => ({
      transactionIndex: 0,
      address: address(index === 0 ? 7 : (number * 13 + index) % 300),
      topics: [topic(number % 5), word(number)],
      data: word(index),
    })),
  }));
  return makeChain(undefined, contents);
}

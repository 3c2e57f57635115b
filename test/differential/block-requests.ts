import type { Random } from '../support/random.ts';
import type { Corpus } from './corpus.ts';
import { selector } from './selectors.ts';

const quantity = (value: number): string => `0x${value.toString(16)}`;

/** Blocks, headers, transactions and receipts by hash, and their bytes. */
export const blockMethods = [
  'eth_getBlockByNumber',
  'eth_getBlockByHash',
  'eth_getHeaderByNumber',
  'eth_getHeaderByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getBlockTransactionCountByHash',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'debug_getRawHeader',
  'debug_getRawBlock',
  'debug_getRawReceipts',
  'debug_getRawTransaction',
] as const;

function hashOf(random: Random, known: readonly string[]): unknown {
  const hash = random.pick(known);
  return random.weighted<unknown>([
    [20, () => hash],
    [2, () => random.hex(32)],
    [1, () => `0x${hash.slice(2).toUpperCase()}`],
    [1, () => random.pick<unknown>([hash.slice(2), `${hash}0`, hash.slice(0, -1), '0x', '', 1, null, {}])],
  ]);
}

/** A number or tag: what these methods take for a block is less than what the others do. */
function boundOf(random: Random, corpus: Corpus): unknown {
  const made = selector(random, corpus);
  return typeof made === 'string' && made.length !== 66 ? made : quantity(random.below(corpus.head + 2));
}

/** Parameters of one of these methods. */
export function blockParams(random: Random, corpus: Corpus, method: string): unknown[] {
  const index = (): unknown =>
    random.weighted<unknown>([
      [12, () => quantity(random.below(4))],
      [2, () => quantity(random.below(400))],
      [1, () => random.pick<unknown>(['0x', '0x01', '1', 1, '0xffffffff', '0xffffffffffffffff', null])],
    ]);
  const isByTransaction = /Transaction(ByHash|Receipt)$|RawTransaction$/.test(method);
  const named = isByTransaction
    ? hashOf(random, corpus.transactions)
    : method.includes('Hash')
      ? hashOf(random, corpus.hashes)
      : method.startsWith('debug_getRaw')
        ? selector(random, corpus)
        : boundOf(random, corpus);
  if (/^eth_getBlockBy(Number|Hash)$/.test(method)) return [named, random.chance(0.5)];
  return method.endsWith('AndIndex') ? [named, index()] : [named];
}

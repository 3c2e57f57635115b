import { type Hex, keccak256, numberToHex } from 'viem';
import { headerHash } from '../../support/lies/header-hash.ts';
import { listRoot } from '../../support/lies/trie-root.ts';
import { type Deposit, encodeDeposit } from '../../support/servers/op-deposits.ts';

/** A block as upstreams give it, with its transactions. */
export interface BlockJson {
  readonly hash: Hex;
  readonly number: Hex;
  readonly timestamp: Hex;
  readonly gasLimit: Hex;
  readonly transactions: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

const LOOP: Hex = '0x5b5f56';

/** A deposit whose gas nothing bounds, and which never ends. */
export const loopingDeposit: Deposit = {
  ...{ sourceHash: `0x${'77'.repeat(32)}`, from: `0x${'11'.repeat(20)}` },
  ...{ gas: 2n ** 62n, data: LOOP },
};

const depositOf = (transaction: Readonly<Record<string, unknown>>): Hex => {
  const field = (name: string): Hex => transaction[name] as Hex;
  return encodeDeposit({
    ...{ sourceHash: field('sourceHash'), from: field('from'), to: field('to'), data: field('input') },
    ...{ mint: BigInt((transaction['mint'] as Hex | undefined) ?? 0), value: BigInt(field('value')) },
    gas: BigInt(field('gas')),
  });
};

/**
 * A block on top of `parent` that fits its hash and has all of the gas its header may claim, with the parent's first
 * deposit, and one that never ends.
 */
export function loopingBlock(parent: BlockJson): BlockJson {
  if (headerHash(parent) !== parent.hash) throw new Error('this is not how headers are encoded here');
  const [first] = parent.transactions;
  if (first === undefined) throw new Error('an OP block has a first deposit');
  const encoded = [depositOf(first), encodeDeposit(loopingDeposit)];
  const block: BlockJson = {
    ...parent,
    parentHash: parent.hash,
    number: numberToHex(BigInt(parent.number) + 1n),
    timestamp: numberToHex(BigInt(parent.timestamp) + 2n),
    gasUsed: parent.gasLimit,
    transactionsRoot: listRoot(encoded),
  };
  const hash = headerHash(block);
  const looping = {
    ...first,
    ...{
      hash: keccak256(encoded[1] as Hex),
      sourceHash: loopingDeposit.sourceHash,
      from: loopingDeposit.from,
    },
    ...{ to: null, mint: '0x0', value: '0x0', gas: numberToHex(loopingDeposit.gas), input: LOOP },
  };
  const place = (transaction: object, index: number): Readonly<Record<string, unknown>> => ({
    ...transaction,
    ...{ blockHash: hash, blockNumber: block.number, transactionIndex: numberToHex(index) },
  });
  return { ...block, hash, transactions: [place(first, 0), place(looping, 1)] };
}

import type { JsonObject } from '../../source/interface.ts';

/** What a block has in JSON: what its hash covers, and what servers add to it. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['number', 'hash', 'parentHash', 'nonce', 'sha3Uncles', 'logsBloom', 'transactionsRoot', 'stateRoot'],
  ...['receiptsRoot', 'miner', 'author', 'difficulty', 'totalDifficulty', 'extraData', 'size', 'gasLimit'],
  ...['gasUsed', 'timestamp', 'transactions', 'uncles', 'mixHash', 'baseFeePerGas', 'withdrawals'],
  ...[
    'withdrawalsRoot',
    'blobGasUsed',
    'excessBlobGas',
    'parentBeaconBlockRoot',
    'requestsHash',
    'timestampMs',
  ],
]);

/** Legacy, EIP-2930, 1559, 4844, 7702, and deposits of OP-stack chains. */
const TYPES: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 0x7e]);

/**
 * What a block has that no rules known here describe: a field of its header, a type of transaction. Such a block does not
 * fit its hash when it is read here, and is no lie for that; undefined when it has nothing of the kind.
 */
export function unknownForm(block: JsonObject): string | undefined {
  const field = Object.keys(block).find((name) => !FIELDS.has(name));
  if (field !== undefined) return `it has a field that is not known here, ${field.slice(0, 64)}`;
  const { transactions } = block;
  const listed: readonly unknown[] = Array.isArray(transactions) ? transactions : [];
  for (const transaction of listed) {
    const type = typeof transaction === 'object' && transaction !== null && 'type' in transaction;
    const number = type ? Number(transaction.type) : 0;
    if (!TYPES.has(number)) return `it has a transaction of a type that is not known here, ${number}`;
  }
  return undefined;
}

import { keyText, type StateKey } from '../../chain/state-key.ts';
import { BEACON_ROOTS, BLOCK_HASHES } from '../../chain/system-contracts.ts';
import { keccak256 } from '../../executor/native-executor.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { parseAddress, parseBytes, parseHash, parseObject, parseQuantity } from '../../primitives/parse.ts';
import type { ChainSource, JsonObject } from '../../source/interface.ts';
import { toStored } from '../../source/reads/stored-form.ts';
import type { Trace } from './block-reads.ts';
import type { UpstreamValue } from './reader.ts';

/** Fewer missing keys than this are read one by one: a trace costs the upstream a whole execution. */
const WORTH_A_TRACE = 8;

/**
 * Contracts that blocks write before their first transaction (EIP-4788, EIP-2935): what transactions find in them is
 * not what the parent block left.
 */
const WRITTEN_BY_BLOCKS: ReadonlySet<string> = new Set([BEACON_ROOTS, BLOCK_HASHES]);

/** Where fees of the OP stack go: every transaction changes them, and not every trace of one says so. */
const FEE_VAULTS: ReadonlySet<string> = new Set([
  '0x4200000000000000000000000000000000000011',
  '0x4200000000000000000000000000000000000019',
  '0x420000000000000000000000000000000000001a',
  '0x420000000000000000000000000000000000001b',
]);

/** State that a block found, by one trace of all its transactions, asked for once and only if it pays. */
export function prestateTrace(
  source: Pick<ChainSource, 'prestate'>,
  blockHash: Hex,
  prefer: string | undefined,
): Trace {
  let asked: Promise<ReadonlyMap<string, UpstreamValue>> | undefined;
  return async (keys) => {
    if (asked === undefined && keys.length < WORTH_A_TRACE) return [];
    asked ??= source
      .prestate(blockHash, prefer === undefined ? {} : { prefer })
      .then((answer) => (answer === undefined ? new Map() : readPrestate(answer.value, answer.upstream)));
    const found = await asked;
    return keys.map((key) => found.get(keyText(key)));
  };
}

/**
 * What each key was before the block: transactions come in order, so the first one that found it tells. But an account that did not
 * exist before the block may be left out of the trace of the transaction that makes it, and be found by the next one (a new fee
 * recipient is, in every block). So what a later transaction finds counts only where accounts that do not exist are listed, too.
 */
export function readPrestate(
  transactions: readonly JsonObject[],
  upstream: string,
): ReadonlyMap<string, UpstreamValue> {
  const found = new Map<string, UpstreamValue>();
  const add = (key: StateKey, fetched: UpstreamValue): void => {
    const text = keyText(key);
    if (!found.has(text)) found.set(text, fetched);
  };
  const [first = {}] = transactions;
  try {
    const listsEmpty = transactions.some((accounts) => Object.values(accounts).some(isEmpty));
    for (const accounts of transactions) {
      for (const [name, state] of Object.entries(accounts)) {
        const address = parseAddress(name, 'address');
        if (!Object.hasOwn(first, name) && (!listsEmpty || FEE_VAULTS.has(address))) continue;
        readAccount(address, parseObject(state, 'account'), upstream, add);
      }
    }
    return found;
  } catch (error) {
    // It only saves requests: what it says in another shape is read key by key.
    if (error instanceof InvalidParamsError) return new Map();
    throw error;
  }
}

/** Whether it is an account that does not exist. */
function isEmpty(state: unknown): boolean {
  const { nonce = 0, balance = '0x0', code = '0x', storage = {} } = parseObject(state, 'account');
  const nothing: readonly unknown[] = [0, '0x0', '0x'];
  return (
    [nonce, balance, code].every((value) => nothing.includes(value)) &&
    Object.keys(parseObject(storage, 'storage')).length === 0
  );
}

function readAccount(
  name: Hex,
  state: JsonObject,
  upstream: string,
  add: (key: StateKey, fetched: UpstreamValue) => void,
): void {
  const address = fromHex(name);
  const { nonce, balance, code, storage } = state;
  const account = {
    // geth writes nonces as numbers.
    nonce: typeof nonce === 'number' ? BigInt(nonce) : BigInt(parseQuantity(nonce ?? '0x0', 64, 'nonce')),
    balance: BigInt(parseQuantity(balance ?? '0x0', 256, 'balance')),
    code: fromHex(parseBytes(code ?? '0x', 'code')),
  };
  const read = { kind: 'account', account, upstream } as const;
  add({ kind: 'account', address }, { ...toStored(read, keccak256), upstream });
  if (WRITTEN_BY_BLOCKS.has(name)) return;
  for (const [slot, value] of Object.entries(parseObject(storage ?? {}, 'storage'))) {
    const stored = toStored(
      { kind: 'slot', value: fromHex(parseHash(value, 'storage value')), upstream },
      keccak256,
    );
    add({ kind: 'slot', address, slot: fromHex(parseHash(slot, 'slot')) }, { ...stored, upstream });
  }
}

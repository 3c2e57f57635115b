import type { StateDiff } from '../../chain/diff.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';

/** What of an account clients are told, as quantities. */
export interface AccountInfo {
  readonly nonce: Hex;
  readonly balance: Hex;
}

/** What changed of one account. */
export interface AccountChange {
  /** Undefined when only storage changed. */
  account: AccountInfo | undefined;
  /** Its whole storage vanished before `slots` were written. */
  isWiped: boolean;
  /** 32 bytes to 32 bytes. */
  readonly slots: Map<Hex, Hex>;
}

/** What a diff changed of the accounts that somebody watches, by address. */
export function changesIn(
  { wiped, accounts, slots }: StateDiff,
  isWatched: (address: Hex) => boolean,
): ReadonlyMap<Hex, AccountChange> {
  const changes = new Map<Hex, AccountChange>();
  const changeOf = (bytes: Uint8Array): AccountChange | undefined => {
    const address = toHex(bytes);
    const known = changes.get(address);
    if (known !== undefined || !isWatched(address)) return known;
    const change = { account: undefined, isWiped: false, slots: new Map() };
    changes.set(address, change);
    return change;
  };
  for (const address of wiped) {
    const change = changeOf(address);
    if (change !== undefined) change.isWiped = true;
  }
  for (const [address, account] of accounts) {
    const change = changeOf(address);
    if (change !== undefined) change.account = readAccount(account);
  }
  for (const [address, slot, value] of slots) changeOf(address)?.slots.set(word(slot), word(value));
  return changes;
}

/** MegaETH's shape: the nonce is a number, the balance a quantity. */
export function renderChange(address: Hex, { account, isWiped, slots }: AccountChange): string {
  const info =
    account === undefined ? '' : `"nonce":${BigInt(account.nonce)},"balance":"${account.balance}",`;
  const storage = [...slots].map(([slot, value]) => `"${slot}":"${value}"`).join();
  const wiped = isWiped ? '"wiped":true,' : '';
  return `{"address":"${address}",${info}${wiped}"storage":{${storage}}}`;
}

function word(bytes: Uint8Array): Hex {
  return `0x${toHex(bytes).slice(2).padStart(64, '0')}`;
}

/** An account is RLP of nonce, balance and code hash; one that does not exist is empty. */
function readAccount(account: Uint8Array): AccountInfo {
  const head = account[0] ?? 0;
  const [nonce, next] = readNumber(account, head > 0xf7 ? 1 + head - 0xf7 : 1);
  const [balance] = readNumber(account, next);
  return { nonce: toQuantity(nonce), balance: toQuantity(balance) };
}

function readNumber(bytes: Uint8Array, at: number): readonly [value: bigint, next: number] {
  const head = bytes[at];
  if (head === undefined) return [0n, at];
  if (head < 0x80) return [BigInt(head), at + 1];
  const next = at + 1 + head - 0x80;
  const digits = toHex(bytes.subarray(at + 1, next));
  return [digits === '0x' ? 0n : BigInt(digits), next];
}

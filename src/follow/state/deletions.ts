import { type Hex, toHex } from '../../primitives/hex.ts';
import { parseAddress, parseObject } from '../../primitives/parse.ts';
import type { AccountState, JsonObject, TracedDiff } from '../../source/interface.ts';

/**
 * Finds out what really became of accounts that state diffs have in `pre` and not in `post`. That means deleted, but tracers also
 * leave out accounts whose SELFDESTRUCT was reverted (geth 1.16). A transaction that failed deleted nothing; a later one of
 * the block shows what it found; else the state after the block tells.
 */
export async function settleDeletions(
  diffs: readonly TracedDiff[],
  receipts: readonly JsonObject[],
  readAfterBlock: (address: Hex) => Promise<AccountState | undefined>,
): Promise<readonly TracedDiff[]> {
  return Promise.all(
    diffs.map(async (diff, index) => {
      const doubtful = Object.keys(diff.pre).filter((address) => diff.post[address] === undefined);
      if (doubtful.length === 0) return diff;
      if (receipts[index]?.['status'] === '0x0') return { ...diff, pre: without(diff.pre, doubtful) };
      const post: Record<string, unknown> = { ...diff.post };
      for (const address of doubtful) {
        const left =
          foundLater(diffs.slice(index + 1), address) ??
          (await readAfterBlock(parseAddress(address, 'address')));
        const parts = left === undefined || isNothing(left) ? undefined : partsOf(left);
        if (parts !== undefined) post[address] = parts;
      }
      return { ...diff, post };
    }),
  );
}

/** What the next transaction that changed the account found of it; undefined if there is none. */
function foundLater(diffs: readonly TracedDiff[], address: string): JsonObject | AccountState | undefined {
  const later = diffs.find(({ pre, post }) => pre[address] !== undefined || post[address] !== undefined);
  if (later === undefined) return undefined;
  const found = later.pre[address];
  // In `post` only: it was made anew.
  return found === undefined ? NOTHING : parseObject(found, 'account');
}

const NOTHING: AccountState = { nonce: 0n, balance: 0n, code: new Uint8Array() };

function isAccountState(account: JsonObject | AccountState): account is AccountState {
  return account.code instanceof Uint8Array;
}

function isNothing(account: JsonObject | AccountState): boolean {
  return (
    isAccountState(account) && account.nonce === 0n && account.balance === 0n && account.code.length === 0
  );
}

function partsOf(account: JsonObject | AccountState): JsonObject {
  if (isAccountState(account)) {
    const { nonce, balance, code } = account;
    return { nonce: Number(nonce), balance: `0x${balance.toString(16)}`, code: toHex(code) };
  }
  const { nonce, balance, code } = account;
  return { nonce, balance, code };
}

function without(accounts: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(accounts).filter(([name]) => !names.includes(name)));
}

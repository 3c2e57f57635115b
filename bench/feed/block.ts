import { encodeDiff } from '../../src/chain/diff-codec.ts';
import { toHex } from '../../src/primitives/hex.ts';
import { encode } from '../../test/support/native-layout.ts';
import { Random } from '../../test/support/random.ts';

/** What Base does in 200 ms on a busy day. */
export const TRANSACTIONS = 60;
export const LOGS = 300;
export const STATE_WRITES = 500;
/** Of the writes; the others are slots. */
const ACCOUNTS = 120;
/** Most of what happens, happens to few contracts. */
const HOT_CONTRACTS = 30;
const HEADER_BYTES = 600;
/** A swap through a router; the signature is random, most words of the rest are small. */
const TRANSACTION_WORDS = 8;
const SIGNATURE_BYTES = 65;

/** An outcome of that size, as the native core writes it, and its reference. */
export function busyBlock(number: number): {
  readonly number: number;
  readonly hash: `0x${string}`;
  readonly outcome: Uint8Array;
} {
  const random = new Random(1, number);
  const hash = random.bytes(32);
  const contracts = hotContracts();
  /** An amount as the EVM pads it. */
  const word = (): Uint8Array => Buffer.concat([Buffer.alloc(22), random.bytes(10)]);
  const asTopic = (address: Uint8Array): Uint8Array => Buffer.concat([Buffer.alloc(12), address]);
  const users = random.list(TRANSACTIONS, () => random.bytes(20));
  const transfer = new Random(2, 0).bytes(32);
  const diff = encodeDiff({
    wiped: [],
    accounts: random.list(ACCOUNTS, () => [
      random.chance(0.5) ? random.pick(users) : random.bytes(20),
      random.bytes(14),
    ]),
    slots: random.list(STATE_WRITES - ACCOUNTS, () => [
      random.pick(contracts),
      random.bytes(32),
      random.bytes(random.between(8, 16)),
    ]),
    codes: [],
  });
  const transactions = users.map(() =>
    Buffer.concat([random.bytes(SIGNATURE_BYTES + 20), ...random.list(TRANSACTION_WORDS, word)]),
  );
  const outcome = encode((out) => {
    out.number(number, 8);
    out.raw(hash);
    out.raw(new Random(1, number - 1).bytes(32));
    out.number(1_790_000_000 + number, 8);
    out.number(0, 8);
    out.bytes(random.bytes(HEADER_BYTES));
    out.bytes(Buffer.concat([random.bytes(HEADER_BYTES), ...transactions]));
    out.bytes(diff);
    out.list(users, (user) => {
      out.raw(random.bytes(32));
      out.number(2, 1);
      out.number(1 + 8, 1);
      out.raw(user);
      out.raw(random.pick(contracts));
      out.number(random.between(50_000, 400_000), 8);
      out.number(random.between(1_000_000, 30_000_000), 8);
      out.quantity(BigInt(random.between(1_000_000, 9_000_000)));
      out.raw(bloom(random));
      out.number(LOGS / TRANSACTIONS, 4);
      out.list([6, 7, 8, 9, 10], (tag) => {
        out.number(tag, 1);
        out.quantity(BigInt(random.between(1_000, 90_000)));
      });
    });
    out.list(
      Array.from({ length: LOGS }, (_, index) => index),
      (index) => {
        out.number(Math.floor(index / (LOGS / TRANSACTIONS)), 4);
        out.raw(random.pick(contracts));
        out.list([transfer, asTopic(random.pick(users)), asTopic(random.pick(contracts))], (topic) =>
          out.raw(topic),
        );
        out.bytes(Buffer.concat(random.list(random.chance(0.3) ? 4 : 1, word)));
      },
    );
  });
  return { number, hash: toHex(hash), outcome };
}

function hotContracts(): Uint8Array[] {
  const random = new Random(3, 0);
  return random.list(HOT_CONTRACTS, () => random.bytes(20));
}

/** Three bits for each address and topic of five logs. */
function bloom(random: Random): Uint8Array {
  const bits = new Uint8Array(256);
  for (let set = 0; set < 3 * 12; set++) {
    const bit = random.below(2_048);
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
  }
  return bits;
}

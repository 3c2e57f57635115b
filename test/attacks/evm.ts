import { createHash } from 'node:crypto';
import type { Hex } from 'viem';
import { assemble, type Item, store } from '../support/assembler.ts';

/** An account that calls pretend code at. */
export const ACTOR: Hex = '0x00000000000000000000000000000000000000aa';

const P256VERIFY = 0x100;
const KZG = 0x0a;
const PAIRING = 0x08;
const word = (value: number): string => value.toString(16).padStart(64, '0');

/** `body` for ever, after `prelude`. */
export function looped(prelude: readonly Item[], body: readonly Item[]): Hex {
  const start = (assemble(...prelude).length - 2) / 2;
  return assemble(...prelude, 'JUMPDEST', ...body, start, 'JUMP') as Hex;
}

/** Calls a precompile with the first `size` bytes of memory; all gas that is left, or so much. */
function callPrecompile(address: number, size: number, gas?: number): Item[] {
  return [0, 0, size, 0, address, gas ?? 'GAS', 'STATICCALL', 'POP'];
}

/** Returns, or reverts with, as many bytes as 50 million gas buy in memory. */
export const hugeResult: Hex = '0x624b7c005ff3';
export const hugeRevert: Hex = '0x624b7c005ffd';

/** Reads the balance of one account after another, none of which anybody has asked for before. */
export function unknownBalances(seed: number): Hex {
  const first = `0x${'00'.repeat(20)}${seed.toString(16).padStart(12, '0')}${'00'.repeat(6)}`;
  return looped([first], [1, 'ADD', 'DUP1', 'BALANCE', 'POP']);
}

/** Follows a list of slots, each of which names the next, to its end. */
export const followList: Hex = ((): Hex => {
  const prelude: Item[] = [1, 0, 'MSTORE', 32, 0, 'KECCAK256'];
  const start = (assemble(...prelude).length - 2) / 2;
  return assemble(...prelude, 'JUMPDEST', 'SLOAD', 'DUP1', start, 'JUMPI', 'STOP') as Hex;
})();

/** Initcode that writes a list of 700 slots for `followList`. */
export const writeList: Hex = '0x6102bc5b805f5260205f20816001015f5260205f2090556001900380600357';

const infinity = `c0${'00'.repeat(47)}`;
const versionedHash = `01${createHash('sha256').update(Buffer.from(infinity, 'hex')).digest('hex').slice(2)}`;

/** Verifies a KZG proof over and over; a wrong one fails after all of the work. */
export function kzgProofs(isValid: boolean): Hex {
  const input = `0x${versionedHash}${word(3)}${word(isValid ? 0 : 1)}${infinity}${infinity}`;
  return looped(store(input), callPrecompile(KZG, 192, 50_000));
}

const g1 = word(1) + word(2);
const g2 =
  '198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2' +
  '1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed' +
  '090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b' +
  '12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa';

/** Pairs many points over and over; with a bad one at the end, for nothing. */
export function pairings(count: number, endsBadly: boolean): Hex {
  const input = `0x${(g1 + g2).repeat(count)}${endsBadly ? word(1) + word(3) + g2 : ''}`;
  const pairs = count + (endsBadly ? 1 : 0);
  return looped(store(input), callPrecompile(PAIRING, pairs * 192, 45_000 + 34_000 * pairs));
}

/** Verifies a signature over and over: the precompile that takes longest for its gas. */
export const signatures: Hex = looped(
  store(
    `0x${'11'.repeat(32)}${word(5)}${word(7)}` +
      '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
      '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
  ),
  callPrecompile(P256VERIFY, 160),
);

/** Emits 200 logs of a kilobyte. */
export const emitLogs: Hex = ((): Hex => {
  const start = (assemble(200).length - 2) / 2;
  return assemble(
    ...[200, 'JUMPDEST'],
    ...['DUP1', 1_024, 0, 'LOG1'],
    ...[1, 'SWAP1', 'SUB', 'DUP1', start, 'JUMPI', 'STOP'],
  ) as Hex;
})();

/** Burns all gas of less than 30 million, and uses hardly any of more: each step of a search for the least gas is a long one. */
export const burnsLess: Hex = ((): Hex => {
  const enough = (at: number): Item[] => [30_000_000, 'GAS', 'GT', at, 'JUMPI'];
  const loopAt = (assemble(...enough(255)).length - 2) / 2;
  const end = loopAt + 1 + 3;
  return assemble(...enough(end), 'JUMPDEST', loopAt, 'JUMP', 'JUMPDEST', 'STOP') as Hex;
})();

/** Reads slots that depend on the gas that is left: with an access list it reads others. */
export const readsByGas: Hex = looped([], ['GAS', 'SLOAD', 'POP']);

/** Writes one slot after another, with 64 KiB of memory. */
export const writesSlots: Hex = looped([1, 65_504, 'MSTORE', 0], [1, 'ADD', 'DUP1', 'DUP1', 'SSTORE']);

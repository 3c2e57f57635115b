import { assemble, type Item, opcode, store } from '../support/assembler.ts';
import type { Random } from '../support/random.ts';
import type { Corpus } from './corpus.ts';

/** Bytecode to run in place of an account's own; some of it ends in every way an execution can end. */
export type Program = (random: Random, corpus: Corpus) => string;

const revertData = (text: string): string =>
  `0x08c379a0${(32).toString(16).padStart(64, '0')}${text.length.toString(16).padStart(64, '0')}${Buffer.from(text).toString('hex').padEnd(64, '0')}`;

export const revert: Program = (random) => {
  const data = random.weighted([
    [2, () => '0x'],
    [3, () => revertData(random.pick(['no', 'user error', '', 'ünï', 'not owner: 0x00']))],
    [
      3,
      () =>
        `0x4e487b71${random.pick([0, 1, 0x11, 0x12, 0x21, 0x31, 0x41, 0x51, 0x99]).toString(16).padStart(64, '0')}`,
    ],
    [2, () => random.hex(random.between(4, 100))],
    [1, () => revertData('cut short').slice(0, 2 + 2 * random.between(4, 90))],
  ]);
  return assemble(...store(data), (data.length - 2) / 2, 0, 'REVERT');
};

export const failure: Program = (random, corpus) =>
  random.weighted([
    [2, () => assemble('INVALID')],
    [3, () => `0x${random.pick(['0c', '0f', '1f', '21', '4b', 'b0', 'c0', 'ef', 'f6', 'f7', 'fb', 'fc'])}`],
    [
      3,
      () =>
        assemble(random.pick(['ADD', 'POP', 'SSTORE', 'CALL', 'DUP4', 'SWAP3', 'LOG2', 'MCOPY', 'RETURN'])),
    ],
    [2, () => assemble(random.pick([0, 1, 500]), 'JUMP')],
    [1, () => assemble('JUMPDEST', 0, 'JUMP')],
    [1, () => assemble('JUMPDEST', 1, 0, 'JUMP')],
    [2, () => assemble(random.hex(random.between(4, 32)), 0, 'KECCAK256')],
    [2, () => assemble(0, random.hex(random.between(3, 8)), 'MSTORE')],
    [1, () => assemble(random.between(1, 40), 0, 0, 'RETURNDATACOPY')],
    [1, () => assemble(0, 0, 0, 0, random.pick(corpus.contracts), 'GAS', 'STATICCALL')],
    [2, () => staticWrite(random)],
    [1, () => assemble('ADDRESS', 0, 0, 0, 0, 0, 'DUP6', 'GAS', 'CALL', 'STOP')],
  ]);

/** Calls itself statically once, then tries to write. */
function staticWrite(random: Random): string {
  const write = random.pick<readonly Item[]>([
    [1, 0, 'SSTORE'],
    [0, 0, 'LOG0'],
    [0, 0, 0, 'CREATE'],
    ['CALLER', 'SELFDESTRUCT'],
    [0, 0, 0, 0, 1, 'ADDRESS', 'GAS', 'CALL'],
    [1, 0, 'TSTORE'],
  ]);
  const inner = assemble(...write, 'STOP');
  const outer = (at: number): string =>
    assemble(
      'CALLDATASIZE',
      at,
      'JUMPI',
      32,
      0,
      1,
      0,
      'ADDRESS',
      'GAS',
      'STATICCALL',
      0,
      'MSTORE',
      32,
      0,
      'RETURN',
    );
  const at = (outer(10).length - 2) / 2;
  return `${outer(at)}5b${inner.slice(2)}`;
}

export const stackOverflow: Program = (random) =>
  assemble(Uint8Array.of(...Array<number>(random.between(1020, 1030)).fill(opcode('ADDRESS'))));

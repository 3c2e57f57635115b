import { assemble, type Item, raw, store } from '../support/assembler.ts';
import type { Random } from '../support/random.ts';
import { precompileAddresses, precompileInput } from '../support/workload/precompiles.ts';
import type { Corpus } from './corpus.ts';
import { failure, type Program, revert, stackOverflow } from './failing-programs.ts';

const plainReads = [
  'ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT',
  'CHAINID SELFBALANCE BASEFEE BLOBBASEFEE GAS MSIZE PC RETURNDATASIZE PUSH0',
].flatMap((line) => line.split(' '));

const binary =
  'ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR'.split(' ');

/** Returns the words that `producers` leave on the stack, one each. */
function returnWords(producers: readonly (readonly Item[])[]): string {
  const stores = producers.flatMap((items, at): Item[] => [...items, at * 32, 'MSTORE']);
  return assemble(...stores, producers.length * 32, 0, 'RETURN');
}

export function anyAddress(random: Random, corpus: Corpus): string {
  return random.weighted([
    [6, () => random.pick(corpus.addresses)],
    [4, () => random.pick(corpus.contracts)],
    [3, () => random.pick(precompileAddresses)],
    [1, () => random.hex(20)],
  ]);
}

function interestingWord(random: Random): string {
  return random.weighted([
    [3, () => `0x${random.below(300).toString(16).padStart(4, '0')}`],
    [2, () => random.hex(random.between(1, 32))],
    [1, () => `0x${'ff'.repeat(32)}`],
    [1, () => `0x80${'00'.repeat(31)}`],
    [1, () => `0x7f${'ff'.repeat(31)}`],
  ]);
}

const context: Program = (random, corpus) =>
  returnWords(
    random.list(random.between(1, 6), () =>
      random.weighted<readonly Item[]>([
        [6, () => [random.pick(plainReads)]],
        [1, () => [anyAddress(random, corpus), random.pick(['BALANCE', 'EXTCODESIZE', 'EXTCODEHASH'])]],
        [1, () => [random.below(corpus.head + 4), 'BLOCKHASH']],
        [1, () => [interestingWord(random), random.pick(['BLOCKHASH', 'CALLDATALOAD', 'BLOBHASH', 'TLOAD'])]],
        [1, () => [random.pick(corpus.slots), 'SLOAD']],
      ]),
    ),
  );

const arithmetic: Program = (random) =>
  returnWords(
    random.list(random.between(1, 4), () =>
      random.weighted<readonly Item[]>([
        [6, () => [interestingWord(random), interestingWord(random), random.pick(binary)]],
        [1, () => [interestingWord(random), random.pick(['ISZERO', 'NOT', 'CLZ'])]],
        [2, () => [...random.list(3, () => interestingWord(random)), random.pick(['ADDMOD', 'MULMOD'])]],
        [1, () => [random.below(100), random.below(100), 'KECCAK256']],
      ]),
    ),
  );

/** Writes, reads back and measures: a wrong gas rule shows as another GAS. */
const storage: Program = (random, corpus) => {
  const slots = [random.pick(corpus.slots), random.pick(corpus.filled).slot, '0x00'];
  const steps = random.list(random.between(1, 8), () =>
    random.weighted<readonly Item[]>([
      [4, () => [random.pick(['0x00', '0x01', random.hex(32)]), random.pick(slots), 'SSTORE']],
      [2, () => [random.pick(slots), 'SLOAD', 'POP']],
      [1, () => [random.hex(2), random.pick(slots), 'TSTORE']],
      [1, () => [random.pick(slots), 'TLOAD', 'POP']],
    ]),
  );
  const reads = slots.flatMap((slot, at): Item[] => [slot, 'SLOAD', (at + 1) * 32, 'MSTORE']);
  return assemble(...steps.flat(), 'GAS', 0, 'MSTORE', ...reads, 128, 0, 'RETURN');
};

/** Calls something and reports success, how much came back, its first word and the gas left. */
function callAndReport(random: Random, to: Item, input: string, value: number): Item[] {
  const kind = random.pick(['CALL', 'STATICCALL', 'DELEGATECALL', 'CALLCODE']);
  const length = (input.length - 2) / 2;
  const gas: Item[] = random.chance(0.8) ? ['GAS'] : [random.below(60_000)];
  const passesValue = kind === 'CALL' || kind === 'CALLCODE';
  return [
    ...store(input, 128),
    ...[32, 32, length, 128, ...(passesValue ? [value] : []), to, ...gas, kind],
    ...[0, 'MSTORE', 'RETURNDATASIZE', 64, 'MSTORE', 'GAS', 96, 'MSTORE', 128, 0, 'RETURN'],
  ];
}

const call: Program = (random, corpus) => {
  const to = random.chance(0.15) ? 'ADDRESS' : anyAddress(random, corpus);
  const input = random.chance(0.5) ? random.pick(corpus.inputs).input : random.hex(random.below(70));
  return assemble(...callAndReport(random, to, input.slice(0, 2 + 512), random.pick([0, 0, 1, 1000])));
};

const precompile: Program = (random) => {
  const to = random.pick(precompileAddresses);
  return assemble(...callAndReport(random, to, precompileInput(random, to), random.pick([0, 0, 0, 1])));
};

/** Base, exponent and modulus of lengths around those that EIP-7823 allows; most of their bytes are left out, so zero. */
function boundedModexp(random: Random): string {
  const lengths = random.list(3, () => random.pick([0, 1, 32, 33, 1_023, 1_024, 1_025, 4_096]));
  const head = lengths.map((length) => length.toString(16).padStart(64, '0')).join('');
  return `0x${head}${random.hex(random.pick([0, 1, 32, 40, 160])).slice(2)}`;
}

/** What Osaka changed: CLZ, and price and bounds of MODEXP and P256VERIFY, which show in the gas left. */
const osaka: Program = (random) => {
  const [modexp, p256] = ['0x05', '0x0100'].map((short) => `0x${short.slice(2).padStart(40, '0')}`);
  return random.weighted([
    [2, () => returnWords(random.list(4, () => [interestingWord(random), 'CLZ', 'GAS', 'ADD']))],
    [2, () => assemble(...callAndReport(random, modexp ?? '', boundedModexp(random), 0))],
    [2, () => assemble(...callAndReport(random, p256 ?? '', precompileInput(random, p256 ?? ''), 0))],
  ]);
};

const initCodes: readonly ((random: Random) => string)[] = [
  () => assemble(0x42, 0, 'MSTORE', 32, 0, 'RETURN'),
  () => assemble(0, 0, 'RETURN'),
  () => assemble(0, 0, 'REVERT'),
  () => assemble(0xef, 0, 'MSTORE8', 1, 0, 'RETURN'),
  () => assemble('CALLER', 'SELFDESTRUCT'),
  () => assemble(0x6001, 0, 'RETURN'),
  () => assemble('INVALID'),
  (random) => random.hex(random.between(1, 20)),
];

const create: Program = (random, corpus) => {
  const init = random.pick(initCodes)(random);
  const length = (init.length - 2) / 2;
  const twice = random.chance(0.3);
  const salted = random.chance(0.5);
  const value = random.pick([0, 0, 1]);
  const once: Item[] = [
    ...store(init, 0),
    ...(salted ? [random.pick([0, 1]), length, 0, value, 'CREATE2'] : [length, 0, value, 'CREATE']),
  ];
  const target = random.chance(0.8) ? 'DUP1' : random.pick(corpus.contracts);
  return assemble(
    ...once,
    ...(twice ? ['POP', ...once] : []),
    ...[
      target,
      'EXTCODESIZE',
      32,
      'MSTORE',
      'DUP1',
      'EXTCODEHASH',
      64,
      'MSTORE',
      'DUP1',
      'BALANCE',
      96,
      'MSTORE',
    ],
    ...[0, 'MSTORE', 'GAS', 128, 'MSTORE', 'RETURNDATASIZE', 160, 'MSTORE', 192, 0, 'RETURN'],
  );
};

const selfdestruct: Program = (random, corpus) =>
  assemble(anyAddress(random, corpus), ...(random.chance(0.1) ? ['POP'] : []), 'SELFDESTRUCT');

const logging: Program = (random, corpus) => {
  const topics = random.below(5);
  return assemble(
    ...random.list(topics, () => random.pick(corpus.topics)),
    ...[random.below(64), 0, `LOG${topics}`, 'GAS', 0, 'MSTORE', 32, 0, 'RETURN'],
  );
};

/** Opcodes at random with the stack kept deep enough most of the time, so that some run for long. */
const soup: Program = (random, corpus) => {
  const items: Item[] = random.list(8, () => interestingWord(random));
  for (let step = random.between(5, 40); step > 0; step -= 1) {
    items.push(
      random.weighted<Item>([
        [6, () => interestingWord(random)],
        [4, () => random.pick(binary)],
        [3, () => random.pick(plainReads)],
        [2, () => random.pick(['DUP1', 'DUP2', 'DUP3', 'SWAP1', 'SWAP2', 'POP', 'ISZERO', 'NOT'])],
        [2, () => random.pick(corpus.slots)],
        [
          1,
          () => random.pick(['SLOAD', 'SSTORE', 'BALANCE', 'EXTCODEHASH', 'BLOCKHASH', 'MLOAD', 'JUMPDEST']),
        ],
        [1, () => Uint8Array.of(random.below(256))],
      ]),
    );
  }
  return assemble(...items, 0, 'MSTORE', 'GAS', 32, 'MSTORE', 'MSIZE', 64, 'MSTORE', 96, 0, 'RETURN');
};

const delegation: Program = (random, corpus) =>
  assemble(raw(`0xef0100${anyAddress(random, corpus).slice(2)}`));

const noise: Program = (random) => random.hex(random.between(1, 60));

/** Every kind of program with its weight. */
export const programs: readonly (readonly [weight: number, make: Program])[] = [
  [20, context],
  [8, arithmetic],
  [12, storage],
  [12, call],
  [10, precompile],
  [8, osaka],
  [10, create],
  [3, selfdestruct],
  [8, revert],
  [12, failure],
  [2, logging],
  [10, soup],
  [2, delegation],
  [5, noise],
  [1, stackOverflow],
  [4, (random, corpus) => random.pick(corpus.codes)],
];

export function anyProgram(random: Random, corpus: Corpus): string {
  return random.weighted(programs.map(([weight, make]) => [weight, () => make(random, corpus)] as const));
}

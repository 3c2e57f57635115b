import { count } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];

/** What one eth_simulateV1 may cost. */
export const SIMULATE_OPTIONS = {
  simulateBlocks: {
    group: 'eth_simulateV1',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 65_536 }),
    default: '256',
    isReloaded: true,
    doc: 'Blocks of one simulation, those that fill gaps included.',
  },
  simulateCalls: {
    group: 'eth_simulateV1',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 1, max: 1_000_000 }),
    default: '10000',
    isReloaded: true,
    doc: 'Calls of one simulation, of all its blocks together.',
  },
  simulateGas: {
    group: 'eth_simulateV1',
    commands: SERVE,
    value: 'GAS',
    parse: count({ min: 21_000, max: 1_000_000_000_000 }),
    default: '50000000',
    isReloaded: true,
    doc: 'Gas of all calls of one simulation together. A call gets what is left at most.',
  },
  simulateTimeLimitMs: {
    group: 'eth_simulateV1',
    commands: SERVE,
    value: 'MS',
    parse: count({ min: 1, max: 3_600_000 }),
    default: '5000',
    isReloaded: true,
    doc: 'Time of one simulation, the loading of its state included.',
  },
  trieKeys: {
    group: 'eth_simulateV1',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 0, max: 100_000_000 }),
    default: '250000',
    doc: 'Accounts and slots in memory for eth_getProof and the state roots of simulated blocks, where the store holds all of the state. Where there are more, and with 0, an upstream is asked for proofs, which are checked, and the state roots are zero.',
  },
} as const satisfies Record<string, OptionSpec>;

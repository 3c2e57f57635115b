import { beforeAll, describe, expect, it } from 'vitest';
import {
  emitter,
  executeOfficialChain,
  HEAD,
  loadFrom,
  officialGenesis,
  roomyOptions,
  storeOf,
} from '../../../test/support/serve/executor.ts';
import type { Outcome } from '../../chain/outcome.ts';
import type { SimulationRequest } from '../interface.ts';
import { NativeExecutor } from '../native-executor.ts';
import type { TrieSource } from './state-tries.ts';

const ZERO = `0x${'0'.repeat(64)}`;
const REQUEST: SimulationRequest = {
  blocks: [{ calls: [{ to: emitter, data: '0x01' }] }],
  traceTransfers: false,
  validation: false,
  returnFullTransactions: false,
  blockTime: 2,
  limits: { blocks: 256, gas: 50_000_000, bytes: 2 ** 20 },
};

let outcomes: readonly Outcome[];
let store: TrieSource;
beforeAll(async () => {
  outcomes = await executeOfficialChain();
  store = await storeOf(outcomes);
});

/** State roots of simulations after a block, and how often all of the state was read for them. */
function setup(trieKeys: number, isComplete = true) {
  let scans = 0;
  const tries: TrieSource = {
    isComplete: () => isComplete,
    canonicalHash: (number) => store.canonicalHash(number),
    header: (ref) => store.header(ref),
    diffBytes: (number) => store.diffBytes(number),
    scanState: (number) => {
      scans++;
      return store.scanState(number);
    },
  };
  const options = { ...roomyOptions, trieKeys };
  const executor = NativeExecutor.create(officialGenesis().config, options, {
    load: loadFrom(outcomes),
    tries,
  });
  const rootAfter = async (number: number): Promise<string> => {
    const header = outcomes[number]?.header;
    if (header === undefined) throw new Error(`no block ${number}`);
    const result = await executor.view(header).simulate(REQUEST);
    if (result.kind !== 'done') throw new Error(JSON.stringify(result));
    const [block] = JSON.parse(result.json.toString()) as readonly { readonly stateRoot: string }[];
    return block?.stateRoot ?? '';
  };
  return { executor, rootAfter, scans: () => scans };
}

describe('state roots of simulated blocks', () => {
  it('come from a trie that is built once and taken forward', async () => {
    const { executor, rootAfter, scans } = setup(100_000);
    const first = await rootAfter(HEAD - 4);
    expect(first).not.toBe(ZERO);
    expect(await rootAfter(HEAD - 4)).toBe(first);
    const forward = await rootAfter(HEAD);
    expect(scans()).toBe(1);
    expect(executor.sizes()).toMatchObject({ trieBlocks: 5 });
    const other = setup(100_000);
    expect(await other.rootAfter(HEAD)).toBe(forward);
    expect(other.scans()).toBe(1);
  });

  it('are made once for many at a time', async () => {
    const { rootAfter, scans } = setup(100_000);
    const roots = await Promise.all([1, 2, 3, 4].map(() => rootAfter(HEAD)));
    expect(new Set(roots).size).toBe(1);
    expect(scans()).toBe(1);
  });

  it('are zero where not all of the state is known, and nothing is read for them', async () => {
    const { rootAfter, scans } = setup(100_000, false);
    expect(await rootAfter(HEAD)).toBe(ZERO);
    expect(scans()).toBe(0);
  });

  it('are zero where there are too many keys, which is found out once', async () => {
    const { executor, rootAfter, scans } = setup(10);
    expect(await rootAfter(HEAD)).toBe(ZERO);
    expect(await rootAfter(HEAD)).toBe(ZERO);
    expect(scans()).toBe(1);
    expect(executor.sizes()).toMatchObject({ trieBlocks: 0, trieKeys: 0 });
    const none = setup(0);
    expect(await none.rootAfter(HEAD)).toBe(ZERO);
    expect(none.scans()).toBe(0);
  });
});

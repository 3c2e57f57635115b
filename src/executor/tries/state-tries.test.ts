import type { NativeChain } from '@chain-query/native';
import { beforeAll, describe, expect, it, vi } from 'vitest';
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
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import type { LoadContext, SimulationRequest } from '../interface.ts';
import { checkProof, NativeExecutor, readHeader } from '../native-executor.ts';
import { StateTries, type TrieSource } from './state-tries.ts';

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
  /** A proof after a block, which must hold against its header. */
  const provenAfter = async (number: number, address: Hex, slots: readonly Hex[], context?: LoadContext) => {
    const header = outcomes[number]?.header ?? new Uint8Array();
    const block = readHeader(header);
    const json = await executor.prove(block, { address, slots, keys: slots }, context);
    if (json === undefined) return undefined;
    const proof = JSON.parse(json.toString()) as Proof;
    checkProof(block.stateRoot, fromHex(address), slots.map(fromHex), proof);
    return proof;
  };
  return { executor, rootAfter, provenAfter, scans: () => scans };
}

interface Proof {
  readonly nonce: Hex;
  readonly balance: Hex;
  readonly storageProof: readonly { readonly key: string; readonly value: Hex }[];
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

  it('are the same on the serving thread, where short simulations run once nothing is missing, as in the pool', async () => {
    const { executor } = setup(100_000);
    const view = executor.view(outcomes[HEAD]?.header ?? new Uint8Array());
    const first = view.simulate(REQUEST);
    expect(first).toBeInstanceOf(Promise);
    await first;
    const again = view.simulate(REQUEST);
    expect(again).not.toBeInstanceOf(Promise);
    const texts = [await first, await again].map((result) => result.kind === 'done' && String(result.json));
    expect(texts[0]).toContain('"stateRoot"');
    expect(texts[1]).toBe(texts[0]);
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

describe('proofs', () => {
  const absent: Hex = `0x${'77'.repeat(20)}`;
  const slots: readonly Hex[] = [`0x${'0'.repeat(64)}`, `0x${'1'.repeat(64)}`];

  it('come from the same tries, also of what is not there', async () => {
    const { provenAfter, rootAfter, scans } = setup(100_000);
    const proven = await provenAfter(HEAD - 2, emitter, slots);
    expect(proven?.storageProof.map(({ key, value }) => [key, value !== '0x0'])).toEqual([
      [slots[0], true],
      [slots[1], false],
    ]);
    expect(await provenAfter(HEAD, absent, slots)).toMatchObject({ nonce: '0x0', balance: '0x0' });
    await rootAfter(HEAD);
    expect(scans()).toBe(1);
  });

  it('are not given where the state is partial, or too large', async () => {
    for (const { provenAfter } of [setup(100_000, false), setup(10), setup(0)]) {
      expect(await provenAfter(HEAD, emitter, slots)).toBeUndefined();
    }
  });

  it('wait for a trie up to a limit', async () => {
    const { provenAfter, scans } = setup(100_000);
    const asked = await Promise.allSettled(Array.from({ length: 80 }, () => provenAfter(HEAD, emitter, [])));
    const refused = asked.filter((result) => result.status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(16);
    expect(refused.length).toBeLessThan(80);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(OverloadedError);
    expect(scans()).toBe(1);
  });

  it('leave others room to wait', async () => {
    const chain = { maxTrieKeys: 10, hasTrie: () => false, nearestTrie: () => null };
    const hanging = { ...store, isComplete: () => true, header: () => new Promise<never>(() => {}) };
    const tries = new StateTries(chain as unknown as NativeChain, hanging);
    const { signal } = new AbortController();
    const refused: string[] = [];
    for (const client of [...Array.from({ length: 40 }, () => 'many'), 'another']) {
      const prepared = tries.prepare({ number: 1, hash: ZERO as Hex }, { client, signal });
      prepared.catch((error: unknown) => refused.push(`${client} ${String(error)}`));
    }
    await new Promise(setImmediate);
    expect(refused).toEqual(Array.from({ length: 8 }, () => 'many OverloadedError: OVERLOADED'));
  });

  it('are tried again when another trie took the room, and refused when it does so each time', async () => {
    const prove = vi.fn<() => Promise<Buffer | null>>(async () => null);
    const chain = { maxTrieKeys: 10, hasTrie: () => true, prove };
    const tries = new StateTries(chain as unknown as NativeChain, store);
    const ask = (): Promise<unknown> =>
      tries.prove({ number: 1, hash: ZERO as Hex }, { address: emitter, slots: [], keys: [] });
    await expect(ask()).rejects.toThrow(OverloadedError);
    expect(prove).toHaveBeenCalledTimes(3);
    prove.mockResolvedValueOnce(null).mockResolvedValueOnce(Buffer.from('{}'));
    expect(await ask()).toEqual(Buffer.from('{}'));
  });

  it('are not worked on for those who went away', async () => {
    const { provenAfter, scans } = setup(100_000);
    const gone = new AbortController();
    const asked = [1, 2, 3].map((number) =>
      provenAfter(number, emitter, [], { client: 'a', signal: gone.signal }),
    );
    gone.abort();
    for (const one of asked) await expect(one).rejects.toThrow(StateUnavailableError);
    expect(await provenAfter(HEAD, emitter, [])).toBeDefined();
    expect(scans()).toBeLessThanOrEqual(2);
  });
});

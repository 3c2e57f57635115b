// Nothing that TypeScript could hand to the addon may end the process: nonsense gives an exception, or a value.
import { type NativeChain, native } from '@chain-query/native';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  emitter,
  executeOfficialChain,
  officialGenesis,
  roomyOptions,
  zeroSlot,
} from '../../test/support/serve/executor.ts';
import { CodecError } from '../chain/byte-codec.ts';
import type { Outcome } from '../chain/outcome.ts';
import { decodeOutcome } from '../chain/outcome-codec.ts';
import { configText } from '../rules/chains.ts';
import type { NativeCode } from './errors.ts';

/** An error of the core, by its code and what its text is like. */
const coded = (code: NativeCode, text = /./): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(text) });

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const { text: genesis, config } = officialGenesis();

let outcomes: readonly Outcome[];
beforeAll(async () => {
  outcomes = await executeOfficialChain();
});

function newChain(): NativeChain {
  const chain = native.NativeChain.create(config, roomyOptions);
  chain.startAtGenesis(genesis);
  return chain;
}

/** The same bytes with some of them changed, or cut. */
const damaged = (whole: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc
    .tuple(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 3 }), fc.nat(whole.length))
    .map(([edits, end]) => {
      const copy = Uint8Array.from(whole);
      for (const [at, value] of edits) copy[at] = value;
      return edits.length === 0 ? copy.subarray(0, end) : copy;
    });

const hexText = (digits: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom(...Array.from('0123456789abcdef')),
    minLength: digits,
    maxLength: digits,
  });

const hashOf = (digit: number): string => `0x${String(digit).repeat(64)}`;
const FLASHBLOCK = JSON.stringify({
  payload_id: '0x0102030405060708',
  index: 0,
  base: {
    ...{ parent_beacon_block_root: hashOf(1), parent_hash: hashOf(2), prev_randao: hashOf(3) },
    ...{ fee_recipient: `0x${'4'.repeat(40)}`, block_number: '0x1', gas_limit: '0x1c9c380' },
    ...{ timestamp: '0x64', extra_data: '0x', base_fee_per_gas: '0x1' },
  },
  diff: {
    ...{ state_root: hashOf(5), receipts_root: hashOf(6), logs_bloom: `0x${'0'.repeat(512)}` },
    ...{ gas_used: '0x0', block_hash: hashOf(7), withdrawals: [], withdrawals_root: hashOf(8) },
    transactions: ['0x7e00', '0x02c0'],
  },
  metadata: { block_number: 1 },
});

/** What could come instead of any argument. */
function nonsense(): fc.Arbitrary<unknown> {
  const { header, block, diffBytes } = outcomes[1] ?? { header: [], block: [], diffBytes: [] };
  return fc.oneof(
    fc.anything({ maxDepth: 2, withBigInt: true, withTypedArray: true, withNullPrototype: true }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '0x', '0x0', '-1', '0xzz', '[]', '{"value":"0x1"}', '{"stateOverrides":{"0x1":{}}}'),
    fc.constantFrom('['.repeat(100_000), `0x${'f'.repeat(100_001)}`, '{"a":'.repeat(10_000)),
    fc.constantFrom(0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2 ** 64, undefined, null),
    hexText(40).map((digits) => `0x${digits}`),
    hexText(64).map((digits) => `0x${digits}`),
    // Missing keys as the core writes them, of all kinds, and almost so.
    fc
      .tuple(hexText(32), fc.constantFrom('', 'a', 's', 'c', 'h', 'é', 'x'), hexText(104), fc.nat(140))
      .map(([prefix, kind, digits, end]) => `${prefix}${kind}${digits}`.slice(0, end)),
    fc.uint8Array({ maxLength: 600 }),
    // A flashblock, and almost one.
    damaged(Buffer.from(FLASHBLOCK)).map((bytes) => Buffer.from(bytes).toString('latin1')),
    ...[header, block, diffBytes].map((bytes) => damaged(Uint8Array.from(bytes))),
  );
}

/** Calls with whatever arguments; true if it threw or rejected. */
async function attempt(target: object, name: string, args: readonly unknown[]): Promise<boolean> {
  try {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== 'function') throw new Error(`there is no ${name}`);
    await Reflect.apply(method, target, args);
    return false;
  } catch {
    return true;
  }
}

/** Methods that read something and execute it, within limits that come after it. */
const EXECUTED: ReadonlySet<string> = new Set(['execute', 'extendPreconfirmed', 'promote']);

/** Every method, so that no new one is left out. */
function methodsOf(type: { readonly prototype: object }): readonly string[] {
  const all = Object.entries(Object.getOwnPropertyDescriptors(type.prototype));
  return all.flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [name] : [],
  );
}

describe(`the addon (TEST_SEED=${seed})`, () => {
  it('survives nonsense in every argument of every method', { timeout: 60_000 }, async () => {
    const good = newChain();
    const view = native.NativeView.open(good, outcomes[0]?.header ?? new Uint8Array());
    const answer = view.nonce(`0x${'7'.repeat(40)}`);
    const call = new native.NativePooledCall('0x', '0x', 'gas', 'data', '{');
    const done = new native.NativePooledCall(undefined, undefined, '0x1', undefined, undefined);
    done.end();
    await expect(done.run(view, 1, '')).rejects.toThrow(/done with/);
    const released = native.NativeView.open(good, outcomes[0]?.header ?? new Uint8Array());
    released.release();
    let chain = newChain();
    const opChain = native.NativeChain.create(configText('op-sepolia'), roomyOptions);
    let refused = 0;
    const run = async (method: number, args: readonly unknown[]): Promise<void> => {
      const targets: readonly (readonly [object, string])[] = [
        ...methodsOf(native.NativeChain).map((name) => [chain, name] as const),
        ...methodsOf(native.NativeChain).map((name) => [opChain, name] as const),
        ...methodsOf(native.NativeView).flatMap((name) =>
          name === 'release' ? [] : [[view, name] as const],
        ),
        ...methodsOf(native.NativeView).map((name) => [released, name] as const),
        ...methodsOf(native.NativePooledCall).map((name) => [call, name] as const),
        ...methodsOf(native.NativePooledCall).map((name) => [done, name] as const),
        ...['addAccount', 'addSlot'].map((name) => [new native.NativeTrie(), name] as const),
        ...['readHeader', 'keccak256', 'checkProof'].map((name) => [native, name] as const),
        [native.NativeChain, 'attach'],
        [native.NativeView, 'open'],
        [native.NativeView, 'openPreconfirmed'],
      ];
      const [target, name] = targets[method % targets.length] ?? [native, 'readHeader'];
      // What is executed has to get past its other arguments, mostly.
      const limits = [1_000, new native.NativeCancel()];
      const isExecuted = EXECUTED.has(name) && args.length % 4 !== 0;
      if (await attempt(target, name, isExecuted ? [args[0], ...limits] : args)) refused++;
    };
    const args = fc.array(nonsense(), { maxLength: 7 });
    await fc.assert(fc.asyncProperty(fc.nat(100_000), args, run), { seed, numRuns: 4_000 });
    expect(refused).toBeGreaterThan(2_000);
    // A chain that was given nonsense can still begin again.
    chain = newChain();
    const cancel = new native.NativeCancel();
    const { missing } = await chain.execute(outcomes[1]?.block ?? new Uint8Array(), 10_000, cancel);
    expect(missing).toBeDefined();
    expect(view.nonce(`0x${'7'.repeat(40)}`)).toBe(answer);
  });

  it('refuses what is asked of a state that was given back', () => {
    const chain = newChain();
    const view = native.NativeView.open(chain, outcomes[3]?.header ?? new Uint8Array());
    const lacking = view.storage(emitter, zeroSlot).slice(1);
    const value = Buffer.from([1, 0, 0, 0, 7]);
    view.release();
    view.release();
    for (const ask of [
      () => view.nonce(emitter),
      () => view.number,
      () => view.header(),
      () => view.provide(lacking, value),
      () => view.call(undefined, emitter, '0xffff', undefined, undefined, 100),
      () => view.holdLoaded(),
      () => new native.NativePooledCall(undefined, emitter, '0xffff', undefined, undefined).run(view, 5, ''),
    ]) {
      expect(ask).toThrow(coded('unavailable', /^the state was given back$/));
    }
  });

  it('refuses a chain without rules, or with options that are none', () => {
    for (const spec of ['', 'no such chain', '{"chainId":-1}', '[1]', '{"chainId":1,"londonBlock":"x"}']) {
      expect(() => native.NativeChain.create(spec, roomyOptions)).toThrow(
        coded('malformed', /^(chain config|no chain)/),
      );
    }
    for (const options of [undefined, null, 1, {}, { window: 'x' }]) {
      expect(() => native.NativeChain.create(config, options as never)).toThrow(/convert|Missing field/);
    }
    expect(() => Reflect.construct(native.NativeChain, [])).toThrow(/no `constructor`/);
    expect(() => Reflect.construct(native.NativeView, [])).toThrow(/no `constructor`/);
    expect(() => native.NativeChain.attach(4_000_000_000)).toThrow(/there is no chain/);
  });

  it('refuses objects of another class', () => {
    const commitment = new native.NativeTrie();
    const chain = newChain();
    const header = outcomes[0]?.header ?? new Uint8Array();
    expect(() => native.NativeView.open(commitment as never, header)).toThrow(/not an instance/);
    expect(() => chain.setCommitment(chain as never)).toThrow(/not an instance/);
    const call = new native.NativePooledCall(undefined, undefined, '0x1', undefined, undefined);
    expect(() => call.run(commitment as never, 1, '')).toThrow(/not an instance/);
  });

  it('refuses genesis files that are none', () => {
    const chain = newChain();
    const parsed = JSON.parse(genesis) as Record<string, unknown>;
    const wrong = [
      '',
      'null',
      JSON.stringify({ ...parsed, alloc: { '0x12': {} } }),
      JSON.stringify({ ...parsed, alloc: 7 }),
      JSON.stringify({ ...parsed, gasLimit: 'much' }),
      genesis.slice(0, -3),
    ];
    for (const text of wrong)
      expect(() => chain.startAtGenesis(text)).toThrow(coded('malformed', /^genesis file/));
  });

  it('names what is wrong with what a node says', () => {
    const chain = newChain();
    const { block } = outcomes[1] ?? { block: new Uint8Array() };
    expect(() => chain.blockFromJson('{}')).toThrow(coded('malformed', /^block/));
    expect(() => chain.outcomeFromJson(block, '{}')).toThrow(coded('malformed', /^receipts/));
    expect(() => chain.outcomeFromJson(block, '[]')).toThrow(coded('invalid-block', /^receipts: /));
    const none = { nonce: '0x0', balance: '0x0', accountProof: [], storageProof: [] };
    const proof = JSON.stringify({ ...none, codeHash: hashOf(0), storageHash: hashOf(0) });
    expect(() => native.checkProof(hashOf(1), `0x${'1'.repeat(40)}`, [], proof)).toThrow(
      coded('invalid-proof'),
    );
    expect(() => native.checkProof('0x1', '0x', [], proof)).toThrow(coded('malformed'));
  });

  it('proves that an empty state has no account', () => {
    const root = `0x${native.keccak256(Uint8Array.of(0x80)).toString('hex')}`;
    const slot = { key: '0x0', value: '0x0', proof: [] };
    const none = { nonce: '0x0', balance: '0x0', accountProof: [], storageProof: [slot] };
    const proof = JSON.stringify({ ...none, codeHash: hashOf(0), storageHash: hashOf(0) });
    const values = native.checkProof(root, `0x${'1'.repeat(40)}`, [hashOf(0)], proof);
    expect(values.map((value) => value.length)).toEqual([0, 0]);
  });

  it('executes damaged blocks to an error that says so', async () => {
    const { block } = outcomes[1] ?? { block: new Uint8Array() };
    await fc.assert(
      fc.asyncProperty(damaged(block), async (bytes) => {
        const chain = newChain();
        const same = Buffer.compare(bytes, block) === 0;
        try {
          const { missing } = await chain.execute(bytes, 10_000, new native.NativeCancel());
          // The body was sound; what it gives is compared with the header once nothing is missing.
          expect(same || missing !== undefined).toBe(true);
        } catch (error) {
          expect((error as { code?: unknown }).code).toMatch(/^(?:malformed|invalid-block|unsupported)$/);
        }
      }),
      { seed, numRuns: 200 },
    );
  });

  it('writes outcomes that decode, and whose damage is a CodecError or a value', () => {
    const whole = newChain().startAtGenesis(genesis);
    expect(decodeOutcome(whole).hash).toBe(outcomes[0]?.hash);
    fc.assert(
      fc.property(damaged(whole), (bytes) => {
        try {
          decodeOutcome(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError);
        }
      }),
      { seed, numRuns: 500 },
    );
  });
});

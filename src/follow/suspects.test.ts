import { expect, it } from 'vitest';
import type { StateKey } from '../chain/state-key.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import { SourceError } from '../source/errors.ts';
import type { UpstreamStatus } from '../source/interface.ts';
import type { ReadBlock } from './blocks/reader.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import { FalseCopyError } from './errors.ts';
import { BlockReads } from './state/block-reads.ts';
import { Suspects } from './suspects.ts';

const key: StateKey = { kind: 'slot', address: new Uint8Array(20), slot: new Uint8Array(32) };
const bytes = (value: number): Uint8Array => new Uint8Array(32).fill(value);
const TRUTH = 7;
const LIE = 8;
const at = { number: 4, hash: `0x${'4'.repeat(64)}` } as const;
const block: ReadBlock = {
  ...{ number: 5, hash: `0x${'5'.repeat(64)}`, parentHash: at.hash, timestamp: 5 },
  ...{ rlp: new Uint8Array(), upstream: 'a' },
};
const error = new InvalidBlockError('gas used');

/** `words` is what each upstream says when it is asked without a proof. */
function suspectsOf(
  upstreams: readonly string[],
  isProven: boolean,
  words: Readonly<Record<string, number>> = {},
) {
  const reported: string[] = [];
  const suspects = new Suspects({
    source: {
      report: (upstream) => void reported.push(upstream),
      state: async (keys, _, options) => {
        const upstream = options?.prefer ?? '';
        const word = words[upstream];
        if (word === undefined) throw new SourceError({ code: 'unsupported' }, 'it has no state');
        return keys.map(() => ({ kind: 'slot', value: bytes(word), upstream }));
      },
      status: () => upstreams.map((name) => ({ name, outForMs: 0, otherChain: undefined }) as UpstreamStatus),
    },
    prove: async (keys) => {
      if (!isProven) throw new SourceError({ code: 'unsupported' }, 'no upstream offers eth_getProof');
      return keys.map(() => ({ value: bytes(TRUTH), upstream: 'a' }));
    },
  });
  /** The block is executed on what an upstream says, or on what is held here. */
  const reads = (value: number, isHeld = false): BlockReads => {
    const prefer = suspects.preferFor(block);
    const executed = new BlockReads(prefer);
    if (isHeld) executed.held.set('held', { key, value: bytes(value) });
    else executed.add([key], [{ value: bytes(value), upstream: prefer }]);
    return executed;
  };
  const fail = (value: number, isHeld = false): Promise<Error> =>
    suspects.judge(block, reads(value, isHeld), error, at);
  return { suspects, reported, reads, fail };
}

it('bans who is proven to have told false state', async () => {
  const { fail, reported } = suspectsOf(['a', 'b'], true);
  expect(await fail(LIE)).toBe(error);
  expect(reported).toEqual([]);
  expect(await fail(LIE)).toBe(error);
  expect(reported).toEqual(['a']);
});

it('bans nobody for a block that does not verify on state that is proven (B16)', async () => {
  const { fail, reported } = suspectsOf(['a', 'b'], true);
  expect(await fail(TRUTH)).toBe(error);
  expect(await fail(TRUTH)).toBeInstanceOf(RefusedBlockError);
  expect(await fail(TRUTH)).toMatchObject({ block: { number: 5 }, upstream: 'a', reason: 'gas used' });
  expect(reported).toEqual([]);
});

it('without proofs, asks another one, and bans who said something else than what the block verifies on', async () => {
  const { suspects, fail, reads, reported } = suspectsOf(['a', 'b'], false);
  expect(await fail(LIE)).toBe(error);
  expect(suspects.preferFor(block)).toBe('a');
  expect(await fail(LIE)).toBe(error);
  expect(suspects.preferFor(block)).toBe('b');
  suspects.verified(block, reads(TRUTH));
  expect(reported).toEqual(['a']);
  expect(suspects.preferFor(block)).toBe('a');
});

it('without proofs, bans nobody for a block that verifies on nobody’s word (B16)', async () => {
  const { fail, reported } = suspectsOf(['a', 'b'], false);
  expect([await fail(TRUTH), await fail(TRUTH)]).toEqual([error, error]);
  expect(await fail(TRUTH)).toBeInstanceOf(RefusedBlockError);
  expect(reported).toEqual([]);
});

it('does not wait for a second try of the same block, when each one is another', async () => {
  const { suspects, reads } = suspectsOf(['a'], true);
  const other = { ...block, hash: `0x${'6'.repeat(64)}` } as const;
  expect(await suspects.judge(block, reads(TRUTH), error, at)).toBe(error);
  expect(await suspects.judge(other, reads(TRUTH), error, at)).toBeInstanceOf(RefusedBlockError);
});

it('finds out that what is held here is false', async () => {
  const { fail } = suspectsOf(['a'], true);
  expect(await fail(LIE, true)).toBe(error);
  await expect(fail(LIE, true)).rejects.toThrow(FalseCopyError);
});

it('without proofs, takes the word of all upstreams that what is held here is false', async () => {
  const { fail } = suspectsOf(['a', 'b'], false, { a: TRUTH, b: TRUTH });
  expect(await fail(LIE, true)).toBe(error);
  await expect(fail(LIE, true)).rejects.toThrow('is not what all upstreams say now');
});

it.each([
  ['who say what is held', { a: TRUTH }],
  ['who contradict each other', { a: LIE, b: TRUTH }],
  ['of whom one cannot tell', { a: LIE }],
])('without proofs, does not begin anew by upstreams %s', async (_, words: Record<string, number>) => {
  const { fail } = suspectsOf(words['a'] === TRUTH ? ['a'] : ['a', 'b'], false, words);
  expect(await fail(TRUTH, true)).toBe(error);
  expect(await fail(TRUTH, true)).toBeInstanceOf(RefusedBlockError);
});

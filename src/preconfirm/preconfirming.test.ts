import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { nativeError } from '../../test/support/native-error.ts';
import { hashOf, makeFlashblock } from '../../test/support/source/flashblocks.ts';
import type { BlockRef } from '../chain/outcome.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import type { BlockLoader } from '../executor/executions.ts';
import type { ExecutedFlashblock } from '../executor/interface.ts';
import type { FeedItem } from '../feed/interface.ts';
import { StateUnavailableError } from '../primitives/errors.ts';
import type { FlashblockEvent } from '../source/flashblocks/events.ts';
import type { PreconfirmingEvent } from './events.ts';
import { Accuracy } from './metrics.ts';
import { Preconfirming } from './preconfirming.ts';

const executed: ExecutedFlashblock = {
  outcome: new Uint8Array([1]),
  version: 7,
  index: 0,
  firstTransaction: 0,
  firstLog: 0,
};

const next = (number: number, index: number, attempt = ''): FlashblockEvent => ({
  kind: 'flashblock',
  flashblock: makeFlashblock({ number, index, attempt }),
  stream: 'one',
});

type Execute = (text: string, load: BlockLoader) => Promise<ExecutedFlashblock>;

interface World {
  readonly load?: () => Promise<never>;
  /** Payloads that the executor has; all by default. */
  readonly standing?: readonly string[];
  /** The block that was sealed with other contents. */
  readonly sealedOtherwise?: number;
  /** From when on rules are not known. */
  readonly stopTime?: number;
}

/** Runs through some events, or heads where there is a number; what a flashblock does when it is executed is up to the test. */
async function run(
  events: readonly (FlashblockEvent | number)[],
  execute: Execute,
  { load, standing = [], sealedOtherwise, stopTime }: World = {},
) {
  const registry = new Registry();
  const published: FeedItem[] = [];
  const observed: PreconfirmingEvent[] = [];
  const refused: string[] = [];
  const setHead = vi.fn<(head: BlockRef, lost?: readonly string[]) => void>();
  const dropPreconfirmed = vi.fn<() => number>(() => 3);
  const accept = vi.fn<() => void>();
  const accuracy = new Accuracy(registry);
  const preconfirming: Preconfirming = new Preconfirming(
    { preconfirmedTimeoutMs: 20 },
    {
      executor: {
        executeFlashblock: execute,
        dropPreconfirmed,
        preconfirmedPayloads: () => standing,
        sealedOtherwise,
      },
      source: {
        events: async function* () {
          for (const event of events) {
            if (typeof event === 'number') preconfirming.setHead({ number: event, hash: hashOf('head') });
            else yield event;
          }
        },
        setHead,
        refuse: (payloadId) => refused.push(payloadId),
      },
      state: { loadFor: load ?? (async () => []), accept },
      publish: async (item) => {
        published.push(item);
      },
      observe: (event) => observed.push(event),
      accuracy,
      stop: () => (stopTime === undefined ? undefined : { time: stopTime, reason: 'a fork is not known' }),
    },
  );
  const done = preconfirming.run(new AbortController().signal);
  await done.catch(() => {});
  return {
    ...{ setHead, preconfirming, registry },
    published,
    observed,
    refused,
    dropPreconfirmed,
    accept,
    done,
    ageMs: preconfirming.ageMs,
  };
}

it('tells of each flashblock once it is executed, and trusts what it was executed on', async () => {
  const texts: string[] = [];
  const result = await run([next(2, 0), next(2, 1)], async (text) => {
    texts.push(text);
    return { ...executed, index: texts.length - 1 };
  });
  expect(texts.map((text) => (JSON.parse(text) as { index: number }).index)).toEqual([0, 1]);
  expect(result.published).toMatchObject([
    { kind: 'preconfirmed', index: 0, version: 7 },
    { kind: 'preconfirmed', index: 1 },
  ]);
  expect(result.accept).toHaveBeenCalledTimes(2);
  expect(result.ageMs).toBeLessThan(60_000);
});

it('begins no block of a fork that is not known (B16)', async () => {
  const numbers: number[] = [];
  const events = [next(2, 0), next(3, 0), next(3, 1)];
  const result = await run(
    events,
    async (text) => {
      numbers.push((JSON.parse(text) as { metadata: { block_number: number } }).metadata.block_number);
      return executed;
    },
    { stopTime: 1_700_000_006, standing: [makeFlashblock({ number: 2, index: 0, attempt: '' }).payloadId] },
  );
  expect(numbers).toEqual([2]);
  expect(result.refused).toHaveLength(1);
  expect(result.observed.at(-1)).toMatchObject({
    kind: 'refused',
    number: 3,
    error: { message: 'a fork is not known' },
  });
});

it('refuses a block whose flashblock is false, trusts nothing it was told for it, and goes on with the next', async () => {
  const { payloadId } = makeFlashblock({ number: 2, index: 0 });
  const result = await run(
    [next(2, 0), next(2, 1), next(2, 2), next(2, 0, 'again')],
    async (text) => {
      if (text.includes('"index":1')) throw new InvalidBlockError('gas used');
      return executed;
    },
    { standing: [payloadId] },
  );
  expect(result.refused).toEqual([makeFlashblock({ number: 2, index: 1 }).payloadId]);
  expect(result.published.map(({ kind }) => kind)).toEqual(['preconfirmed', 'preconfirmed']);
  expect(result.accept).toHaveBeenCalledTimes(2);
  expect(result.observed[1]).toMatchObject({ kind: 'refused', number: 2, index: 1 });
});

it('gives up a flashblock whose state cannot be had in time, and never runs it later', async () => {
  let runs = 0;
  const result = await run(
    [next(2, 0)],
    async (_text, load) => {
      runs++;
      await load([], 1);
      runs++;
      return executed;
    },
    { load: () => new Promise(() => {}) },
  );
  expect(runs).toBe(1);
  expect(result.refused).toHaveLength(1);
  expect(result.observed).toMatchObject([{ kind: 'refused', error: expect.any(StateUnavailableError) }]);
});

it('measures each source by what it told last of a block', async () => {
  const told = (number: number, stream: string): FlashblockEvent => ({ ...next(number, 0), stream }) as never;
  const { preconfirming, registry } = await run([told(2, 'one'), told(3, 'other')], async () => executed);
  preconfirming.count(2, { kept: 3, preconfirmed: 3, sealed: 3 });
  preconfirming.count(3, { kept: 1, preconfirmed: 4, sealed: 4 });
  preconfirming.count(9, { kept: 1, preconfirmed: 1, sealed: 1 });
  const metrics = await registry.metrics();
  const accuracies = metrics.match(/^chain_query_preconfirmation_accuracy.*$/gm);
  expect(accuracies).toEqual([
    'chain_query_preconfirmation_accuracy{source="one"} 1',
    'chain_query_preconfirmation_accuracy{source="other"} 0.25',
    'chain_query_preconfirmation_accuracy{source="unknown"} 1',
  ]);
});

it('takes back what is dropped, and says what is left', async () => {
  const result = await run([{ kind: 'dropped', reason: 'gap', from: 2 }], async () => executed);
  expect(result.dropPreconfirmed).toHaveBeenCalledWith(2);
  expect(result.published).toEqual([{ kind: 'dropped', reason: 'gap', from: 2, version: 3 }]);
});

it('ends where flashblocks can never be executed, instead of blaming each of them', async () => {
  const result = await run([next(2, 0)], async () => {
    throw nativeError('unsupported', 'flashblocks are supported on the OP stack only');
  });
  await expect(result.done).rejects.toThrow('OP stack only');
});

it('says which blocks went because the head has other contents, and executes them again once they are dropped (B6)', async () => {
  const executedIndexes: string[] = [];
  const { payloadId } = makeFlashblock({ number: 3, index: 0 });
  const result = await run(
    [
      ...[next(2, 0), next(3, 0), 2],
      // Passed on before that was known: of no use.
      next(3, 1),
      { kind: 'dropped', reason: 'sealedOtherwise', from: 3 },
      ...[next(3, 0), next(3, 1)],
    ],
    async (text) => {
      const { index, metadata } = JSON.parse(text) as { index: number; metadata: { block_number: number } };
      executedIndexes.push(`${metadata.block_number}:${index}`);
      return executed;
    },
    { sealedOtherwise: 2 },
  );
  const below = makeFlashblock({ number: 2, index: 0 }).payloadId;
  expect(result.setHead.mock.calls).toEqual([[{ number: 2, hash: hashOf('head') }, [below, payloadId]]]);
  expect(executedIndexes).toEqual(['2:0', '3:0', '3:0', '3:1']);
  expect(result.refused).toEqual([]);
});

it('has nothing to say of blocks that still stand, and of those that were never executed', async () => {
  const standing = [makeFlashblock({ number: 3, index: 0 }).payloadId];
  const result = await run([next(2, 0), next(3, 0), 2, next(4, 0)], async () => executed, { standing });
  expect(result.setHead.mock.calls).toEqual([[{ number: 2, hash: hashOf('head') }, []]]);
});

it('never lets a block be put on contents that were not sealed (B6)', async () => {
  const result = await run([next(2, 0), next(3, 0), next(3, 1)], async () => executed, {
    sealedOtherwise: 2,
  });
  expect(result.published.map((item) => ('from' in item ? `dropped ${item.from}` : item.kind))).toEqual([
    ...['preconfirmed', 'dropped 2', 'preconfirmed', 'preconfirmed'],
  ]);
});

it('refuses nobody for what the head took away before the source heard of it', async () => {
  const result = await run([next(2, 0), next(2, 1), next(3, 0), next(3, 1), 2], async (text) => {
    if (text.includes('"index":1') || text.includes('"block_number":3')) {
      throw new InvalidBlockError('the first of its block is not there');
    }
    return executed;
  });
  expect(result.refused).toEqual([]);
  expect(result.observed.map(({ kind }) => kind)).toEqual(['executed']);
  expect(result.setHead).toHaveBeenCalledTimes(1);
});

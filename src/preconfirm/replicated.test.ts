import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { nativeError } from '../../test/support/native-error.ts';
import { hashOf } from '../../test/support/source/flashblocks.ts';
import { CodecError } from '../chain/byte-codec.ts';
import { InvalidBlockError } from '../executor/errors.ts';
import type { ToldFlashblock } from '../executor/interface.ts';
import type { FeedItem } from '../feed/interface.ts';
import { fromHex, type Hex, ZERO_HASH } from '../primitives/hex.ts';
import { createLogger } from '../telemetry/logger.ts';
import type { ReplicatedEvent } from './events.ts';
import { openReplicatedPreconfirming } from './open.ts';
import { ReplicatedPreconfirming } from './replicated.ts';

type Told = Extract<FeedItem, { kind: 'preconfirmed' }>;

/** The first fields of an outcome. */
function outcomeOf(number: number, hash: Hex, parentHash: Hex): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(number));
  return Buffer.concat([bytes, fromHex(hash), fromHex(parentHash)]);
}

const sealed = (number: number): Hex => hashOf(`sealed ${number}`);

interface Made {
  readonly payload?: string;
  readonly parent?: Hex;
  readonly hash?: Hex;
}

/** A flashblock of block `number`, on the sealed block below unless another parent is named. */
function flashblock(number: number, index: number, made: Made = {}): Told {
  const { payload = `p${number}`, parent = sealed(number - 1), hash = sealed(number) } = made;
  return {
    ...{ kind: 'preconfirmed', version: 900 + index, payloadId: payload, index },
    ...{ firstTransaction: index, firstLog: index, outcome: outcomeOf(number, hash, parent) },
  };
}

function confirmed(number: number, removed: FeedItem & { kind: 'confirmed' } = NOTHING): FeedItem {
  return { ...removed, added: [{ number, hash: sealed(number), outcome: new Uint8Array() }] };
}
const NOTHING = { kind: 'confirmed', removed: [], added: [] } as const;

/** A core that goes by numbers, parents and payloads, as the real one does. */
class FakeCore {
  head = { number: 1, hash: sealed(1) };
  blocks: { readonly number: number; readonly payloadId: string; hash: string; index: number }[] = [];
  version = 0;
  sealedOtherwise: number | undefined;
  isLost = false;
  /** What is thrown next. */
  error: Error | undefined;

  applyFlashblock({ outcome, payloadId, index }: ToldFlashblock): number {
    if (this.error !== undefined) throw this.error;
    const bytes = Buffer.from(outcome);
    const number = Number(bytes.readBigUInt64LE());
    const [hash, parent] = [bytes.toString('hex', 8, 40), `0x${bytes.toString('hex', 40, 72)}`];
    const top = this.blocks.at(-1);
    if (index === 0) {
      const below = this.blocks.filter((block) => block.number < number);
      const on = below.at(-1) ?? this.head;
      if (on.number !== number - 1 || (on.hash !== ZERO_HASH && on.hash !== parent))
        throw new InvalidBlockError('it does not follow');
      this.blocks = [...below, { number, payloadId, hash: `0x${hash}`, index }];
    } else if (top?.payloadId === payloadId && top.index === index - 1) {
      [top.index, top.hash] = [index, `0x${hash}`];
    } else {
      throw new InvalidBlockError('it does not follow');
    }
    return ++this.version;
  }

  dropPreconfirmed(from: number): number | undefined {
    this.blocks = this.blocks.filter(({ number }) => number < from);
    this.version += 1;
    return this.blocks.length === 0 ? undefined : this.version;
  }

  preconfirmedPayloads(): readonly string[] {
    return this.blocks.map(({ payloadId }) => payloadId);
  }

  takeLostPreconfirmed(): boolean {
    const { isLost } = this;
    this.isLost = false;
    return isLost;
  }

  /** A block is sealed as it was pre-confirmed. */
  seal(number: number): void {
    this.head = { number, hash: sealed(number) };
    this.blocks = this.blocks.filter((block) => block.number > number);
  }
}

function begin(options = { heldBlocks: 2, heldFlashblocks: 4 }) {
  const core = new FakeCore();
  const published: string[] = [];
  const events: ReplicatedEvent[] = [];
  const replicated = new ReplicatedPreconfirming(options, {
    executor: core,
    publish: async (item) => {
      if (item.kind === 'preconfirmed') published.push(`${item.payloadId}:${item.index} v${item.version}`);
      else if (item.kind === 'dropped')
        published.push(`dropped ${item.from} ${item.reason} v${item.version}`);
    },
    observe: (event) => events.push(event),
  });
  replicated.take(confirmed(1));
  replicated.setHead(core.head);
  const seal = (number: number): void => {
    core.seal(number);
    replicated.setHead(core.head);
  };
  return { core, published, events, replicated, seal };
}

it('applies what follows, and tells threads its own versions', () => {
  const { replicated, published, core } = begin();
  expect(replicated.ageMs).toBeUndefined();
  for (const index of [0, 1, 2]) replicated.take(flashblock(2, index));
  replicated.take(flashblock(3, 0));
  expect(published).toEqual(['p2:0 v1', 'p2:1 v2', 'p2:2 v3', 'p3:0 v4']);
  expect(replicated.ageMs).toBeLessThan(60_000);
  replicated.take({ kind: 'dropped', from: 3, reason: 'gap', version: 77 });
  expect(published.at(-1)).toBe('dropped 3 gap v5');
  expect(core.preconfirmedPayloads()).toEqual(['p2']);
  replicated.take({ kind: 'marked' });
  replicated.take({ kind: 'anchored' });
  expect(published.at(-1)).toBe('dropped 0 anchored vundefined');
});

it('starts a block over, and stays silent about what is left of one that is lost', () => {
  const { replicated, published, events } = begin();
  replicated.take(flashblock(2, 0));
  replicated.take(flashblock(2, 0, { payload: 'again' }));
  replicated.lost('gap');
  replicated.lost('gap');
  for (const index of [1, 2]) replicated.take(flashblock(2, index, { payload: 'again' }));
  expect(published).toEqual(['p2:0 v1', 'again:0 v2', 'dropped 0 gap vundefined']);
  expect(events.at(-1)).toEqual({ kind: 'dropped', reason: 'gap' });
  // What is confirmed now, it has to hear first: it may have been lost with the rest.
  replicated.take(flashblock(2, 0, { payload: 'third' }));
  expect(published).toHaveLength(3);
  replicated.take(confirmed(1));
  expect(published.at(-1)).toBe('third:0 v4');
});

it('drops everything when something does not fit', () => {
  for (const wrong of [
    flashblock(2, 2),
    flashblock(2, 1, { payload: 'other' }),
    { ...flashblock(2, 1), outcome: new Uint8Array(9) },
  ]) {
    const { replicated, published, events } = begin();
    replicated.take(flashblock(2, 0));
    replicated.take(wrong);
    expect(published).toEqual(['p2:0 v1', 'dropped 0 refused vundefined']);
    expect(events).toMatchObject([{ kind: 'applied' }, { kind: 'refused' }, { kind: 'dropped' }]);
  }
});

it('drops everything for bytes that are none, also where a block begins', () => {
  const { replicated, published, core, events } = begin();
  replicated.take(flashblock(2, 0));
  core.error = new CodecError('it ends early');
  replicated.take(flashblock(3, 0));
  expect(published.at(-1)).toBe('dropped 0 refused vundefined');
  core.error = nativeError('unsupported', 'flashblocks are supported on the OP stack only');
  replicated.take(confirmed(1));
  replicated.take(flashblock(2, 0));
  expect(events.at(-1)).toMatchObject({ kind: 'refused', error: core.error });
});

it('holds what is ahead of the head until the block below is here', () => {
  const { replicated, published, seal } = begin();
  replicated.take(flashblock(2, 0));
  replicated.take(confirmed(2));
  replicated.take(confirmed(3));
  replicated.take(flashblock(4, 0));
  replicated.take(flashblock(4, 1));
  replicated.take(flashblock(5, 0));
  expect([replicated.heldFlashblocks, published.length]).toEqual([3, 1]);
  seal(2);
  expect(published).toHaveLength(1);
  seal(3);
  expect(published.slice(1)).toEqual(['p4:0 v2', 'p4:1 v3', 'p5:0 v4']);
  replicated.take(flashblock(5, 1));
  expect(published.at(-1)).toBe('p5:1 v5');
  expect(replicated.heldFlashblocks).toBe(0);
});

it('waits until who executed a block knows its parent as sealed (B6)', () => {
  const { replicated, published, seal } = begin();
  // The store was faster than the feed. Without a hash, the block may stand on other contents there.
  seal(2);
  replicated.take(flashblock(3, 0, { hash: ZERO_HASH }));
  replicated.take(flashblock(3, 1, { hash: ZERO_HASH }));
  expect(published).toEqual([]);
  replicated.take({ kind: 'dropped', from: 3, reason: 'sealedOtherwise', version: undefined });
  replicated.take(confirmed(2));
  expect(published).toEqual(['dropped 3 sealedOtherwise vundefined']);
  replicated.take(flashblock(3, 0, { payload: 'again' }));
  expect(published.at(-1)).toBe('again:0 v2');
});

it('holds no more than it may, and the newest', () => {
  const { replicated, published, seal } = begin();
  for (const number of [4, 5, 6]) replicated.take(flashblock(number, 0));
  expect(replicated.heldFlashblocks).toBe(2);
  for (const index of [1, 2, 3]) replicated.take(flashblock(6, index));
  expect(replicated.heldFlashblocks).toBe(4);
  replicated.take(confirmed(5));
  for (const number of [2, 3, 4, 5]) seal(number);
  expect(published).toEqual([0, 1, 2, 3].map((index) => `p6:${index} v${index + 1}`));
  replicated.take(flashblock(9, 0));
  for (const index of [1, 2, 3, 4, 5]) replicated.take(flashblock(9, index));
  expect(replicated.heldFlashblocks).toBe(0);
});

it('forgets what waits when it is dropped, built again or passed by', () => {
  const { replicated, published, seal } = begin();
  replicated.take(flashblock(4, 0));
  replicated.take(flashblock(5, 0));
  replicated.take({ kind: 'dropped', from: 5, reason: 'gap', version: undefined });
  expect(replicated.heldFlashblocks).toBe(1);
  replicated.take(flashblock(4, 0, { payload: 'again' }));
  expect(replicated.heldFlashblocks).toBe(1);
  replicated.take(confirmed(4));
  expect(replicated.heldFlashblocks).toBe(0);
  seal(4);
  expect(published).toEqual(['dropped 5 gap vundefined']);
  replicated.take(flashblock(7, 0));
  replicated.take(flashblock(7, 2));
  expect(replicated.heldFlashblocks).toBe(0);
});

it('has a wrong block below dropped, and goes by what others executed', () => {
  const { replicated, published, seal } = begin();
  replicated.take(flashblock(2, 0, { hash: hashOf('so far') }));
  replicated.take(flashblock(3, 0));
  expect(published).toEqual(['p2:0 v1', 'dropped 0 parent vundefined']);
  replicated.take(confirmed(2));
  seal(2);
  expect(published.at(-1)).toBe('p3:0 v3');
});

it('tells threads what went because the head has other contents, before they hear of the head (B6)', () => {
  const { replicated, published, core, seal } = begin();
  replicated.take(flashblock(2, 0, { hash: ZERO_HASH }));
  replicated.take(flashblock(3, 0));
  core.blocks = [];
  [core.isLost, core.sealedOtherwise] = [true, 2];
  seal(2);
  expect(published.at(-1)).toBe('dropped 3 sealedOtherwise vundefined');
  replicated.take(confirmed(2));
  replicated.take(flashblock(3, 0, { payload: 'again' }));
  expect(published.slice(-2)).toEqual(['dropped 2 sealedOtherwise vundefined', 'again:0 v3']);
});

it('counts what happens, and how old its state is', async () => {
  const [registry, executor] = [new Registry(), new FakeCore()];
  const logger = createLogger('silent');
  const publish = async (): Promise<void> => {};
  const replicated = openReplicatedPreconfirming({ executor, publish, registry, logger });
  replicated.take(confirmed(1));
  for (const item of [flashblock(2, 0), flashblock(2, 1), flashblock(4, 0), flashblock(2, 7)])
    replicated.take(item);
  const metrics = await registry.metrics();
  for (const line of [
    'flashblocks_applied_total 2',
    'flashblocks_held_total 1',
    'flashblocks_refused_total 1',
    'preconfirmed_dropped_total{reason="refused"} 1',
    'preconfirmed_age_seconds 0',
  ])
    expect(metrics).toContain(`chain_query_${line}`);
});

import { Registry } from 'prom-client';
import { toHex, toRlp } from 'viem';
import { expect, it } from 'vitest';
import { InvalidBlockError } from '../executor/errors.ts';
import { fromHex } from '../primitives/hex.ts';
import { createLogger } from '../telemetry/logger.ts';
import { RefusedBlockError } from './blocks/refused-block.ts';
import { FollowTelemetry, measureTip } from './metrics.ts';

const BLOCK = { number: 7, hash: `0x${'11'.repeat(32)}` } as const;

function telemetry() {
  const registry = new Registry();
  const followed = new FollowTelemetry(registry, createLogger('silent'));
  const valuesOf = async (name: string): Promise<Record<string, number>> => {
    const metric = await registry.getSingleMetric(`chain_query_${name}`)?.get();
    return Object.fromEntries(
      metric?.values.map(({ labels, value }) => [Object.values(labels).join(), value]) ?? [],
    );
  };
  return { followed, valuesOf };
}

it('counts blocks that do not verify by what is otherwise, and no other trouble', async () => {
  const { followed, valuesOf } = telemetry();
  const says = (what: string): string => `block 7 0x11: its header says ${what} 0x1, its contents give 0x2`;
  for (const error of [
    new InvalidBlockError(says('state root')),
    new InvalidBlockError(says('receipts root')),
    new RefusedBlockError(BLOCK, 'node.example', says('blob gas used')),
    new RefusedBlockError(BLOCK, 'node.example', 'block 7 0x11: transaction 3 has no valid signature'),
    new InvalidBlockError('nobody knows'),
    new Error('the state root cannot be had'),
  ]) {
    followed.observeFollowing({ kind: 'trouble', error, retryMs: 0 });
  }
  const refused = await valuesOf('blocks_refused_total');
  expect(refused).toMatchObject({ 'state root': 1, receipts: 1, gas: 1, transaction: 1, other: 1, bloom: 0 });
  expect(Object.values(refused).reduce((sum, count) => sum + count)).toBe(5);
});

it('counts lies by upstream and part, from zero as soon as an upstream is asked', async () => {
  const { followed, valuesOf } = telemetry();
  followed.observeSource({ kind: 'exchange', upstream: 'node.example', calls: 1, outcome: 'ok', ms: 1 });
  expect(await valuesOf('upstream_lies_total')).toMatchObject({ 'node.example,receipts': 0 });
  followed.observeSource({
    ...{
      kind: 'banned',
      upstream: 'node.example',
      item: BLOCK.hash,
      what: 'receipts: no root',
      lies: 1,
      ms: 1,
    },
  });
  expect(await valuesOf('upstream_lies_total')).toMatchObject({
    'node.example,receipts': 1,
    'node.example,header': 0,
  });
});

it('measures how old the head is, and nothing without one', async () => {
  const registry = new Registry();
  const time = Math.floor(Date.now() / 1_000) - 100;
  // Of a header, eleven fields come before its time.
  const header = fromHex(toRlp([...Array.from({ length: 11 }, () => '0x01' as const), toHex(time)]));
  const marks = { lowest: BLOCK, anchor: BLOCK, head: BLOCK, safe: undefined, finalized: undefined };
  let known: typeof marks | undefined;
  measureTip(registry, { marks: () => known, header: () => header });
  expect(await registry.metrics()).not.toMatch(/^chain_query_tip_age_seconds/m);
  known = marks;
  const age = /^chain_query_tip_age_seconds (\S+)$/m.exec(await registry.metrics())?.[1];
  expect(Number(age)).toBeGreaterThanOrEqual(100);
  expect(Number(age)).toBeLessThan(130);
});

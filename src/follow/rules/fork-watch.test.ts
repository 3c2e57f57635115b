import { expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/source/upstreams.ts';
import { ownForkConfig } from '../../rules/own-config.ts';
import type { ChainConfig } from '../../rules/row.ts';
import type { JsonObject } from '../../source/interface.ts';
import { ForkWatch } from './fork-watch.ts';

const config = { chainId: 1, cancunTime: 0, pragueTime: 1_000 };
const HOUR = 3_600_000;
const BLOBS = { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 };

function fork(activationTime: number, more: object = {}): object {
  const { blobSchedule, precompiles, systemContracts } = ownForkConfig(config, 1_000);
  return {
    ...{ activationTime, blobSchedule, forkId: '0xabcdef01' },
    precompiles: Object.fromEntries([...precompiles].map((address) => [address, address])),
    systemContracts: Object.fromEntries(systemContracts),
    ...more,
  };
}

/** Upstreams `a`, which leads, and others, as they answer. */
async function watch(said: Record<string, object | undefined>) {
  const clock = new ManualClock();
  const logged: string[] = [];
  const adopted: ChainConfig[] = [];
  const log = (_: unknown, text: string): void => void logged.push(text);
  const forks = new ForkWatch(
    config,
    { forkCheck: HOUR },
    {
      ...{ clock, leader: () => 'a', logger: { info: log, warn: log } as never },
      source: {
        forkConfigs: async () =>
          Object.entries(said).map(([upstream, value]) => ({
            upstream,
            value: value as JsonObject | undefined,
          })),
      },
      adopt: async (changed) => void adopted.push(changed),
    },
  );
  const { signal } = new AbortController();
  await forks.begin(signal);
  return { forks, clock, logged, adopted, signal };
}

const knows = (activationTime: number, more?: object): object => ({
  current: fork(1_000),
  next: fork(activationTime, more),
  last: fork(activationTime, more),
});
const knowsNone = { current: fork(1_000), next: null, last: null };

it('believes the leader in a fork that nobody denies (B16)', async () => {
  const { forks, logged } = await watch({ a: knows(5_000), b: undefined });
  expect(forks.unknownFork).toMatchObject({ activationTime: 5_000, forkId: '0xabcdef01' });
  expect(forks.warnings).toEqual([
    expect.stringMatching(
      /^a has a fork \(id 0xabcdef01\) at time 5000 \(1970-01-01T01:23:20.000Z\) that is not known here: upgrade/,
    ),
  ]);
  expect(logged).toHaveLength(2);
});

it('only warns of a fork that another upstream denies, or that the leader does not know (B16)', async () => {
  const denied = await watch({ a: knows(5_000), b: knowsNone });
  expect(denied.forks.unknownFork).toBeUndefined();
  expect(denied.forks.warnings).toHaveLength(1);
  const other = await watch({ a: knowsNone, b: knows(5_000) });
  expect(other.forks.unknownFork).toBeUndefined();
  expect(other.forks.warnings).toHaveLength(1);
});

it('says once who does not tell, and takes nonsense for nothing', async () => {
  const { forks, logged, clock, signal } = await watch({ a: undefined, b: { current: 'x' } });
  clock.advance(HOUR);
  await forks.look(signal);
  expect(logged).toHaveLength(2);
  expect(forks.unknownFork).toBeUndefined();
  expect(forks.warnings).toEqual([]);
});

it('adopts a change of blob parameters, and then knows it (B16)', async () => {
  const said = { a: knows(5_000, { blobSchedule: BLOBS }) };
  const { forks, adopted, clock, signal } = await watch(said);
  expect(adopted).toMatchObject([{ bpo1Time: 5_000, blobSchedule: { bpo1: BLOBS } }]);
  expect(forks.unknownFork).toBeUndefined();
  expect(forks.warnings).toEqual([]);
  clock.advance(HOUR);
  await forks.look(signal);
  expect(adopted).toHaveLength(1);
  const denied = await watch({ ...said, b: knowsNone });
  expect(denied.adopted).toEqual([]);
});

it('looks every hour, and what was said counts until something else is', async () => {
  const said: Record<string, object | undefined> = { a: knowsNone };
  const { forks, clock, signal } = await watch(said);
  const stop = new AbortController();
  const running = forks.run(stop.signal);
  said['a'] = knows(5_000);
  for (let left = HOUR; left > 0; left -= 5_000) {
    expect(forks.unknownFork).toBeUndefined();
    clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(forks.unknownFork).toMatchObject({ activationTime: 5_000 });
  delete said['a'];
  clock.advance(HOUR);
  await forks.look(signal);
  expect(forks.unknownFork).toMatchObject({ activationTime: 5_000 });
  stop.abort();
  await running;
});

it('finds a system contract that no state diff tells of (B17)', async () => {
  const known = new Set(ownForkConfig(config, 1_000).systemContracts.values());
  const deposits = { DEPOSIT_CONTRACT_ADDRESS: `0x${'0'.repeat(40)}` };
  const ours = Object.fromEntries(ownForkConfig(config, 1_000).systemContracts);
  const same = await watch({ a: knows(5_000, { systemContracts: { ...ours, ...deposits } }) });
  expect(same.forks.unknownContract(known)).toBeUndefined();
  const address = `0x${'5c'.repeat(20)}`;
  const more = await watch({ a: knows(5_000, { systemContracts: { ...ours, NEW_ADDRESS: address } }) });
  expect(more.forks.unknownContract(known)).toBe(address);
});

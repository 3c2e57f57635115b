import { expect, it } from 'vitest';
import { createMemoryStore } from '../../store/memory/index.ts';
import { keepAdopted, withAdopted } from './adopted-blobs.ts';

const blobSchedule = { target: 20, max: 30, baseFeeUpdateFraction: 20_000_000 };

it('keeps adopted blob parameters with a copy, whatever upstreams say later (B16)', async () => {
  const store = createMemoryStore({ undoWindow: 4 });
  expect(await withAdopted(store, 'ethereum')).toBe('ethereum');
  for (const activationTime of [2_000_000_000, 1_900_000_000, 2_000_000_000])
    await keepAdopted(store, { activationTime, blobSchedule });
  expect(JSON.parse(await withAdopted(store, 'ethereum'))).toMatchObject({
    ...{ chainId: 1, bpo2Time: 1_767_747_671, bpo3Time: 1_900_000_000, bpo4Time: 2_000_000_000 },
    blobSchedule: { bpo3: blobSchedule, bpo4: blobSchedule },
  });
  // What a newer version knows by itself wins.
  const own = { chainId: 1, bpo1Time: 1_900_000_000, blobSchedule: { bpo1: { target: 1 } } };
  expect(JSON.parse(await withAdopted(store, JSON.stringify(own)))).toMatchObject({
    ...{ bpo1Time: 1_900_000_000, bpo2Time: 2_000_000_000 },
    blobSchedule: { bpo1: { target: 1 }, bpo2: blobSchedule },
  });
});

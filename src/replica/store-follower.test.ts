import { expect, it } from 'vitest';
import { makeChain } from '../../test/support/store/contract-chain.ts';
import type { Outcome } from '../chain/outcome.ts';
import type { FeedItem } from '../feed/interface.ts';
import type { Movement } from '../store/cql/catch-up.ts';
import type { CqlReplica } from '../store/cql/replica.ts';
import { StoreError } from '../store/error.ts';
import { createMemoryStore } from '../store/memory/index.ts';
import { StoreFollower } from './store-follower.ts';

/** A store that somebody else writes, whose movements are given; for faults that real servers cannot be made to have at one moment. */
async function follow(chain: readonly Outcome[]) {
  const held = createMemoryStore({ undoWindow: 64 });
  await held.append(chain);
  const movements: Movement[] = [];
  const failing = { headers: 0 };
  const store = {
    marks: () => held.marks(),
    diffBytes: (number: number) => held.diffBytes(number),
    canonicalHash: (number: number) => held.canonicalHash(number),
    async header(ref: Outcome) {
      if (failing.headers-- > 0) throw new StoreError('unavailable', 'no server answers');
      return held.header(ref);
    },
    sync: async () => movements.shift() ?? { removed: [], added: [], isAnew: false },
    position: () => 'here',
  } as unknown as CqlReplica;
  const hot: number[] = [];
  const told: FeedItem['kind'][] = [];
  const follower = new StoreFollower(64, {
    store,
    executor: {
      open: () => hot.splice(0, hot.length, -1),
      apply: () => void hot.push(hot.length),
      revertTo: (number) => void hot.splice(number),
      dropPreconfirmed: () => undefined,
    },
    publish: async (item) => void told.push(item.kind),
    moved: () => {},
  });
  return { held, movements, failing, follower, hot, told };
}

it('takes hot state and threads along, and begins anew where servers stopped answering on the way', async () => {
  const chain = makeChain(undefined, [{}, {}, {}]);
  const { held, movements, failing, follower, hot, told } = await follow(chain);
  await follower.begin();
  expect(hot).toHaveLength(3);
  const next = makeChain(chain.at(-1), [{}]);
  await held.append(next);
  movements.push({ removed: [], added: next, isAnew: false });
  await follower.look();
  expect(hot).toHaveLength(4);
  expect(told).toEqual(['confirmed']);

  // Another copy, whose blocks cannot be read at first: the next look has no movement to tell, and must not leave it at that.
  movements.push({ removed: [], added: [], isAnew: true });
  failing.headers = 1;
  await expect(follower.look()).rejects.toMatchObject({ code: 'unavailable' });
  expect(told).toEqual(['confirmed', 'dropped']);
  await follower.look();
  expect(told).toEqual(['confirmed', 'dropped', 'dropped', 'anchored']);
  expect(hot).toHaveLength(4);
  await follower.look();
  expect(told.at(-1)).toBe('marked');
});

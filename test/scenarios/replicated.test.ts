import { expect, it } from 'vitest';
import type { ExecutedFlashblock } from '../../src/executor/interface.ts';
import { DEFAULT_REPLICATED_OPTIONS, ReplicatedPreconfirming } from '../../src/preconfirm/replicated.ts';
import type { Hex } from '../../src/primitives/hex.ts';
import { MadeChain, type MadePayload, madeTransaction } from '../support/flashblocks/made-chain.ts';
import { Random } from '../support/random.ts';
import { contentsOf, type Seen, Thread, World } from './replicated-world.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 32);
console.log(`TEST_SEED=${seed}`);

const some = (random: Random): Hex[] =>
  Array.from({ length: 1 + random.below(5) }, () => madeTransaction(random));

/** Cut into pieces, of which the first may be empty. */
function cut(random: Random, transactions: readonly Hex[]): Hex[][] {
  const pieces: Hex[][] = [[]];
  for (const transaction of transactions) {
    if (random.chance(0.4)) pieces.push([]);
    pieces.at(-1)?.push(transaction);
  }
  return pieces;
}

/** Tells of a block, or of its beginning. */
async function tell(world: World, payload: MadePayload, transactions: readonly Hex[]): Promise<void> {
  for (const [index, piece] of cut(world.random, transactions).entries()) {
    if (!(await world.execute(payload, index, piece))) {
      world.seen.refused += 1;
      return;
    }
    await world.deliver(0.6);
    if (world.random.chance(0.08)) return;
  }
}

async function round(world: World, isHashed: boolean): Promise<void> {
  const { random, seen, head: parent } = world;
  const transactions = some(random);
  const block = await world.chain.seal(world.maker, world.payload(parent, false), transactions);
  // What is told first: this block, or one that only begins like it.
  const other = random.chance(0.3);
  await tell(
    world,
    world.payload(parent, isHashed),
    other ? [...transactions.slice(0, random.below(3)), ...some(random)] : transactions,
  );
  if (random.chance(0.3)) {
    seen.rebuilt += 1;
    await tell(world, world.payload(parent, isHashed), transactions);
  }
  if (random.chance(0.15)) {
    seen.dropped += 1;
    world.drop(block.number + random.below(2));
    await world.deliver(0.6);
  }
  if (random.chance(0.5)) {
    seen.above += 1;
    await tell(world, world.payload(block, isHashed), some(random));
  }
  const otherwise = world.executing.sealedOtherwise;
  await world.confirm(block);
  seen.otherwise += Number(world.executing.sealedOtherwise !== otherwise);
  await world.deliver(0.8);
  if (random.chance(0.2)) {
    seen.reverted += 1;
    world.revertTo(Math.max(0, world.head.number - 1 - random.below(2)));
    await world.deliver(0.8);
  }
  // It falls behind by a few blocks at most: no more than wait are worth it.
  if (random.chance(0.5)) await world.deliver(1);
}

it('has what the executing process has, whichever of feed and store is ahead', async () => {
  const seen: Seen = {
    ...{ items: 0, compared: 0, shown: 0, rebuilt: 0, dropped: 0, above: 0 },
    ...{ otherwise: 0, reverted: 0, lost: 0, regained: 0, refused: 0, held: 0 },
  };
  for (let run = 0; run < 10; run++) {
    const world = new World(new Random(seed, run), seen);
    for (let at = 0; at < 14; at++) await round(world, run % 2 === 1);
    await world.deliver(1);
  }
  console.log(JSON.stringify(seen));
  expect(seen.items).toBeGreaterThan(400);
  expect(seen.shown).toBeGreaterThan(100);
  expect(seen.compared).toBeGreaterThan(50);
  const rare = [seen.rebuilt, seen.dropped, seen.above, seen.otherwise, seen.reverted, seen.lost];
  for (const count of [...rare, seen.regained, seen.held]) expect(count).toBeGreaterThan(2);
});

function tamper(random: Random, bytes: Uint8Array): Uint8Array {
  const place = random.below(bytes.length);
  const changed = Buffer.from(bytes);
  const other = random.pick([0, 1, 0x7f, 0x80, 0xc0, 0xff]);
  return random.weighted<Uint8Array>([
    [4, () => changed.fill(other, place, place + 1)],
    [2, () => changed.fill((changed[place] ?? 0) ^ (1 << random.below(8)), place, place + 1)],
    [1, () => changed.subarray(0, place)],
    [1, () => Buffer.concat([changed.subarray(0, place), Buffer.alloc(4, other), changed.subarray(place)])],
  ]);
}

it('hands threads nothing that they cannot read, whatever it is told', async () => {
  const random = new Random(seed, 99);
  const chain = new MadeChain();
  const [executing, told] = [chain.executor(), chain.executor()];
  const thread = new Thread(told);
  const counts = { applied: 0, held: 0, refused: 0, dropped: 0 };
  const replicated = new ReplicatedPreconfirming(DEFAULT_REPLICATED_OPTIONS, {
    executor: told,
    publish: async (item) => thread.take(item),
    observe: ({ kind }) => (counts[kind] += 1),
  });
  const { number, hash, encoded } = chain.genesis;
  const payload: MadePayload = { payloadId: '0x01', parent: chain.genesis, isHashed: false };
  const pieces: ExecutedFlashblock[] = [];
  for (const index of [0, 1]) pieces.push(await chain.execute(executing, payload, index, some(random)));
  for (let run = 0; run < 1_000; run++) {
    replicated.lost('begun again');
    replicated.take({ kind: 'confirmed', removed: [], added: [{ number, hash, outcome: encoded }] });
    const damaged = random.below(2);
    for (const [index, piece] of pieces.entries()) {
      const outcome = index === damaged ? tamper(random, piece.outcome) : piece.outcome;
      replicated.take({ ...piece, kind: 'preconfirmed', payloadId: payload.payloadId, outcome });
    }
    const newest = thread.newest(chain.genesis);
    if (newest === undefined) continue;
    contentsOf(newest);
    for (const flashblock of newest.flashblocks)
      told.transactionsJson(flashblock.outcome, flashblock.firstTransaction, newest.hash);
    told.blockJson(
      newest.flashblocks.map(({ outcome }) => outcome.block),
      newest.hash,
    );
  }
  console.log(JSON.stringify(counts));
  expect(counts.refused + counts.held).toBeGreaterThan(300);
});

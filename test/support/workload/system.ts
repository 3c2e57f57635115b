import { concatHex, type Hex, numberToHex, parseEther } from 'viem';
import { encodeDeposit } from '../servers/op-deposits.ts';
import { messagePasser } from '../servers/op-genesis.ts';
import { blobKinds, blobOf } from './blobs.ts';
import { mappingSlot, wordOf } from './catalogue.ts';
import type { Action } from './draft.ts';

export const historyContract: Hex = '0x0000F90827F1C53a10cb7A02335B175320002935';
export const beaconRoots: Hex = '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02';
const withdrawalQueue: Hex = '0x00000961Ef480Eb55e80D19ad83579A64c007002';
const consolidationQueue: Hex = '0x0000BBdDc7CE488642fb579F8B00f3a590007251';

const blobs: Action = async (draft) => {
  const { random, traits } = draft;
  if (!traits.blobs) return;
  const sidecars = random.list(random.pick([1, 1, 2, 3]), () => blobOf(random.below(blobKinds)));
  const to = draft.address('Workshop');
  await draft.sendBlobs(sidecars, { to, data: draft.encode('Workshop', 'context', []) });
};

/** Blocks that the chain itself writes into: hashes of blocks and of the beacon chain. */
const history: Action = async (draft) => {
  const { random, catalogue } = draft;
  const at = Math.max(0, draft.number - random.between(0, 300));
  catalogue.slot(historyContract, at % 8191);
  catalogue.call(historyContract, wordOf(at));
  catalogue.slot(beaconRoots, random.below(8191));
  await draft.send({ to: historyContract, data: wordOf(at) });
};

/** What the execution layer asks of the consensus layer; shows in the block's requests hash. */
const requests: Action = async (draft) => {
  const { random, traits } = draft;
  if (!traits.requests) return;
  const key = (): Hex => random.hex(48) as Hex;
  for (const slot of [0, 1, 2, 3, 4, 5]) draft.catalogue.slot(withdrawalQueue, slot);
  if (random.chance(0.5))
    await draft.send({
      to: withdrawalQueue,
      data: concatHex([key(), numberToHex(random.below(99), { size: 8 })]),
      value: 500n,
    });
  else await draft.send({ to: consolidationQueue, data: concatHex([key(), key()]), value: 500n });
};

const deposit: Action = async (draft) => {
  const { random, traits, catalogue } = draft;
  if (!traits.deposits) return;
  // Not our senders: a deposit raises the nonce of who it is from.
  const from = `0x${(0xdd00 + random.below(5)).toString(16).padStart(40, '1')}` as const;
  catalogue.address(from);
  const mint = random.pick([0n, parseEther('1'), 12345n]);
  const shared = { sourceHash: random.hex(32) as Hex, from, gas: 400_000n, mint };
  const to = draft.address('Workshop');
  draft.deposits.push(
    random.weighted<Hex>([
      [
        3,
        () =>
          encodeDeposit({ ...shared, to: random.pick(catalogue.addresses), value: BigInt(random.below(9)) }),
      ],
      [2, () => encodeDeposit({ ...shared, to, data: draft.encode('Workshop', 'put', [3n, 2n, 7n]) })],
      [2, () => encodeDeposit({ ...shared, to, data: draft.encode('Workshop', 'fail', [1n]) })],
      [1, () => encodeDeposit({ ...shared, to, data: draft.encode('Workshop', 'spin', [1_000_000n]) })],
      [1, () => encodeDeposit({ ...shared, data: '0x6001600055600080f3' })],
      // More than it has: fails, and the mint stays.
      [1, () => encodeDeposit({ ...shared, to, value: parseEther('1000000') })],
    ]),
  );
};

const withdrawal: Action = async (draft) => {
  if (!draft.traits.deposits) return;
  const data = draft.random.hex(draft.random.between(1, 64)) as Hex;
  draft.catalogue.slot(messagePasser, mappingSlot(0, 0));
  await draft.send({ to: messagePasser, data, value: 1n });
};

export const systemActions: readonly (readonly [weight: number, act: Action])[] = [
  [6, blobs],
  [3, history],
  [4, requests],
  [8, deposit],
  [3, withdrawal],
];

import { randomBytes } from 'node:crypto';
import { ACTOR, kzgProofs, looped } from '../evm.ts';
import { rpc, type Target } from '../target.ts';

const simulation = (payload: object): string => rpc('eth_simulateV1', [payload, 'latest']);
const small = (): string => simulation({ blockStateCalls: [{ calls: [{ to: ACTOR }] }] });
const many = <T>(length: number, make: () => T): T[] => Array.from({ length }, make);

/** As many blocks and calls as one may have, with all that can be told of them. */
export async function simulatedCalls(target: Target): Promise<void> {
  const calls = many(39, () => ({ to: ACTOR }));
  const body = simulation({
    blockStateCalls: many(256, () => ({ calls })),
    ...{ traceTransfers: true, returnFullTransactions: true },
  });
  await target.repeat(4, () => body);
}

/** A block as far ahead as may be, with all of them between filled in, and others that are further away. */
export async function simulatedGaps(target: Target): Promise<void> {
  const answer = await target.post(rpc('eth_blockNumber', []));
  const head = Number(/"result":"(0x[0-9a-f]+)"/.exec(answer)?.[1] ?? 0);
  const at = (number: number): string =>
    simulation({ blockStateCalls: [{ blockOverrides: { number: `0x${number.toString(16)}` } }] });
  const bodies = [at(head + 250), at(head + 100_000), at(Number.MAX_SAFE_INTEGER)];
  let next = 0;
  await target.repeat(16, () => bodies[next++ % bodies.length] ?? '');
}

const withCode = (code: string): string =>
  simulation({
    blockStateCalls: [
      {
        blockOverrides: { gasLimit: '0xffffffffffffff' },
        stateOverrides: { [ACTOR]: { code } },
        calls: many(50, () => ({ to: ACTOR, gas: '0xffffffffff' })),
      },
    ],
  });

/** Calls that never end by themselves, more of them than wait for the pool. */
export async function simulatedLoops(target: Target): Promise<void> {
  const bodies = [withCode(looped([], [])), withCode(kzgProofs(false))];
  let next = 0;
  await target.repeat(300, () => bodies[next++ % bodies.length] ?? '');
}

/** State as large as a body allows, in many requests at once. */
export async function simulatedState(target: Target): Promise<void> {
  const random = (bytes: number): string => `0x${randomBytes(bytes).toString('hex')}`;
  const slots = Object.fromEntries(many(18_000, () => [random(32), random(32)]));
  const bodies = [
    simulation({ blockStateCalls: [{ stateOverrides: { [ACTOR]: { stateDiff: slots } } }] }),
    simulation({
      blockStateCalls: [{ stateOverrides: { [ACTOR]: { code: `0x${'5b'.repeat(2_400_000)}` } } }],
    }),
  ];
  let next = 0;
  await target.repeat(2, () => bodies[next++ % bodies.length] ?? '');
}

/** Simulations that nobody waits for: the next who does is served at once. */
export async function abandonedSimulations(target: Target): Promise<void> {
  const body = withCode(kzgProofs(false));
  await target.abandon(100, 0.6, () => body);
  await target.postAfterwards(small());
}

import { ACTOR, kzgProofs, looped, writesSlots } from '../evm.ts';
import { rpc, type Target } from '../target.ts';
import type { ListPlace } from './long-calls.ts';

const EVERYTHING = { enableMemory: true, enableReturnData: true };
const traceOf = (code: string, config: object = EVERYTHING): string =>
  rpc('debug_traceCall', [
    { to: ACTOR },
    'latest',
    { ...config, stateOverrides: { [ACTOR]: { code, state: {} } } },
  ]);

/** Traces of all that a loop does, with memory and storage; and of loops that are told of only so far. */
export async function tracedLoops(target: Target): Promise<void> {
  const bodies = [
    traceOf(writesSlots),
    traceOf(writesSlots, { ...EVERYTHING, limit: 1_000_000 }),
    traceOf(looped([], []), { tracer: 'callTracer' }),
    traceOf(looped([], [0, 0, 0, 0, 0, ACTOR, 'GAS', 'CALL', 'POP']), { tracer: 'callTracer' }),
    traceOf(kzgProofs(false), { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }),
  ];
  let next = 0;
  await target.repeat(60, () => bodies[next++ % bodies.length] ?? '');
}

/** Traces of blocks that are full of logs, below the undo window. */
export async function tracedBlocks(target: Target, { block }: ListPlace): Promise<void> {
  const configs = [
    EVERYTHING,
    { tracer: 'callTracer', tracerConfig: { withLog: true } },
    { tracer: 'prestateTracer' },
  ];
  let next = 0;
  await target.repeat(30, () => {
    const number = Number(block) + 1 + (next % 3);
    return rpc('debug_traceBlockByNumber', [`0x${number.toString(16)}`, configs[next++ % configs.length]]);
  });
}

/** Traces that nobody waits for: the next who does is served at once. */
export async function abandonedTraces(target: Target): Promise<void> {
  const bodies = [traceOf(kzgProofs(false), { tracer: 'callTracer' }), traceOf(writesSlots)];
  let next = 0;
  await target.abandon(100, 0.6, () => bodies[next++ % bodies.length] ?? '');
  await target.postAfterwards(traceOf('0x00'));
}

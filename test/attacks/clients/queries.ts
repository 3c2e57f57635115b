import { ACTOR, burnsLess, readsByGas } from '../evm.ts';
import { rpc, type Target } from '../target.ts';

/** Estimates whose every step takes all the gas there is. */
export async function longEstimates(target: Target): Promise<void> {
  const body = rpc('eth_estimateGas', [{ to: ACTOR }, 'latest', { [ACTOR]: { code: burnsLess } }]);
  await target.repeat(50, () => body);
}

/** Access lists that become others each time they are tried, of thousands of slots. */
export async function unstableAccessLists(target: Target): Promise<void> {
  const body = rpc('eth_createAccessList', [
    { to: ACTOR },
    'latest',
    { [ACTOR]: { code: readsByGas, state: {} } },
  ]);
  await target.repeat(50, () => body);
}

/** The fees of all blocks that may be asked for, with all percentiles. */
export async function longFeeHistories(target: Target): Promise<void> {
  const percentiles = Array.from({ length: 100 }, (_, index) => index);
  const body = rpc('eth_feeHistory', ['0xffffffffffffffff', 'pending', percentiles]);
  await target.repeat(20, () => body);
}

import { isDeepStrictEqual } from 'node:util';
import type { Chain } from '../context.ts';
import { asFields } from '../request-shape.ts';
import { callDeviations } from './call.ts';
import { type Deviation, errorOf, isEmptyList } from './deviation.ts';
import { feeDeviations } from './fees.ts';
import { logDeviations } from './log.ts';
import { selectorDeviations } from './selector.ts';
import { simulationDeviations } from './simulation.ts';
import { failedDeposit, traceDeviations, unmergedPrestate } from './trace.ts';

/** geth 1.16.7 has no time with transactions; newer ones do, as the official vectors have it. */
const blockTimestamp: Deviation = {
  id: 'block-timestamp',
  allows: ({ geth, ours }) => {
    if ('error' in geth || 'error' in ours) return false;
    const own = asFields(ours.result)?.['transactions'] ?? [ours.result];
    if (!Array.isArray(own)) return false;
    const isTimed =
      own.length > 0 && own.every((one) => typeof asFields(one)?.['blockTimestamp'] === 'string');
    const untimed = own.map((one) => {
      const { blockTimestamp: _time, ...rest } = asFields(one) ?? {};
      return rest;
    });
    const block = asFields(ours.result);
    const plain =
      block !== undefined && 'transactions' in block ? { ...block, transactions: untimed } : untimed[0];
    return isTimed && isDeepStrictEqual(geth.result, plain);
  },
};

/** An empty answer looks like one of an empty block. */
const rawUnknown: Deviation = {
  id: 'raw-unknown-block',
  allows: ({ request, geth, ours }) =>
    request.method.startsWith('debug_getRaw') &&
    errorOf(ours)?.code === -32001 &&
    'result' in geth &&
    (geth.result === null || geth.result === '0x' || isEmptyList(geth)),
};

/** All of them, in the order in which they are tried; ids and rules are those of docs/differential.md. */
export function deviationsOn(chain: Chain): readonly Deviation[] {
  // What a selector means comes first: the others look at the block it names.
  return [
    ...selectorDeviations,
    blockTimestamp,
    rawUnknown,
    ...logDeviations(chain),
    ...callDeviations(chain),
    ...feeDeviations,
    ...traceDeviations,
    unmergedPrestate(chain),
    failedDeposit,
    ...simulationDeviations(chain),
  ];
}

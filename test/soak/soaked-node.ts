import type { PreconfirmedRig } from '../preconfirmed/rig.ts';
import { type ServedNode, startServed } from '../preconfirmed/served-node.ts';

export const hotStateEntries = 8_192;
export const codeCacheBytes = 2 ** 17;

/** So small that all of them are full before the measuring begins. */
const smallCaches = [
  ...['--undo-window', '32', '--hot-window', '32', '--hot-state-entries', `${hotStateEntries}`],
  ...[
    '--code-cache-bytes',
    `${codeCacheBytes}`,
    '--render-cache-bytes',
    '1MiB',
    '--historical-state-bytes',
    '16MiB',
  ],
];
/** As small as a program before this test allows. */
const leastCaches = [
  ...[
    '--undo-window',
    '32',
    '--hot-window',
    '32',
    '--hot-state-entries',
    '65536',
    '--code-cache-bytes',
    '1MiB',
  ],
  ...['--render-cache-bytes', '1MiB', '--historical-views', '16', '--state-changes-kept', '2000'],
];
/** The machine may be busy with others: what is late is not dropped. */
const patient = [
  ...['--flashblock-silence-ms', '60000', '--preconfirmed-timeout-ms', '20000'],
  ...['--at-least-wait-ms', '20000', '--finality-ms', '500', '--state-reads-in-flight', '65536'],
];

/** Our node, or `program`, on a rig's chain and stream. */
export function startSoaked(
  rig: PreconfirmedRig,
  dataDir: string,
  program: string | undefined,
): Promise<ServedNode> {
  const caches = program === undefined ? smallCaches : leastCaches;
  return startServed(rig, { dataDir, threads: 2, more: [...caches, ...patient], program });
}

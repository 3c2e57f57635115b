import { randomBytes } from 'node:crypto';
import { formatCursor } from '../../../src/methods/logs/log-cursor.ts';
import { parseLogFilter } from '../../../src/methods/logs/log-filter.ts';
import { rpc, type Target } from '../target.ts';
import type { ListPlace } from './long-calls.ts';

const ALL = { fromBlock: 'earliest', toBlock: 'latest' };
const HASH_AT = 2 + 2 * 9;
const INDEX_AT = HASH_AT + 2 * 32;

const page = (filter: object): string => rpc('eth_getLogsWithCursor', [{ ...ALL, ...filter }]);

/** Cursors that no page had: of other filters, other blocks, other logs, cut off, and of blocks that are not there. */
export async function forgedCursors(target: Target, { list, block }: ListPlace): Promise<void> {
  const ofBlock = async (number: string): Promise<string> => {
    const answer = await target.post(rpc('eth_getHeaderByNumber', [number]));
    return /"hash":"0x([0-9a-f]{64})"/.exec(answer)?.[1] ?? '';
  };
  const [old, first] = [await ofBlock(block), await ofBlock('0x0')];
  const random = (): string => randomBytes(32).toString('hex');
  // What a filter is told by in a cursor is no secret.
  const anything = parseLogFilter({}, 'filter', { compat: false, maxAddresses: 1, maxTopics: 1 });
  const own = formatCursor({ hash: `0x${old}`, index: undefined }, anything);
  const digest = own.slice(0, HASH_AT);
  const cursors = [
    ...[own, `${digest}${old}00000000`, `${digest}${old}fffffffe`, `${digest}${first}00000007`],
    ...[
      `${digest}${random()}ffffffff`,
      `${digest}${'00'.repeat(32)}ffffffff`,
      `${digest}${'00'.repeat(32)}00000000`,
    ],
    ...[own.slice(0, INDEX_AT), own.slice(0, -1), `${own}00`, own.toUpperCase(), own.replace('0x01', '0x02')],
    ...['0x', '', 'latest', 7, {}, [own], true, `0x01${'f'.repeat(100_000)}`],
  ];
  const filters = [{}, { address: list }, { topics: [`0x${random()}`] }, { blockHash: `0x${random()}` }];
  let next = 0;
  await target.repeat(8, () => {
    const at = next++;
    const filter = filters[at % filters.length];
    return page({ ...filter, cursor: cursors[Math.floor(at / filters.length) % cursors.length] });
  });
}

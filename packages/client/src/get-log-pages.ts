import { type AbiEvent, type BlockTag, type Client, type Hex, numberToHex, type RpcLog } from 'viem';
import { getBlockNumber } from 'viem/actions';
import { getCapabilities, isRefusal } from './capabilities.ts';
import { type FoundLog, foundLog, type LogFilter, rpcFilter } from './log-filter.ts';

export type GetLogPagesParameters<event extends AbiEvent | undefined = undefined> = LogFilter<event> & {
  readonly fromBlock: bigint | BlockTag;
  /** Default: `latest`. */
  readonly toBlock?: bigint | BlockTag | undefined;
};

interface Page {
  readonly logs: readonly RpcLog[];
  readonly cursor?: string;
}

type Request = (body: { method: string; params: readonly unknown[] }) => Promise<unknown>;

/** Blocks of a page where there are no cursors, to begin with: what most public endpoints allow. */
const rangeBlocks = 2_000;

/**
 * Logs of any range, page by page, each as large as the node allows. A block that is reorganised away between two pages is an
 * error of the node (-32001), never a gap. On nodes without cursors pages are ranges of blocks, and that is not noticed.
 */
export async function* getLogPages<const event extends AbiEvent | undefined = undefined>(
  client: Client,
  parameters: GetLogPagesParameters<event>,
): AsyncGenerator<readonly FoundLog<event>[]> {
  const { cursor } = await getCapabilities(client);
  const range = { fromBlock: parameters.fromBlock, toBlock: parameters.toBlock ?? 'latest' };
  const filter = rpcFilter(parameters);
  const pages = cursor ? cursorPages(client, filter, range) : rangePages(client, filter, range);
  for await (const logs of pages)
    yield logs.map((log) => foundLog(parameters, log)).filter((log) => log !== undefined);
}

interface Range {
  readonly fromBlock: bigint | BlockTag;
  readonly toBlock: bigint | BlockTag;
}

const selector = (block: bigint | BlockTag): Hex | BlockTag =>
  typeof block === 'bigint' ? numberToHex(block) : block;

async function* cursorPages(
  client: Client,
  filter: object,
  { fromBlock, toBlock }: Range,
): AsyncGenerator<readonly RpcLog[]> {
  const request = client.request as unknown as Request;
  const wanted = { ...filter, fromBlock: selector(fromBlock), toBlock: selector(toBlock) };
  let cursor: string | undefined;
  do {
    const params = [cursor === undefined ? wanted : { ...wanted, cursor }];
    const page = (await request({ method: 'eth_getLogsWithCursor', params })) as Page;
    yield page.logs;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Ranges of blocks, halved where the node refuses one. */
export async function* rangePages(
  client: Client,
  filter: object,
  { fromBlock, toBlock }: Range,
): AsyncGenerator<readonly RpcLog[]> {
  const request = client.request as unknown as Request;
  const last = await numberOf(client, toBlock);
  let blocks = rangeBlocks;
  for (let from = await numberOf(client, fromBlock); from <= last; ) {
    const to = Math.min(from + blocks - 1, last);
    const params = [{ ...filter, fromBlock: numberToHex(from), toBlock: numberToHex(to) }];
    let logs: readonly RpcLog[];
    try {
      logs = (await request({ method: 'eth_getLogs', params })) as readonly RpcLog[];
    } catch (error) {
      if (!isRefusal(error) || to === from) throw error;
      blocks = Math.floor((to - from + 1) / 2);
      continue;
    }
    yield logs;
    from = to + 1;
    blocks = Math.min(blocks * 2, rangeBlocks);
  }
}

async function numberOf(client: Client, block: bigint | BlockTag): Promise<number> {
  if (typeof block === 'bigint') return Number(block);
  if (block === 'latest' || block === 'pending')
    return Number(await getBlockNumber(client, { cacheTime: 0 }));
  const request = client.request as unknown as Request;
  const found = (await request({ method: 'eth_getBlockByNumber', params: [block, false] })) as {
    readonly number: Hex;
  } | null;
  if (found === null) throw new Error(`the node has no ${block} block`);
  return Number(found.number);
}

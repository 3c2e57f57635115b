import type { BlockRef } from '../../chain/outcome.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { parseUint64, toQuantity } from '../../primitives/parse.ts';
import { mostTelling, SourceError } from '../errors.ts';
import type { Finality, JsonObject, ReadOptions, UpstreamAnswer, UpstreamHead } from '../interface.ts';
import type { Upstream } from '../pool/upstream.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { present, readBlock, readHead, shaped, WrongBlockError } from './shape.ts';

/** The head as one upstream sees it. */
export async function headOf(upstream: Upstream, signal?: AbortSignal): Promise<UpstreamHead> {
  const block = await upstream.request('eth_getBlockByNumber', ['latest', false], signal);
  return shaped(upstream, () => readHead(block));
}

/** The same with the whole block. */
export async function latestOf(
  upstream: Upstream,
  signal?: AbortSignal,
): Promise<{ readonly head: UpstreamHead; readonly block: JsonObject }> {
  const block = await upstream.request('eth_getBlockByNumber', ['latest', true], signal);
  return shaped(upstream, () => ({ head: readHead(block), block: readBlock(block, {}) }));
}

export function readLatest(
  pool: Upstreams,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<UpstreamHead>> {
  return pool.ask({ ...options, key: 'head', run: headOf });
}

/** How much longer than the first an upstream may take to name its head. */
const PATIENCE_MS = 1_000;

export async function readHeads(
  pool: Upstreams,
  { signal }: ReadOptions = {},
): Promise<readonly UpstreamAnswer<UpstreamHead>[]> {
  const stop = new AbortController();
  const over = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const answers = pool.upstreams
    .filter(({ name }) => pool.trusts(name))
    .map(async (upstream) => ({ value: await headOf(upstream, over), upstream: upstream.name }));
  let cancel = (): void => {};
  const first = Promise.any(answers).then(
    () => {
      cancel = pool.clock.after(PATIENCE_MS, () => stop.abort(new DOMException('too late', 'AbortError')));
    },
    () => {},
  );
  const settled = await Promise.allSettled(answers);
  await first;
  cancel();
  const named = settled.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
  if (named.length > 0) return named;
  const reasons = settled
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason as Error);
  const other = reasons.find((reason) => !(reason instanceof SourceError));
  throw other ?? mostTelling(reasons as SourceError[]);
}

/** The chain id that each upstream claims; those that do not answer are left out, unless none does. */
export async function readChainIds(
  pool: Upstreams,
  options: ReadOptions,
): Promise<readonly UpstreamAnswer<bigint>[]> {
  const settled = await Promise.allSettled(
    pool.upstreams.map(async (upstream) => {
      const id = await upstream.request('eth_chainId', [], options.signal);
      return { value: shaped(upstream, () => parseUint64(id, 'chain id')), upstream: upstream.name };
    }),
  );
  const answers = settled.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
  const failed = settled.find((result) => result.status === 'rejected');
  if (answers.length === 0 && failed !== undefined) throw failed.reason;
  return answers;
}

/** Both from one upstream: safe of one and finalized of another could contradict each other. */
export function readFinality(pool: Upstreams, options: ReadOptions = {}): Promise<UpstreamAnswer<Finality>> {
  return pool.ask({
    ...options,
    key: 'finality',
    run: async (upstream, signal) => {
      const [safe, finalized] = await Promise.all([
        tagged(upstream, 'safe', signal),
        tagged(upstream, 'finalized', signal),
      ]);
      return { safe, finalized };
    },
  });
}

async function tagged(upstream: Upstream, tag: string, signal: AbortSignal): Promise<BlockRef | undefined> {
  try {
    const block = await upstream.request('eth_getBlockByNumber', [tag, false], signal);
    if (block === null) return undefined;
    const { number, hash } = shaped(upstream, () => readHead(block));
    return { number, hash };
  } catch (error) {
    // How a chain says it has no such block: geth before the first one, and chains that do not know the tag.
    const none = error instanceof SourceError && ['unknownBlock', 'refused'].includes(error.type.code);
    if (none) return undefined;
    throw error;
  }
}

export function readBlockByHash(
  pool: Upstreams,
  hash: Hex,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<JsonObject> | undefined> {
  return orUnknown(
    pool.ask({
      ...options,
      key: `block${hash}`,
      run: async (upstream, signal) => {
        const block = await upstream.request('eth_getBlockByHash', [hash, true], signal);
        return asked(pool, upstream, hash, () =>
          readBlock(present(upstream, block, `block ${hash}`), { hash }),
        );
      },
    }),
  );
}

export function readHashAt(
  pool: Upstreams,
  number: number,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<Hex> | undefined> {
  const quantity = toQuantity(number);
  return orUnknown(
    pool.ask({
      ...options,
      key: `hash${quantity}`,
      rounds: 1,
      run: async (upstream, signal) => {
        const block = await upstream.request('eth_getBlockByNumber', [quantity, false], signal);
        return shaped(upstream, () => readHead(present(upstream, block, `block ${quantity}`)).hash);
      },
    }),
  );
}

export function readBlockByNumber(
  pool: Upstreams,
  number: number,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<JsonObject> | undefined> {
  const quantity = toQuantity(number);
  return orUnknown(
    pool.ask({
      ...options,
      key: `block${quantity}`,
      // A hash is asked for because somebody has seen it; a number may well not be there yet.
      rounds: 1,
      run: async (upstream, signal) => {
        const block = await upstream.request('eth_getBlockByNumber', [quantity, true], signal);
        const read = (): JsonObject => readBlock(present(upstream, block, `block ${quantity}`), { number });
        return asked(pool, upstream, quantity, read);
      },
    }),
  );
}

/** An upstream that answers with another block than the one it was asked for is not just confused. */
function asked<T>(pool: Upstreams, upstream: Upstream, item: string, read: () => T): T {
  return shaped(upstream, () => {
    try {
      return read();
    } catch (error) {
      if (error instanceof WrongBlockError) pool.report(upstream.name, { item, what: 'block order' });
      throw error;
    }
  });
}

async function orUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SourceError && error.type.code === 'unknownBlock') return undefined;
    throw error;
  }
}

/** Headers are read by number, in one go, and belong to the block because each links to the next by hash. */
export function readAncestors(
  pool: Upstreams,
  hash: Hex,
  from: number,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<readonly JsonObject[]>> {
  return pool.ask({
    ...options,
    key: `ancestors${hash}${from}`,
    run: async (upstream, signal) => {
      const tip = await upstream.request('eth_getBlockByHash', [hash, false], signal, options);
      const { number, parentHash } = shaped(upstream, () => {
        readBlock(present(upstream, tip, `block ${hash}`), { hash });
        return readHead(tip);
      });
      const numbers = Array.from({ length: Math.max(0, number - from) }, (_, at) => from + at);
      const blocks = await Promise.all(
        numbers.map((at) =>
          upstream.request('eth_getBlockByNumber', [toQuantity(at), false], signal, options),
        ),
      );
      // It has the block, so it is not late: its own copy begins above these, and asking again does not help.
      if (blocks.includes(null)) {
        const text = `${upstream.name}: it does not hold all blocks from ${from} up to ${hash}`;
        throw new SourceError({ code: 'stateUnavailable', upstream: upstream.name }, text);
      }
      return shaped(upstream, () => linked(upstream, blocks, numbers, parentHash));
    },
  });
}

function linked(
  upstream: Upstream,
  blocks: readonly unknown[],
  numbers: readonly number[],
  last: Hex,
): readonly JsonObject[] {
  const headers = blocks.map((block, at) => {
    const number = numbers[at];
    if (number === undefined) throw new InvalidParamsError('more blocks than were asked for');
    return readBlock(present(upstream, block, `block ${number}`), { number });
  });
  let expected = last;
  for (const header of headers.toReversed()) {
    const { hash, parentHash } = readHead(header);
    if (hash !== expected) {
      // Another fork became canonical between the two reads; the next round sees one fork or has lost the block.
      const text = `${upstream.name}: the ancestors are of another fork`;
      throw new SourceError({ code: 'unknownBlock', upstream: upstream.name }, text);
    }
    expected = parentHash;
  }
  return headers;
}

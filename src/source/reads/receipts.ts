import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { parseArray, parseHash } from '../../primitives/parse.ts';
import { SourceError } from '../errors.ts';
import type { JsonObject, ReadOptions, UpstreamAnswer } from '../interface.ts';
import type { Upstream } from '../pool/upstream.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { present, readBlock, readObjects, shaped } from './shape.ts';

const METHOD = 'eth_getBlockReceipts';

/** Every receipt of a block: in one call, or one per transaction where that method is missing. */
export function readReceipts(
  pool: Upstreams,
  hash: Hex,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<readonly JsonObject[]>> {
  return pool.ask({
    ...options,
    key: `receipts${hash}`,
    run: async (upstream, signal) => {
      const receipts = await inOneCall(upstream, hash, signal);
      return receipts ?? onePerTransaction(upstream, hash, signal);
    },
  });
}

async function inOneCall(
  upstream: Upstream,
  hash: Hex,
  signal: AbortSignal,
): Promise<readonly JsonObject[] | undefined> {
  if (!upstream.supports(METHOD)) return undefined;
  try {
    const receipts = await upstream.request(METHOD, [hash], signal);
    return shaped(upstream, () => {
      const list = readObjects(present(upstream, receipts, `receipts of ${hash}`), 'receipt');
      for (const receipt of list) ofBlock(upstream, receipt, hash);
      return list;
    });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    // A server from before the method took hashes refuses the parameter: to us that is the same as not having it.
    if (error.type.code === 'refused') upstream.giveUpOn(METHOD);
    else if (error.type.code !== 'unsupported') throw error;
    return undefined;
  }
}

async function onePerTransaction(
  upstream: Upstream,
  hash: Hex,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const block = await upstream.request('eth_getBlockByHash', [hash, false], signal);
  const transactions = shaped(upstream, () =>
    parseArray(
      readBlock(present(upstream, block, `block ${hash}`), { hash })['transactions'],
      'transactions',
    ).map((transaction) => parseHash(transaction, 'transaction hash')),
  );
  const receipts = await Promise.all(
    transactions.map((transaction) => upstream.request('eth_getTransactionReceipt', [transaction], signal)),
  );
  return shaped(upstream, () => {
    const list = readObjects(
      receipts.map((receipt) => present(upstream, receipt, `receipt in ${hash}`)),
      'receipt',
    );
    for (const [at, receipt] of list.entries()) {
      ofBlock(upstream, receipt, hash);
      const { transactionHash } = receipt;
      if (parseHash(transactionHash, 'transaction hash') !== transactions[at]) {
        throw new InvalidParamsError(
          `asked for the receipt of ${transactions[at]}, given ${String(transactionHash)}`,
        );
      }
    }
    return list;
  });
}

/** A transaction that is in another block by now has another receipt, so this block is not canonical any more. */
function ofBlock(upstream: Upstream, receipt: JsonObject, hash: Hex): void {
  if (parseHash(receipt['blockHash'], 'block hash of a receipt') === hash) return;
  const text = `${upstream.name}: a transaction of ${hash} is in another block now`;
  throw new SourceError({ code: 'unknownBlock', upstream: upstream.name }, text);
}

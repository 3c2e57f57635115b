import type { StateKey } from '../../chain/state-key.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { parseBytes, parseHash, parseObject, parseQuantity, parseUint64 } from '../../primitives/parse.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import type { JsonObject, ReadOptions, StateRead, TracedDiff, UpstreamAnswer } from '../interface.ts';
import type { Upstream } from '../pool/upstream.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { readAncestors } from './blocks.ts';
import { present, readHead, readObjects, shaped } from './shape.ts';

/** The values of keys after a block. Calls made here in one turn leave together, in as few requests as fit. */
export async function readState(
  pool: Upstreams,
  keys: readonly StateKey[],
  blockHash: Hex,
  options: ReadOptions = {},
): Promise<readonly StateRead[]> {
  const hashes = blockHashes(pool, keys, blockHash, options);
  return Promise.all(
    keys.map(async (key): Promise<StateRead> => {
      switch (key.kind) {
        case 'account':
          return readAccount(pool, toHex(key.address), blockHash, options);
        case 'slot':
          return readSlot(pool, toHex(key.address), toHex(key.slot), blockHash, options);
        case 'blockHash':
          return (await hashes)(key.number);
        case 'code':
          return { kind: 'unknown' };
      }
    }),
  );
}

/** Nonce, balance and code of one account, all from one upstream, so that there is one to blame. */
async function readAccount(
  pool: Upstreams,
  address: Hex,
  blockHash: Hex,
  options: ReadOptions,
): Promise<StateRead> {
  const at = { blockHash };
  const { value, upstream } = await pool.ask({
    ...options,
    key: `account${address}${blockHash}`,
    run: async (asked, signal) => {
      const [nonce, balance, code] = await Promise.all([
        asked.request('eth_getTransactionCount', [address, at], signal, options),
        asked.request('eth_getBalance', [address, at], signal, options),
        asked.request('eth_getCode', [address, at], signal, options),
      ]);
      return shaped(asked, () => ({
        nonce: parseUint64(nonce, 'nonce'),
        balance: BigInt(parseQuantity(balance, 256, 'balance')),
        code: fromHex(parseBytes(code, 'code')),
      }));
    },
  });
  return { kind: 'account', account: value, upstream };
}

async function readSlot(
  pool: Upstreams,
  address: Hex,
  slot: Hex,
  blockHash: Hex,
  options: ReadOptions,
): Promise<StateRead> {
  const { value, upstream } = await pool.ask({
    ...options,
    key: `slot${address}${slot}${blockHash}`,
    run: async (asked, signal) => {
      const result = await asked.request('eth_getStorageAt', [address, slot, { blockHash }], signal, options);
      return shaped(asked, () => fromHex(parseHash(result, 'storage value')));
    },
  });
  return { kind: 'slot', value, upstream };
}

/** The hashes that BLOCKHASH sees from a block: those of its own ancestors, not of whatever is canonical now. */
async function blockHashes(
  pool: Upstreams,
  keys: readonly StateKey[],
  blockHash: Hex,
  options: ReadOptions,
): Promise<(number: number) => StateRead> {
  const numbers = keys.filter((key) => key.kind === 'blockHash').map(({ number }) => number);
  if (numbers.length === 0) return () => ({ kind: 'unknown' });
  const { value, upstream } = await readAncestors(pool, blockHash, Math.min(...numbers), options);
  const byNumber = new Map(value.map(readHead).map(({ number, hash }) => [number, hash]));
  return (number) => {
    const hash = byNumber.get(number);
    return hash === undefined ? { kind: 'unknown' } : { kind: 'blockHash', hash: fromHex(hash), upstream };
  };
}

/** eth_getProof, checked for being about what was asked; whether it proves anything is for the caller to see. */
export function readProof(
  pool: Upstreams,
  subject: { readonly address: Uint8Array; readonly slots: readonly Uint8Array[]; readonly blockHash: Hex },
  options: ReadOptions = {},
): Promise<UpstreamAnswer<JsonObject>> {
  const { blockHash } = subject;
  const address = toHex(subject.address);
  const slots = subject.slots.map(toHex);
  return pool.ask({
    ...options,
    key: `proof${address}${slots.join()}${blockHash}`,
    needs: 'eth_getProof',
    run: async (upstream, signal) => {
      const result = await upstream.request('eth_getProof', [address, slots, { blockHash }], signal, options);
      return shaped(upstream, () => {
        const proof = parseObject(present(upstream, result, `proof in ${blockHash}`), 'proof');
        if (readObjects(proof['storageProof'], 'storage proof').length !== slots.length) {
          throw new InvalidParamsError('a proof of fewer slots than were asked for');
        }
        return proof;
      });
    },
  });
}

const TRACE = 'debug_traceBlockByHash';
/** Any other reason (no such tracer, not in this plan, too slow for our patience) will be there the next time too. */
const MAY_PASS: ReadonlySet<SourceErrorCode> = new Set<SourceErrorCode>([
  'unreachable',
  'rateLimited',
  'busy',
  'unknownBlock',
  'stateUnavailable',
  'tooLarge',
  'otherChain',
]);

/** What each transaction of a block changed. */
export function readStateDiffs(
  pool: Upstreams,
  blockHash: Hex,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<readonly TracedDiff[]>> {
  return pool.ask({
    ...options,
    key: `diffs${blockHash}`,
    needs: TRACE,
    hedge: false,
    run: (upstream, signal) => stateDiffsOf(upstream, blockHash, signal),
  });
}

/** The same from one upstream. */
export async function stateDiffsOf(
  upstream: Upstream,
  blockHash: Hex,
  signal: AbortSignal,
): Promise<readonly TracedDiff[]> {
  const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
  const result = await upstream.request(TRACE, [blockHash, config], signal);
  return shaped(upstream, () =>
    readObjects(present(upstream, result, `trace of ${blockHash}`), 'trace').map((trace) => {
      const diff = parseObject(trace['result'], 'result of a trace');
      return { pre: parseObject(diff['pre'], 'pre'), post: parseObject(diff['post'], 'post') };
    }),
  );
}

/** The state that each transaction of a block found; an upstream that cannot say is not asked again. */
export async function readPrestate(
  pool: Upstreams,
  blockHash: Hex,
  options: ReadOptions = {},
): Promise<UpstreamAnswer<readonly JsonObject[]> | undefined> {
  try {
    return await pool.ask({
      ...options,
      key: `prestate${blockHash}`,
      needs: TRACE,
      hedge: false,
      // It only saves requests: what it cannot give at once is read key by key.
      rounds: 1,
      run: async (upstream, signal) => {
        try {
          const config = { tracer: 'prestateTracer', tracerConfig: { includeEmpty: true } };
          const result = await upstream.request(TRACE, [blockHash, config], signal);
          return shaped(upstream, () =>
            readObjects(result, 'trace').map((trace) => parseObject(trace['result'], 'result of a trace')),
          );
        } catch (error) {
          if (error instanceof SourceError && !MAY_PASS.has(error.type.code)) upstream.giveUpOn(TRACE);
          throw error;
        }
      },
    });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return undefined;
  }
}

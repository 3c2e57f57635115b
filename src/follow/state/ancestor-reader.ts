import type { BlockRef } from '../../chain/outcome.ts';
import type { StateKey } from '../../chain/state-key.ts';
import { BLOCK_HASHES } from '../../chain/system-contracts.ts';
import { InvalidBlockError } from '../../executor/errors.ts';
import { headerHash } from '../../executor/native-executor.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { parseHash } from '../../primitives/parse.ts';
import { mostTelling, SourceError } from '../../source/errors.ts';
import type { ChainSource, JsonObject, ReadOptions } from '../../source/interface.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { Store } from '../../store/interface.ts';
import { askUntilValid } from '../blocks/ask-until-valid.ts';
import { parentHashOf } from '../blocks/header-links.ts';
import type { StateReader, UpstreamValue } from './reader.ts';

interface ProofRequest {
  readonly numbers: readonly number[];
  readonly options: ReadOptions | undefined;
  /** Why headers could not be had. */
  readonly error: unknown;
}

/** Slots of the contract that keeps the hashes of blocks (EIP-2935). */
const HASHES = fromHex(BLOCK_HASHES);
const RING = 8_191;

export interface AncestorModules {
  readonly source: Pick<ChainSource, 'ancestors' | 'report'>;
  readonly store: Pick<Store, 'canonicalHash' | 'header'>;
  /** Reads state with proofs. */
  readonly prove?: StateReader;
}

/**
 * Adds to a reader the hashes that BLOCKHASH sees below the copy: by headers that are hashed here, each of which names
 * the one below, down from a block that is held. Where upstreams do not hold those, as copies of others do not that began
 * not long ago: by proofs of what the chain itself keeps of them.
 */
export function withAncestors(read: StateReader, modules: AncestorModules): StateReader {
  return async (keys, at, options) => {
    const numbers = keys.filter((key) => key.kind === 'blockHash').map(({ number }) => number);
    if (numbers.length === 0) return read(keys, at, options);
    const others = keys.filter(({ kind }) => kind !== 'blockHash');
    const [hashes, fetched] = await Promise.all([
      readHashes(modules, at, numbers, options).catch((error: unknown) =>
        proveHashes(modules, at, { numbers, options, error }),
      ),
      read(others, at, options),
    ]);
    const rest = fetched.values();
    const unknown: UpstreamValue = { value: undefined, upstream: undefined };
    return keys.map((key) =>
      key.kind === 'blockHash' ? (hashes.get(key.number) ?? unknown) : (rest.next().value ?? unknown),
    );
  };
}

async function readHashes(
  { source, store }: AncestorModules,
  at: BlockRef,
  numbers: readonly number[],
  options: ReadOptions | undefined,
): Promise<ReadonlyMap<number, UpstreamValue>> {
  const from = Math.min(...numbers);
  const top = { number: at.number - 1, hash: parentHashOf(await headerAt(store, at.number)) };
  return askUntilValid(source, {
    item: at.hash,
    ask: () => source.ancestors(at.hash, from, options),
    read: ({ value, upstream }) => linked(value, top, upstream),
  });
}

/** The same by proofs; the error that there was where there are none, or not of all. */
async function proveHashes(
  { prove }: AncestorModules,
  at: BlockRef,
  { numbers, options, error }: ProofRequest,
): Promise<ReadonlyMap<number, UpstreamValue>> {
  if (prove === undefined || !(error instanceof SourceError)) throw error;
  const keys = numbers.map((number): StateKey => {
    return { kind: 'slot', address: HASHES, slot: wordOf(number % RING) };
  });
  const proven = await prove(keys, at, options).catch((failure: unknown) => {
    throw failure instanceof SourceError ? mostTelling([error, failure]) : failure;
  });
  const hashes = new Map<number, UpstreamValue>();
  for (const [index, { value, upstream }] of proven.entries()) {
    const number = numbers[index];
    // Nothing was kept before the fork that began with it.
    if (number === undefined || value === undefined || value.length === 0) throw error;
    hashes.set(number, { value: Buffer.concat([Buffer.alloc(32 - value.length), value]), upstream });
  }
  return hashes;
}

function wordOf(number: number): Uint8Array {
  const word = Buffer.alloc(32);
  word.writeUInt32BE(number, 28);
  return word;
}

/** The hashes of headers that lead down from `top`. */
function linked(
  headers: readonly JsonObject[],
  top: BlockRef,
  upstream: string,
): ReadonlyMap<number, UpstreamValue> {
  const hashes = new Map<number, UpstreamValue>();
  let { number, hash }: { number: number; hash: Hex } = top;
  for (const header of headers.toReversed()) {
    if (headerHash(header) !== hash) throw new InvalidBlockError(`header: block ${number} is not ${hash}`);
    hashes.set(number, { value: fromHex(hash), upstream });
    hash = parseHash(header['parentHash'], 'parent hash');
    number--;
  }
  return hashes;
}

import { InvalidParamsError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { parseArray, parseHash, parseObject, parseUint64 } from '../../primitives/parse.ts';
import { SourceError } from '../errors.ts';
import type { JsonObject, UpstreamHead } from '../interface.ts';

/** Reads a result; one of the wrong shape is the upstream's failure, not a parameter's. */
export function shaped<T>(upstream: { readonly name: string }, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidParamsError)) throw error;
    throw new SourceError(
      { code: 'garbage', upstream: upstream.name },
      `${upstream.name}: ${error.type.reason}`,
      { cause: error },
    );
  }
}

/** `null` is how servers say that they do not have a block, whatever the method. */
export function present(upstream: { readonly name: string }, result: unknown, what: string): unknown {
  if (result !== null) return result;
  throw new SourceError({ code: 'unknownBlock', upstream: upstream.name }, `${upstream.name}: no ${what}`);
}

/** Reads the three fields that place a block. */
export function readHead(value: unknown): UpstreamHead {
  const { number, hash, parentHash, stateRoot, withdrawalsRoot } = parseObject(value, 'block');
  const root = (given: unknown, what: string): Hex | undefined =>
    (given ?? undefined) === undefined ? undefined : parseHash(given, what);
  return {
    number: readNumber(number),
    hash: parseHash(hash, 'block hash'),
    parentHash: parseHash(parentHash, 'parent hash'),
    stateRoot: root(stateRoot, 'state root'),
    withdrawalsRoot: root(withdrawalsRoot, 'withdrawals root'),
  };
}

function readNumber(value: unknown): number {
  const number = Number(parseUint64(value, 'block number'));
  if (!Number.isSafeInteger(number)) throw new InvalidParamsError('block number: out of bounds');
  return number;
}

/** A block, but not the one that was asked for. */
export class WrongBlockError extends InvalidParamsError {}

/** Reads a block that must be the one asked for. */
export function readBlock(
  value: unknown,
  asked: { readonly hash?: Hex; readonly number?: number },
): JsonObject {
  const { number, hash } = readHead(value);
  if ((asked.hash ?? hash) !== hash)
    throw new WrongBlockError(`asked for block ${asked.hash}, given ${hash}`);
  if ((asked.number ?? number) !== number) {
    throw new WrongBlockError(`asked for block ${asked.number}, given ${number}`);
  }
  const block = value as JsonObject;
  parseArray(block['transactions'], 'transactions');
  return block;
}

/** Reads a list of objects. */
export function readObjects(value: unknown, what: string): readonly JsonObject[] {
  return parseArray(value, what).map((entry, at) => parseObject(entry, `${what} ${at}`));
}

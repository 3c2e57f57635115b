import type { Log } from '../../../chain/log.ts';
import { LogChunk, logsPerChunk } from '../../../chain/log-codec.ts';
import { type Hex, toHex } from '../../../primitives/hex.ts';
import { StoreError } from '../../error.ts';
import type { BlockLogs } from '../../interface.ts';
import { logChunkKey } from '../keys.ts';
import type { Tables } from '../tables.ts';

/** All logs of the canonical block `number`, held in memory: they stay readable after a revert. */
export function readLogs(tables: Tables, number: number): BlockLogs | undefined {
  const logs = openLogs(tables, number, 0);
  logs?.loadAll();
  return logs;
}

/** Logs of the canonical block `number`, of which only the chunk with log `index` is read now. */
export function openLogs(tables: Tables, number: number, index: number): StoredBlockLogs | undefined {
  const at = Math.floor(index / logsPerChunk);
  const chunk = readChunk(tables, number, at);
  return chunk === undefined ? undefined : new StoredBlockLogs(tables, number, at, chunk);
}

/** Chunks that were not read yet are read on demand; `reorganised` if the block has gone by then. */
export class StoredBlockLogs implements BlockLogs {
  readonly number: number;
  readonly timestamp: number;
  readonly timestampMs: number | undefined;
  readonly length: number;
  readonly #tables: Tables;
  readonly #hash: Uint8Array;
  readonly #chunks: (LogChunk | undefined)[];
  #hex: Hex | undefined;

  constructor(tables: Tables, number: number, at: number, chunk: LogChunk) {
    this.#tables = tables;
    this.number = number;
    this.#hash = chunk.hash;
    this.timestamp = chunk.timestamp;
    this.timestampMs = chunk.timestampMs;
    this.length = chunk.logCount;
    this.#chunks = [];
    this.#chunks[at] = chunk;
  }

  get hash(): Hex {
    this.#hex ??= toHex(this.#hash);
    return this.#hex;
  }

  log(index: number): Log {
    return this.#chunk(Math.floor(index / logsPerChunk)).log(index % logsPerChunk);
  }

  transactionHash(transactionIndex: number): Uint8Array {
    for (const chunk of this.#chunks) {
      const hash = chunk?.transactionHash(transactionIndex);
      if (hash !== undefined) return hash;
    }
    // Not in what is loaded: look through the rest.
    for (let at = 0; at * logsPerChunk < this.length; at++) {
      const hash = this.#chunk(at).transactionHash(transactionIndex);
      if (hash !== undefined) return hash;
    }
    throw new RangeError(`transaction ${transactionIndex} of block ${this.number} has no logs`);
  }

  loadAll(): void {
    for (let at = 0; at * logsPerChunk < this.length; at++) this.#chunk(at);
  }

  #chunk(at: number): LogChunk {
    const loaded = this.#chunks[at];
    if (loaded !== undefined) return loaded;
    const chunk = readChunk(this.#tables, this.number, at);
    if (chunk === undefined || Buffer.compare(chunk.hash, this.#hash) !== 0) {
      throw new StoreError('reorganised', `block ${this.number} ${this.hash} is no longer canonical`);
    }
    this.#chunks[at] = chunk;
    return chunk;
  }
}

function readChunk(tables: Tables, number: number, at: number): LogChunk | undefined {
  const bytes = tables.logs.getBinary(logChunkKey(number, at));
  return bytes === undefined ? undefined : new LogChunk(bytes);
}

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { andThen } from '../../primitives/awaitable.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { byteLength, discard, type ResponseBody } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';

export interface CompressionOptions {
  /** Bodies above this size are compressed; 0 is none. */
  readonly aboveBytes: number;
}

const [toZstd, toBrotli, toGzip] = [promisify(zstdCompress), promisify(brotliCompress), promisify(gzip)];

/** Fast rather than small: at the least effort, logs already shrink to a seventh or eighth. */
const PACK = {
  zstd: (bytes: Buffer) => toZstd(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: (bytes: Buffer) => toBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: (bytes: Buffer) => toGzip(bytes, { level: 1 }),
} as const;

/** The codings that are spoken. */
type Coding = keyof typeof PACK;
const CODINGS = Object.keys(PACK) as Coding[];

/** Bodies of one thread being compressed at the same time, on threads that reading the store needs, too. More go out as they are. */
const MAX_RUNNING = 4;
/** Values of the header whose meaning is kept: clients send one of a few. */
const REMEMBERED = 100;
/** A longer one is nobody's. */
const MAX_HEADER_CHARS = 256;

/** Compresses large answers for clients that take them so. */
export class Compressor {
  readonly #options: CompressionOptions;
  readonly #codings = new LRUCache<string, Coding | 'identity'>({ max: REMEMBERED });
  #running = 0;

  constructor(options: CompressionOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.aboveBytes > 0;
  }

  /** The answer as a client takes it that sent this `Accept-Encoding`. */
  pack(
    answer: Awaitable<RpcResponse | undefined>,
    accepted: string | undefined,
  ): Awaitable<RpcResponse | undefined> {
    if (!this.isOn || accepted === undefined) return answer;
    return andThen(answer, (ready) => this.#pack(ready, accepted));
  }

  #pack(answer: RpcResponse | undefined, accepted: string): Awaitable<RpcResponse | undefined> {
    if (answer?.body === undefined || byteLength(answer.body) <= this.#options.aboveBytes) return answer;
    const coding = this.#codingFor(accepted);
    if (coding === 'identity' || this.#running >= MAX_RUNNING) return answer;
    this.#running++;
    const bytes = takeWhole(answer.body);
    return PACK[coding](bytes).then(
      (packed) => {
        this.#running--;
        return { ...answer, body: [packed], coding };
      },
      () => {
        // Without memory to compress it, it goes out as it is.
        this.#running--;
        return { ...answer, body: [bytes] };
      },
    );
  }

  #codingFor(accepted: string): Coding | 'identity' {
    if (accepted.length > MAX_HEADER_CHARS) return 'identity';
    let coding = this.#codings.get(accepted);
    if (coding === undefined) {
      const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } });
      const best = negotiator.encodings([...CODINGS, 'identity'])[0];
      coding = CODINGS.find((known) => known === best) ?? 'identity';
      this.#codings.set(accepted, coding);
    }
    return coding;
  }
}

/** The body in one piece; what it was made of is let go. */
function takeWhole(body: ResponseBody): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  const whole = Buffer.concat(body);
  discard(body);
  return whole;
}

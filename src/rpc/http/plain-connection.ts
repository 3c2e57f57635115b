import type { Socket } from 'node:net';
import { andThen } from '../../primitives/awaitable.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { writeBytes } from '../../primitives/owned-bytes.ts';
import type { Gate } from '../auth/gate.ts';
import type { Principal } from '../auth/grant.ts';
import type { Answerer } from '../dispatch/answerer.ts';
import { byteLength } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { Caller } from '../dispatch/task.ts';
import { type AccessPolicy, HostMemory } from '../limits/access.ts';
import { type ClientAddresses, networkOf } from '../limits/client-address.ts';
import type { ClientMemory, HeldBytes, Holder } from '../limits/client-memory.ts';
import { addressOf, disconnectSignal } from '../limits/connection.ts';
import { ArrivingBytes } from './arriving-bytes.ts';
import type { Compressor } from './compression.ts';
import { type PlainAccess, readPlainHead } from './plain-request.ts';
import { ownHeaders, type ResponseHeads } from './response-head.ts';

export interface PlainConnectionOptions {
  readonly maxBodyBytes: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** Whether requests are traced. */
  readonly readsTraceparent?: boolean;
}

export interface PlainConnectionModules {
  readonly answerer: Answerer;
  readonly heads: ResponseHeads;
  readonly memory: ClientMemory;
  readonly access: AccessPolicy;
  readonly addresses: ClientAddresses;
  readonly compressor: Compressor;
  /** Absent where nobody needs a key. */
  readonly gate?: Gate | undefined;
  /** Takes a socket, with nothing of it read, over to node:http. */
  readonly handOver: (socket: Socket) => void;
  /** Hears once that this connection is closed or handed over. */
  readonly onGone: (connection: PlainConnection) => void;
}

/** A head that takes more chunks than this to arrive is node's to wait for: reading it again and again would cost. */
const MAX_HEAD_CHUNKS = 8;
/** What may arrive while a request is being answered. Then reading stops, and so does hearing of a disconnect. */
const MAX_AHEAD_BYTES = 65_536;
/** What node adds to the time it has told the client. */
const KEEP_ALIVE_GRACE_MS = 1_000;

/** What an idle connection costs, measured. */
export const CONNECTION_BYTES = 8_192;

// Word for word what node:http says.
const BAD_REQUEST = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';
const REQUEST_TIMEOUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';

/** One connection whose requests have all been plain so far. They are answered one after another. */
export class PlainConnection implements Caller, Holder {
  readonly socket: Socket;
  readonly #peer: string;
  #client: string;
  readonly #options: PlainConnectionOptions;
  readonly #modules: PlainConnectionModules;
  readonly #held: HeldBytes;
  /** What has arrived and is not answered, from the first byte of a request. */
  readonly #arrived = new ArrivingBytes();
  /** The size of the request whose head has been read, or 0. */
  #needed = 0;
  #headChunks = 0;
  /** A request is being worked on. */
  #working = false;
  /** The size of its body. */
  #servedBytes = 0;
  /** The client has yet to take what was written. */
  #blocked = false;
  #paused = false;
  #hasAnswered = false;
  #atLeast: string | undefined;
  #requestId: string | undefined;
  #traceparent: string | undefined;
  #credential: string | undefined;
  #encodings: string | undefined;
  #principal: Principal | undefined;
  readonly #access: PlainAccess;
  /** Since the connection or the request began, or the last answer was given. */
  #ageMs = 0;

  constructor(socket: Socket, options: PlainConnectionOptions, modules: PlainConnectionModules) {
    this.socket = socket;
    this.#options = options;
    this.#modules = modules;
    this.#peer = addressOf(socket);
    this.#client = networkOf(this.#peer);
    this.#held = modules.memory.hold(this);
    const { access, gate, addresses, compressor } = modules;
    this.#access = {
      host: access.checksHost ? new HostMemory(access) : undefined,
      checksOrigin: access.checksOrigin,
      wantsCredential: gate !== undefined,
      wantsForwarded: addresses.trusts(this.#peer),
      wantsEncodings: compressor.isOn,
      wantsTraceparent: options.readsTraceparent === true,
    };
    socket.on('data', this.#onData);
    socket.on('drain', this.#onDrain);
    socket.on('end', this.#onEnd);
    socket.on('error', ignore);
    socket.on('close', this.#onClose);
  }

  /** Of the request being answered: there is one at a time. */
  get atLeast(): string | undefined {
    return this.#atLeast;
  }

  /** Likewise. */
  get requestId(): string | undefined {
    return this.#requestId;
  }

  /** Likewise. */
  get traceparent(): string | undefined {
    return this.#traceparent;
  }

  /** Likewise: a proxy has many. */
  get client(): string {
    return this.#client;
  }

  /** Likewise. */
  get principal(): Principal | undefined {
    return this.#principal;
  }

  get signal(): AbortSignal {
    return disconnectSignal(this.socket);
  }

  get heldBytes(): number {
    return CONNECTION_BYTES + this.#arrived.capacity + this.#servedBytes;
  }

  /** What was sent to the client sits in memory: a client that does not take it is not told anything either. */
  cut(): void {
    this.socket.destroy();
  }

  /** Is told the time now and then, and closes what has taken too long. */
  tick(elapsedMs: number): void {
    if (this.#working || this.#blocked) return;
    this.#ageMs += elapsedMs;
    const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs } = this.#options;
    if (this.#arrived.length === 0 && this.#hasAnswered) {
      if (this.#ageMs > keepAliveTimeoutMs + KEEP_ALIVE_GRACE_MS) this.socket.destroy();
    } else if (this.#ageMs > (this.#needed > 0 ? requestTimeoutMs : headersTimeoutMs)) {
      this.#refuse(REQUEST_TIMEOUT);
    }
  }

  /** Closes at once what has no request under way; the others close with their answer. */
  drain(): void {
    if (!this.#working && this.#arrived.length === 0) this.socket.destroySoon();
  }

  readonly #onData = (chunk: Buffer): void => {
    // The last answer is on its way: what comes after it is for nobody.
    if (!this.socket.writable) return;
    const arrived = this.#arrived;
    if (arrived.length === 0) this.#ageMs = 0;
    arrived.push(chunk);
    if (!this.#working && !this.#blocked) {
      if (arrived.length >= this.#needed) this.#serveArrived();
    } else if (arrived.length > MAX_AHEAD_BYTES) {
      this.#paused = true;
      this.socket.pause();
    }
    this.#held.update();
  };

  readonly #onDrain = (): void => {
    this.#blocked = false;
    this.#held.update();
    if (!this.#working) this.#proceed();
  };

  /** As in node:http, a client that has ended is gone: it gets what is written, and no more. */
  readonly #onEnd = (): void => {
    if (this.#arrived.length > 0 && !this.#working && !this.#blocked) this.#refuse(BAD_REQUEST);
    else this.socket.end();
  };

  readonly #onClose = (): void => {
    this.#arrived.take();
    this.#held.release();
    this.#modules.onGone(this);
  };

  #serveArrived(): void {
    const bytes = this.#arrived.take();
    this.#needed = 0;
    let at = 0;
    let corked = false;
    while (at < bytes.length && !this.#working && !this.#blocked && this.socket.writable) {
      const head = readPlainHead(bytes, at, this.#options.maxBodyBytes, this.#access);
      if (head === 'other' || (head === 'more' && ++this.#headChunks > MAX_HEAD_CHUNKS)) {
        if (corked) this.socket.uncork();
        this.#handOver(bytes.subarray(at));
        return;
      }
      if (head === 'more') break;
      const { bodyStart, bodyLength } = head;
      const end = bodyStart + bodyLength;
      if (end > bytes.length) {
        this.#needed = end - at;
        break;
      }
      at = end;
      this.#headChunks = 0;
      if (at < bytes.length && !corked) {
        // Answers to what came together leave together.
        corked = true;
        this.socket.cork();
      }
      this.#atLeast = head.atLeast;
      this.#requestId = head.requestId;
      this.#traceparent = head.traceparent;
      this.#credential = head.credential;
      this.#encodings = head.encodings;
      if (this.#access.wantsForwarded) this.#client = this.#modules.addresses.of(this.#peer, head.forwarded);
      this.#serve(bytes.subarray(bodyStart, end));
    }
    if (at < bytes.length) this.#arrived.push(restOf(bytes, at));
    if (corked) this.socket.uncork();
  }

  #serve(body: Buffer): void {
    const answer = this.#modules.compressor.pack(this.#answer(body), this.#encodings);
    if (!(answer instanceof Promise)) {
      this.#send(answer);
      return;
    }
    this.#working = true;
    this.#servedBytes = body.length;
    void answer.then((later) => {
      this.#working = false;
      this.#servedBytes = 0;
      this.#send(later);
      if (!this.#blocked) this.#proceed();
    });
  }

  #answer(body: Buffer): Awaitable<RpcResponse | undefined> {
    const { answerer, gate } = this.#modules;
    if (gate === undefined) return answerer.answer(body, this);
    return andThen(gate.admit(this.#credential), (principal) => {
      this.#principal = principal;
      return principal === undefined ? answerer.unauthorized() : answerer.answer(body, this);
    });
  }

  #proceed(): void {
    if (this.#paused) {
      this.#paused = false;
      this.socket.resume();
    }
    const { length } = this.#arrived;
    if (length > 0 && length >= this.#needed) this.#serveArrived();
  }

  #send(answer: RpcResponse | undefined): void {
    const socket = this.socket;
    if (!socket.writable) return;
    if (answer === undefined) {
      socket.destroy();
      return;
    }
    const { status, body, snapshot } = answer;
    const { answerer, heads } = this.#modules;
    const isLast = answerer.draining;
    this.#hasAnswered = true;
    this.#ageMs = 0;
    if (body === undefined) {
      const head = heads.bodilessText(status, snapshot, isLast, ownHeaders(answer, this.#requestId));
      this.#blocked = !socket.write(head, 'latin1');
    } else {
      const length = byteLength(body);
      const head = heads.text(status, length, snapshot, isLast, ownHeaders(answer, this.#requestId));
      if (typeof body === 'string') {
        // As many bytes as characters: it is ASCII, and need not be encoded.
        this.#blocked = !socket.write(head + body, length === body.length ? 'latin1' : 'utf8');
      } else {
        // Corked, the pieces leave in one system call, none of them copied.
        socket.cork();
        this.#blocked = !socket.write(Buffer.from(head, 'latin1'));
        for (const piece of body) this.#blocked = !writeBytes(socket, piece);
        socket.uncork();
      }
    }
    if (this.#blocked) this.#held.update();
    if (isLast) socket.destroySoon();
  }

  #refuse(words: string): void {
    if (this.socket.writable) this.socket.write(words, 'latin1');
    this.socket.destroy();
  }

  #handOver(rest: Buffer): void {
    const socket = this.socket;
    socket.off('data', this.#onData);
    socket.off('drain', this.#onDrain);
    socket.off('end', this.#onEnd);
    socket.off('error', ignore);
    socket.off('close', this.#onClose);
    this.#held.release();
    this.#modules.onGone(this);
    // Paused, the socket keeps what is put back until node:http listens.
    socket.pause();
    socket.unshift(rest);
    this.#modules.handOver(socket);
    socket.resume();
  }
}

/** What follows the first `at` bytes; copied where it is little, as it would keep all of them in memory. */
function restOf(bytes: Buffer, at: number): Buffer {
  const rest = bytes.subarray(at);
  return rest.length < at ? Buffer.from(rest) : rest;
}

/** A broken connection is closed, and closing is what is listened to. */
function ignore(): void {}

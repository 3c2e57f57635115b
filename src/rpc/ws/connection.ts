import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { writeBytes } from '../../primitives/owned-bytes.ts';
import type { CloseReason, Sink } from '../../subscriptions/interface.ts';
import type { StreamMetrics } from '../../subscriptions/metrics.ts';
import { Session, SessionRequest, type Subscriber } from '../../subscriptions/session.ts';
import type { Gate } from '../auth/gate.ts';
import type { Principal } from '../auth/grant.ts';
import type { Answerer } from '../dispatch/answerer.ts';
import { byteLength } from '../dispatch/framing.ts';
import type { RpcResponse } from '../dispatch/response.ts';
import type { ClientMemory, CutReason, HeldBytes, Holder } from '../limits/client-memory.ts';
import { frameOf, headerOf } from './frame.ts';

export interface WsConnectionOptions {
  /** Notifications that may wait for a client, in bytes. Beyond it the client is too slow, and closed. */
  readonly maxQueuedBytes: number;
  /** Requests of one connection being worked on at the same time; the next are read when one is answered. */
  readonly maxConcurrent: number;
}

export interface WsConnectionModules {
  readonly answerer: Answerer;
  readonly subscriber: Subscriber;
  readonly metrics: StreamMetrics;
  readonly memory: ClientMemory;
  readonly gate: Gate | undefined;
  /** The address of the client. */
  readonly address: string;
  /** Who connected; absent where nobody needs a key. */
  readonly principal: Principal | undefined;
}

const SLOW: CloseReason = {
  code: 4008,
  name: 'slow',
  words: 'too slow: messages were about to be lost, subscribe again with fromBlock',
};
const UNAUTHORIZED: CloseReason = {
  code: 4001,
  name: 'unauthorized',
  words: 'the key or token is not valid any more',
};
const GOING_AWAY: CloseReason = { code: 1001, name: 'shutdown', words: 'the node is shutting down' };

/** What an idle connection costs, measured. */
const CONNECTION_BYTES = 20_480;
/** What a ping or pong frame of a client has beside its data: two bytes and a mask. */
const CONTROL_FRAME_BYTES = 6;
/** Whoever can wait does so above this: what is written beyond it only sits in memory. */
const FULL_BYTES = 262_144;
let nextConnection = 1;

/** One WebSocket connection: its requests, and the messages of its subscriptions. */
export class WsConnection implements Sink, Holder {
  readonly client: string;
  readonly socket: Socket;
  readonly #ws: WebSocket;
  readonly #options: WsConnectionOptions;
  readonly #modules: WsConnectionModules;
  readonly #session: Session;
  #principal: Principal | undefined;
  readonly #name = `ws-${nextConnection++}`;
  readonly #held: HeldBytes;
  readonly #gone = new AbortController();
  /** Messages that came while they could not be served. Reading stops, so they are what one read brought. */
  readonly #ahead: Buffer[] = [];
  #aheadBytes = 0;
  /** How many of the bytes read were of whole messages. */
  #readWhole: number;
  /** The last ping that came while the client did not take what it was sent. */
  #unanswered: Buffer | undefined;
  readonly #waiters = new Set<() => void>();
  #working = 0;
  /** Bytes of answers that the client has not taken: those it asked for, however slowly it reads. */
  #answerBytes = 0;
  #isCorked = false;
  #closedFor: CloseReason['name'] | 'silent' | 'memory' | undefined;
  /** Something has been heard from the client since it was last asked. */
  #isAlive = true;

  constructor(ws: WebSocket, socket: Socket, options: WsConnectionOptions, modules: WsConnectionModules) {
    this.#ws = ws;
    this.socket = socket;
    this.client = modules.address;
    this.#options = options;
    this.#modules = modules;
    this.#principal = modules.principal;
    this.#session = new Session(modules.subscriber, this);
    this.#readWhole = socket.bytesRead;
    this.#held = modules.memory.hold(this);
    modules.metrics.connections++;
    ws.on('message', this.#onMessage);
    ws.on('ping', this.#onPing);
    ws.on('pong', this.#onPong);
    // After ws has read it: what is left of it is part of a message that is not whole.
    socket.on('data', this.#onData);
    // A frame that breaks the protocol: ws closes the connection, and says why to the client.
    ws.on('error', () => undefined);
    ws.on('close', this.#onClose);
  }

  get isFull(): boolean {
    return this.socket.writableLength > this.#fullBytes;
  }

  /** What the client has yet to take. */
  get queuedBytes(): number {
    return this.socket.writableLength;
  }

  get heldBytes(): number {
    const unfinished = Math.max(0, this.socket.bytesRead - this.#readWhole);
    return CONNECTION_BYTES + unfinished + this.#aheadBytes + this.#session.filterBytes;
  }

  /** Closes a client that does not take its answers; where memory is short, without a word that would wait too. */
  cut(reason: CutReason): void {
    if (reason === 'slow') {
      this.close(SLOW);
      return;
    }
    this.#closedFor ??= 'memory';
    this.#ws.terminate();
  }

  send(message: Buffer): void {
    if (this.#isClosing) return;
    if (this.#ws.bufferedAmount - this.#answerBytes + message.length > this.#options.maxQueuedBytes) {
      this.close(SLOW);
      return;
    }
    this.#modules.metrics.sent++;
    this.#cork();
    // Past ws, which would make each client a frame of its own: with nothing compressed, it keeps none back either.
    const frame = frameOf(message);
    if (this.socket.writableLength + frame.length > this.#fullBytes) this.socket.write(frame, this.#onTaken);
    else this.socket.write(frame);
  }

  drained(): Promise<void> {
    if (this.socket.destroyed || !this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add(resolve));
  }

  /** Says why, after all that was sent; whatever has been asked is not answered any more. */
  close({ code, name, words }: CloseReason): void {
    if (this.#isClosing) return;
    this.#closedFor = name;
    this.#session.end();
    this.#ws.close(code, words);
    // Paused, it would not hear the client close.
    this.#ws.resume();
  }

  /** Lets requests under way be answered, then closes. */
  drain(): void {
    this.#session.end();
    if (this.#working === 0) this.close(GOING_AWAY);
  }

  destroy(): void {
    this.#ws.terminate();
  }

  /** Closes a client whose key or token is not valid any more. */
  recheck(): void {
    if (this.#principal === undefined) return;
    this.#principal = this.#modules.gate?.again(this.#principal);
    if (this.#principal === undefined) this.close(UNAUTHORIZED);
  }

  /** Asks the client for a sign of life. */
  ping(): void {
    this.#isAlive = false;
    if (!this.#isClosing) this.#ws.ping();
  }

  /** Gives up a client that gave none. While it is not read from, or its requests are worked on, it cannot. */
  checkAlive(): void {
    if (this.#isAlive || this.#isClosing || this.#working > 0 || this.#ws.isPaused) return;
    this.#closedFor = 'silent';
    this.#ws.terminate();
  }

  get #isClosing(): boolean {
    return this.#closedFor !== undefined || this.#ws.readyState !== this.#ws.OPEN;
  }

  /** Above it, the client is sent nothing that can wait, and nothing more is read from it. */
  get #fullBytes(): number {
    return Math.min(FULL_BYTES, this.#options.maxQueuedBytes / 2);
  }

  readonly #onPing = (data: Buffer): void => {
    this.#onPong(data);
    if (this.#isClosing) return;
    if (this.isFull) {
      // Of several, only the last need be answered (RFC 6455, 5.5.3).
      this.#unanswered = data;
      this.#ws.pause();
    } else this.#ws.pong(data, false, this.#onTaken);
  };

  readonly #onPong = (data: Buffer): void => {
    this.#isAlive = true;
    this.#readWhole += CONTROL_FRAME_BYTES + data.length;
  };

  readonly #onData = (): void => this.#held.update();

  readonly #onMessage = (data: RawData): void => {
    this.#isAlive = true;
    this.#readWhole = this.socket.bytesRead;
    if (this.#isClosing || this.#modules.answerer.draining) return;
    // As long as nobody asks ws for another form.
    const body = data as Buffer;
    if (this.#canServe && this.#ahead.length === 0) {
      this.#serve(body);
    } else {
      this.#ahead.push(body);
      this.#aheadBytes += body.length;
      this.#ws.pause();
    }
  };

  /** The client has taken something, or never will. */
  readonly #onTaken = (): void => {
    this.#held.update();
    if (this.isFull && !this.socket.destroyed) return;
    this.#wakeWaiters();
    this.#proceed();
  };

  #wakeWaiters(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  get #canServe(): boolean {
    return this.#working < this.#options.maxConcurrent && !this.isFull;
  }

  readonly #onClose = (code: number): void => {
    const { metrics } = this.#modules;
    metrics.connections--;
    // Codes that ws gives for broken frames and messages that are too large.
    const isProtocol = code === 1002 || code === 1007 || code === 1009;
    metrics.closed(this.#closedFor ?? (isProtocol ? 'protocol' : 'client'));
    this.#ahead.length = 0;
    this.#session.end();
    this.#gone.abort();
    this.#held.release();
    this.#wakeWaiters();
  };

  #serve(body: Buffer): void {
    const request = new SessionRequest(this.#session);
    const answer = this.#modules.answerer.answer(body, {
      signal: this.#gone.signal,
      client: this.#name,
      address: this.client,
      principal: this.#principal,
      connection: this,
      session: request,
    });
    if (!(answer instanceof Promise)) {
      this.#answer(request, answer);
      return;
    }
    this.#working++;
    void answer.then((later) => {
      this.#working--;
      this.#answer(request, later);
      this.#proceed();
    });
  }

  #answer(request: SessionRequest, answer: RpcResponse | undefined): void {
    if (this.#isClosing) return;
    if (answer === undefined) {
      this.#ws.terminate();
      return;
    }
    const { body, answered = [] } = answer;
    request.beforeAnswer(answered);
    if (body !== undefined) {
      const pieces = typeof body === 'string' ? [Buffer.from(body)] : body;
      const bytes = byteLength(pieces);
      this.#answerBytes += bytes;
      this.#cork();
      // Past ws, as what is sent to many: it would copy the pieces into one.
      this.socket.write(headerOf(bytes));
      const onTaken = (): void => {
        this.#answerBytes -= bytes;
        this.#onTaken();
      };
      const last = pieces.length - 1;
      for (const [at, piece] of pieces.entries()) {
        writeBytes(this.socket, piece, at === last ? onTaken : undefined);
      }
    }
    request.afterAnswer();
    this.#held.update();
  }

  /** Goes on with what came ahead, once there is a place and the client takes its answers. */
  #proceed(): void {
    if (this.#isClosing) return;
    if (this.#modules.answerer.draining) {
      if (this.#working === 0) this.close(GOING_AWAY);
      return;
    }
    while (this.#canServe) {
      const next = this.#ahead.shift();
      if (next === undefined) break;
      this.#aheadBytes -= next.length;
      this.#serve(next);
    }
    if (this.#ahead.length > 0 || this.isFull) {
      this.#ws.pause();
      return;
    }
    const ping = this.#unanswered;
    this.#unanswered = undefined;
    if (ping !== undefined) this.#ws.pong(ping, false, this.#onTaken);
    if (this.#ws.isPaused) this.#ws.resume();
  }

  /** All that is sent in this turn of the event loop leaves together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.socket.uncork();
    });
  }
}

import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import type { CloseReason, Sink } from '../subscriptions/interface.ts';
import type { StreamMetrics } from '../subscriptions/metrics.ts';
import { Session, SessionRequest, type Subscriber } from '../subscriptions/session.ts';
import { bindRequest } from '../subscriptions/subscribe-methods.ts';
import type { Answer, Answerer } from './answerer.ts';
import type { Caller } from './dispatcher.ts';
import { frameOf } from './ws-frame.ts';

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
}

const SLOW: CloseReason = {
  code: 4008,
  name: 'slow',
  words: 'too slow: messages were about to be lost, subscribe again with fromBlock',
};
const GOING_AWAY: CloseReason = { code: 1001, name: 'shutdown', words: 'the node is shutting down' };

/** Whoever can wait does so above this: what is written beyond it only sits in memory. */
const FULL_BYTES = 262_144;
const TEXT = { binary: false } as const;

/** One WebSocket connection: its requests, and the messages of its subscriptions. */
export class WsConnection implements Sink {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #options: WsConnectionOptions;
  readonly #modules: WsConnectionModules;
  readonly #session: Session;
  readonly #gone = new AbortController();
  /** Messages that came while all places were taken. Reading stops, so they are what one read brought. */
  readonly #ahead: Buffer[] = [];
  #working = 0;
  /** Bytes of answers that the client has not taken: those it asked for, however slowly it reads. */
  #answerBytes = 0;
  #isCorked = false;
  #closedFor: CloseReason['name'] | 'silent' | undefined;
  /** Something has been heard from the client since it was last asked. */
  #isAlive = true;

  constructor(ws: WebSocket, socket: Socket, options: WsConnectionOptions, modules: WsConnectionModules) {
    this.#ws = ws;
    this.#socket = socket;
    this.#options = options;
    this.#modules = modules;
    this.#session = new Session(modules.subscriber, this);
    modules.metrics.connections++;
    ws.on('message', this.#onMessage);
    ws.on('pong', this.#onPong);
    // A frame that breaks the protocol: ws closes the connection, and says why to the client.
    ws.on('error', () => undefined);
    ws.on('close', this.#onClose);
  }

  get isFull(): boolean {
    return this.#socket.writableLength > Math.min(FULL_BYTES, this.#options.maxQueuedBytes / 2);
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
    this.#socket.write(frameOf(message));
  }

  drained(): Promise<void> {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        socket.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      socket.on('drain', done);
      socket.on('close', done);
    });
  }

  /** Says why, after all that was sent; whatever has been asked is not answered any more. */
  close({ code, name, words }: CloseReason): void {
    if (this.#isClosing) return;
    this.#closedFor = name;
    this.#session.end();
    this.#ws.close(code, words);
  }

  /** Lets requests under way be answered, then closes. */
  drain(): void {
    this.#session.end();
    if (this.#working === 0) this.close(GOING_AWAY);
  }

  destroy(): void {
    this.#ws.terminate();
  }

  /** Asks the client for a sign of life. */
  ping(): void {
    this.#isAlive = false;
    if (!this.#isClosing) this.#ws.ping();
  }

  /** Gives up a client that gave none. While its requests are worked on, nothing may have been read. */
  checkAlive(): void {
    if (this.#isAlive || this.#isClosing || this.#working > 0) return;
    this.#closedFor = 'silent';
    this.#ws.terminate();
  }

  get #isClosing(): boolean {
    return this.#closedFor !== undefined || this.#ws.readyState !== this.#ws.OPEN;
  }

  readonly #onPong = (): void => {
    this.#isAlive = true;
  };

  readonly #onMessage = (data: RawData): void => {
    this.#isAlive = true;
    if (this.#isClosing || this.#modules.answerer.draining) return;
    // As long as nobody asks ws for another form.
    const body = data as Buffer;
    if (this.#working < this.#options.maxConcurrent) {
      this.#serve(body);
    } else {
      this.#ahead.push(body);
      this.#ws.pause();
    }
  };

  readonly #onClose = (code: number): void => {
    const { metrics } = this.#modules;
    metrics.connections--;
    // Codes that ws gives for broken frames and messages that are too large.
    const isProtocol = code === 1002 || code === 1007 || code === 1009;
    metrics.closed(this.#closedFor ?? (isProtocol ? 'protocol' : 'client'));
    this.#ahead.length = 0;
    this.#session.end();
    this.#gone.abort();
  };

  #serve(body: Buffer): void {
    const request = new SessionRequest(this.#session);
    const answer = this.#modules.answerer.answer(body, new WsCaller(request, this.#gone.signal));
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

  #answer(request: SessionRequest, answer: Answer | undefined): void {
    if (this.#isClosing) return;
    if (answer === undefined) {
      this.#ws.terminate();
      return;
    }
    request.beforeAnswer();
    const { body } = answer;
    if (body !== undefined) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.concat(body);
      this.#answerBytes += bytes.length;
      this.#cork();
      this.#ws.send(bytes, TEXT, () => {
        this.#answerBytes -= bytes.length;
        this.#proceed();
      });
    }
    request.afterAnswer();
  }

  /** Goes on with what came ahead, once there is a place and the client takes its answers. */
  #proceed(): void {
    if (this.#isClosing) return;
    if (this.#modules.answerer.draining) {
      if (this.#working === 0) this.close(GOING_AWAY);
      return;
    }
    while (this.#working < this.#options.maxConcurrent && !this.isFull) {
      const next = this.#ahead.shift();
      if (next === undefined) break;
      this.#serve(next);
    }
    const mustWait = this.#ahead.length > 0 || this.isFull;
    if (mustWait) this.#ws.pause();
    else if (this.#ws.isPaused) this.#ws.resume();
  }

  /** All that is sent in this turn of the event loop leaves together. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#socket.uncork();
    });
  }
}

/** What methods know of a request over WebSocket: their connection's subscriptions, by a signal of its own. */
class WsCaller implements Caller {
  readonly #request: SessionRequest;
  readonly #gone: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(request: SessionRequest, gone: AbortSignal) {
    this.#request = request;
    this.#gone = gone;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = AbortSignal.any([this.#gone]);
      bindRequest(this.#signal, this.#request);
    }
    return this.#signal;
  }
}

import { backOffMs, sleep } from '../clock.ts';
import { SourceError, type SourceErrorCode } from '../errors.ts';
import { ClientSocket } from '../transport/client-socket.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { type Decoded, DecodeError, decodeMessage, type WireMessage } from './decode.ts';
import { DecodingLine } from './decoding-line.ts';
import type { FeedKind } from './feeds/address.ts';
import type { FeedHealth, FeedModules, FlashblockFeed } from './feeds/feed.ts';
import { readNodeMessage, SUBSCRIBE } from './feeds/notification.ts';
import { WholeBlockReader, type WholeRead } from './feeds/reader.ts';
import type { StreamOptions } from './options.ts';

/** A message read: a flashblock, nothing new, something else, or why there will be no more. */
type Read = WholeRead | { readonly ok: 'subscribed' } | { readonly ok: 'refused'; readonly reason: string };

/**
 * One WebSocket, connected to again whenever it ends or says nothing for too long: a builder's or proxy's, which sends
 * flashblocks unasked, or a node's, which is asked for whole blocks. Unless it is told which, it waits a while for the
 * first, then asks for the second; what it once was it stays.
 */
export class FlashblockStream implements FlashblockFeed {
  readonly #endpoint: Endpoint;
  readonly #options: StreamOptions;
  readonly #modules: FeedModules;
  readonly #whole: WholeBlockReader;
  #kind: FeedKind | undefined;
  #state: FeedHealth['state'] = 'connecting';
  #messages = 0;
  #undecodable = 0;
  #lastAt: number | undefined;
  #failures = 0;

  constructor(endpoint: Endpoint, options: StreamOptions, modules: FeedModules, kind?: FeedKind) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#modules = modules;
    this.#kind = kind;
    this.#whole = new WholeBlockReader(endpoint.name, options.silenceMs, modules);
  }

  get name(): string {
    return this.#endpoint.name;
  }

  get health(): FeedHealth {
    return {
      name: this.name,
      kind: this.#kind,
      state: this.#state,
      messages: this.#messages,
      undecodable: this.#undecodable,
      isVerified: this.#whole.isVerified,
      lastAt: this.#lastAt,
    };
  }

  /** Listens until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, observe } = this.#modules;
    while (!signal.aborted) {
      const error = await this.#listen(signal);
      if (error === undefined || signal.aborted) return;
      this.#failures += 1;
      this.#state = error.type.code === 'timeout' ? 'silent' : 'lost';
      // Once per outage, not once per try.
      if (this.#failures === 1) {
        observe({ kind: 'stream', stream: this.name, state: this.#state, reason: error.message });
      }
      const { reconnect, afterGarbage } = this.#options;
      const isOfNoUse = error.type.code === 'garbage' || error.type.code === 'unsupported';
      const pauseMs = backOffMs(isOfNoUse ? afterGarbage : reconnect, this.#failures, random);
      await sleep(clock, pauseMs, signal).catch(() => {});
    }
  }

  /** One connection: why it ended, or nothing when the signal aborted. */
  #listen(signal: AbortSignal): Promise<SourceError | undefined> {
    const { connectTimeoutMs, silenceMs, maxMessageBytes, maxUndecodable, probeMs } = this.#options;
    const { clock } = this.#modules;
    return new Promise((resolve) => {
      const socket = new ClientSocket(this.#endpoint, maxMessageBytes, clock);
      let over = false;
      let garbage = 0;
      let cancelProbe = (): void => {};
      const end = (error?: SourceError): void => {
        if (over) return;
        over = true;
        cancel();
        cancelProbe();
        signal.removeEventListener('abort', onAbort);
        // Who sends what nobody can read is not waited for.
        if (error?.type.code === 'garbage') socket.terminate();
        else socket.close();
        resolve(error);
      };
      const onAbort = (): void => end();
      const expect = (ms: number, what: string): (() => void) =>
        clock.after(ms, () => end(this.#error('timeout', what)));
      const silence = `no flashblock for ${silenceMs} ms`;
      const hear = (): void => {
        cancel();
        cancel = expect(silenceMs, silence);
      };
      let cancel = expect(connectTimeoutMs, 'no WebSocket handshake in time');
      if (signal.aborted) end();
      signal.addEventListener('abort', onAbort, { once: true });
      const take = (read: Read): void => {
        if (over) return;
        if (read.ok === 'refused') {
          const what = `no newFlashblocks: ${read.reason}; its http URL can be polled instead`;
          end(this.#error('unsupported', what));
        } else if (read.ok === 'subscribed') {
          garbage = 0;
        } else if (this.#receive(read)) {
          garbage = 0;
          cancelProbe();
          hear();
        } else if (++garbage >= maxUndecodable) {
          end(this.#error('garbage', `${garbage} messages in a row that are no flashblock`));
        }
      };
      const line = new DecodingLine((message) => this.#read(message), socket, take);
      const subscribe = (): void => socket.send(SUBSCRIBE);
      socket.onOpen(() => {
        if (over) return;
        hear();
        if (this.#kind === 'newFlashblocks') subscribe();
        else if (this.#kind === undefined)
          cancelProbe = clock.after(Math.min(probeMs, silenceMs / 2), subscribe);
      });
      socket.onMessage((data, isBinary) => {
        if (over) return;
        this.#messages += 1;
        this.#modules.observe({ kind: 'message', stream: this.name, bytes: data.length });
        line.push({ data, isBinary }, () => !over);
      });
      socket.onClose((reason) => end(this.#error('unreachable', reason)));
    });
  }

  #read(message: WireMessage): Read | Promise<Read> {
    if (this.#kind === 'newFlashblocks') return this.#readNode(message) ?? noBlock;
    const decoded = decodeMessage(message, this.#options);
    if (this.#kind === 'raw') return decoded;
    if (decoded instanceof Promise) return decoded.then((read) => this.#tell(message, read));
    return this.#tell(message, decoded);
  }

  /** Finds out what this is by what it says. */
  #tell(message: WireMessage, decoded: Decoded): Read {
    if (decoded.ok) {
      this.#kind = 'raw';
      return decoded;
    }
    const read = this.#readNode(message);
    // What a node refuses says what it is, not that it has what is asked for.
    if (read !== undefined && read.ok !== 'refused') this.#kind = 'newFlashblocks';
    return read ?? decoded;
  }

  #readNode({ data, isBinary }: WireMessage): Read | undefined {
    if (isBinary) return undefined;
    const said = readNodeMessage(Buffer.from(data).toString('utf8'), this.#options.maxTextBytes);
    if (said?.kind === 'block') return this.#whole.read(said.block, said.place);
    return said?.kind === 'refused' ? { ok: 'refused', reason: said.reason } : said && { ok: 'subscribed' };
  }

  /** True when it was of flashblocks: a stream of anything else is as good as silent. */
  #receive(read: WholeRead): boolean {
    const { clock, observe, admits, take } = this.#modules;
    if (!read.ok) {
      this.#undecodable += 1;
      observe({ kind: 'undecodable', stream: this.name, ...read.error.type });
      return false;
    }
    const { flashblock } = read;
    if (this.#state !== 'live') {
      observe({
        kind: 'stream',
        stream: this.name,
        state: 'connected',
        ...(this.#kind && { feed: this.#kind }),
      });
    }
    this.#state = 'live';
    this.#failures = 0;
    this.#lastAt = clock.now();
    // Whole blocks that are not wanted were not cut.
    const isWanted = this.#kind !== 'raw' || flashblock === undefined || admits(flashblock.index === 0);
    if (isWanted) for (const next of [flashblock, ...(read.empty ?? [])]) take(next);
    else observe({ kind: 'standby', stream: this.name });
    return true;
  }

  #error(code: SourceErrorCode, what: string): SourceError {
    const { name, scrub } = this.#endpoint;
    return new SourceError({ code, upstream: name }, `${name}: ${scrub(what)}`);
  }
}

const noBlock: Read = { ok: false, error: new DecodeError('malformed', 'no message of a node') };

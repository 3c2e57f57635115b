import { brotliCompressSync, constants } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { wireMessage } from '../../../test/support/source/flashblocks.ts';
import {
  type FakeServer,
  type FakeSocket,
  ManualClock,
  startFakeServer,
} from '../../../test/support/source/upstreams.ts';
import { parseEndpoint } from '../transport/endpoint.ts';
import type { FlashblockObservation } from './events.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from './options.ts';
import { FlashblockStream } from './stream.ts';

const maxTextBytes = 2 ** 18;
const options = { ...DEFAULT_FLASHBLOCK_OPTIONS.stream, maxTextBytes };
const { maxUndecodable, silenceMs } = options;

const compressed = (text: string | Uint8Array): Uint8Array =>
  brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
const flashblock = (index: number): string => JSON.stringify(wireMessage({ number: 1, index }));

/** One stream on a scripted server, which says nothing by itself and takes no part in closing. */
class Rig {
  readonly server: FakeServer;
  readonly clock = new ManualClock();
  readonly taken: number[] = [];
  readonly observed: FlashblockObservation[] = [];
  readonly stream: FlashblockStream;
  readonly #abort = new AbortController();

  private constructor(server: FakeServer) {
    this.server = server;
    this.stream = new FlashblockStream(parseEndpoint(server.ws), options, {
      clock: this.clock,
      random: () => 0,
      observe: (event) => this.observed.push(event),
      encode: () => [],
      admits: () => true,
      take: (taken) => this.taken.push(taken?.index ?? -1),
    });
    const running = this.stream.run(this.#abort.signal);
    onTestFinished(async () => {
      this.#abort.abort();
      await running;
      await server.stop();
    });
  }

  static async start(): Promise<Rig> {
    return new Rig(await startFakeServer({}));
  }

  /** The connection number `count`, once it is there. */
  async connection(count: number): Promise<FakeSocket> {
    await until(() => this.server.sockets.length >= count);
    return this.server.sockets[count - 1] as FakeSocket;
  }

  /** Lets the pause of this length pass. */
  async pause(ms: number): Promise<void> {
    await this.clock.armed((left) => left === ms);
    this.clock.advance(ms);
  }
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe('FlashblockStream', () => {
  it.each([
    ['text', (socket: FakeSocket) => socket.send('nope')],
    ['an empty object', (socket: FakeSocket) => socket.send('{"index":0}')],
    ['bytes', (socket: FakeSocket) => socket.sendBytes(Buffer.from('hello'))],
  ])('cuts a peer that sends %s over and over, for longer each time', async (_, send) => {
    const rig = await Rig.start();
    for (const [at, pauseMs] of [500, 1_000, 2_000].entries()) {
      const socket = await rig.connection(at + 1);
      for (let message = 0; message < maxUndecodable; message++) send(socket);
      await until(() => !socket.isOpen);
      expect(rig.stream.health).toMatchObject({ state: 'lost', undecodable: (at + 1) * maxUndecodable });
      await rig.pause(pauseMs);
    }
    // One flashblock, and it starts over with the shortest.
    const socket = await rig.connection(4);
    socket.send(flashblock(0));
    await until(() => rig.taken.length === 1);
    for (let message = 0; message < maxUndecodable; message++) send(socket);
    await until(() => !socket.isOpen);
    await rig.pause(500);
    await rig.connection(5);
  });

  it('bears garbage between flashblocks', async () => {
    const rig = await Rig.start();
    const socket = await rig.connection(1);
    for (let index = 0; index < 4; index++) {
      for (let message = 1; message < maxUndecodable; message++) socket.send('nope');
      socket.send(flashblock(index));
    }
    await until(() => rig.taken.length === 4);
    expect(socket.isOpen).toBe(true);
  });

  it.each([
    ['bombs', Buffer.alloc(2 * maxTextBytes, '{')],
    ['one long string', Buffer.from(`{"a":"${'a'.repeat(2 * maxTextBytes)}"}`)],
    ['brackets', Buffer.alloc(maxTextBytes, '[')],
  ])('cuts a peer that sends brotli of %s', async (_, content) => {
    const rig = await Rig.start();
    const socket = await rig.connection(1);
    const packed = compressed(content);
    // Many more than may wait.
    for (let message = 0; message < 4 * maxUndecodable; message++) socket.sendBytes(packed);
    await until(() => !socket.isOpen);
    // What came after the last one that counted was not inflated.
    expect(rig.stream.health.undecodable).toBe(maxUndecodable);
  });

  it('keeps the order of what is inflated and what is not', async () => {
    const rig = await Rig.start();
    const socket = await rig.connection(1);
    const count = 40;
    for (let index = 0; index < count; index++) {
      if (index % 3 === 0) socket.send(flashblock(index));
      else socket.sendBytes(compressed(flashblock(index)));
    }
    await until(() => rig.taken.length === count);
    expect(rig.taken).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  it('leaves no connection behind whose peer does not take part in closing it', async () => {
    const rig = await Rig.start();
    for (let at = 1; at <= 4; at++) {
      const socket = await rig.connection(at);
      // Goes on talking, as if nothing had been said.
      socket.send('nope');
      await until(() => rig.stream.health.messages === at);
      rig.clock.advance(silenceMs);
      await until(() => rig.stream.health.state === 'silent');
      rig.clock.advance(2_000);
      await until(() => !socket.isOpen);
    }
    expect(rig.server.sockets.filter(({ isOpen }) => isOpen).length).toBeLessThanOrEqual(1);
  });

  it('waits longer each time for a peer that hangs up at once', async () => {
    const rig = await Rig.start();
    for (const [at, pauseMs] of [50, 100, 200, 400].entries()) {
      (await rig.connection(at + 1)).cut();
      await rig.pause(pauseMs);
    }
    expect(rig.observed.filter(({ kind }) => kind === 'stream')).toHaveLength(1);
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { hashAfter, wireMessage } from '../../../../test/support/source/flashblocks.ts';
import { ManualClock, startFakeServer } from '../../../../test/support/source/upstreams.ts';
import { encoded, wholeBlock } from '../../../../test/support/source/whole-blocks.ts';
import { FlashblockSource } from '../flashblock-source.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from '../options.ts';

const { stream, poll } = DEFAULT_FLASHBLOCK_OPTIONS;

it('falls back from a stream to polling when the stream ends, and goes back with the next block', async () => {
  const clock = new ManualClock();
  const raw = await startFakeServer({});
  let pending = wholeBlock(7, ['a']);
  let polls = 0;
  const node = await startFakeServer({
    http: () => {
      polls += 1;
      return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: pending }) };
    },
  });
  const observed: string[] = [];
  const source = new FlashblockSource([node.http, raw.ws], DEFAULT_FLASHBLOCK_OPTIONS, {
    clock,
    random: () => 0,
    encode: (list) => list.map(encoded),
    observe: ({ kind }) => void observed.push(kind),
  });
  const shown: string[] = [];
  const abort = new AbortController();
  source.setHead({ number: 6, hash: hashAfter(6) });
  const reading = (async () => {
    for await (const event of source.events(abort.signal)) {
      if (event.kind === 'flashblock') {
        const { blockNumber, index } = event.flashblock;
        shown.push(`${event.stream === raw.ws ? 'raw' : 'polled'} ${blockNumber}:${index}`);
      } else shown.push(event.kind);
    }
  })();
  onTestFinished(async () => {
    abort.abort();
    await reading;
    await Promise.all([raw.stop(), node.stop()]);
  });
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const pollAgain = async (): Promise<void> => {
    const before = source.streams[0]?.messages ?? 0;
    await clock.armed((left) => left === poll.intervalMs);
    clock.advance(poll.intervalMs);
    await until(() => (source.streams[0]?.messages ?? 0) > before);
  };
  const send = async (index: number, number = 7): Promise<void> => {
    await until(() => raw.sockets.at(-1)?.isOpen === true);
    const before = source.streams[1]?.messages ?? 0;
    raw.sockets.at(-1)?.send(JSON.stringify(wireMessage({ number, index })));
    await until(() => (source.streams[1]?.messages ?? 0) > before);
  };

  await until(() => shown.length === 1);
  // In the middle of a block the stream is of no use yet.
  await send(3);
  pending = wholeBlock(7, ['a', 'b']);
  await pollAgain();
  await until(() => shown.length === 2);
  await send(0);
  await until(() => shown.length === 3);
  pending = wholeBlock(7, ['a', 'b', 'c']);
  await pollAgain();
  await send(1);
  await until(() => shown.length === 4);
  raw.sockets.at(-1)?.cut();
  await until(() => source.streams[1]?.state === 'lost');
  await pollAgain();
  await until(() => shown.length === 5);
  expect(shown).toEqual(['polled 7:0', 'polled 7:1', 'raw 7:0', 'raw 7:1', 'polled 7:0']);
  expect(observed.filter((kind) => kind === 'standby').length).toBeGreaterThanOrEqual(2);
  // The same answer again and again is no silence; no answer is.
  for (let at = 0; at < (2 * stream.silenceMs) / poll.intervalMs; at += 1) await pollAgain();
  expect(shown).toHaveLength(5);
  expect(polls).toBeGreaterThan(10);
  clock.advance(stream.silenceMs);
  await until(() => shown.length === 6);
  expect(shown.at(-1)).toBe('dropped');
});

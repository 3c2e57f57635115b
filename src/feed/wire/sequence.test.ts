import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeItem } from './item-codec.ts';
import { encodeMessages, type Position } from './message.ts';
import { FeedSequence, type FeedStep } from './sequence.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const PART = 64;
const LIMIT = 10_000;

/** An item that names its place; `long` ones are three parts of bytes that do not compress. */
function messagesOf(position: Position, long = false): Uint8Array[] {
  const reason = `${position.epoch}/${position.sequence}`;
  const noise = Array.from({ length: long ? 70 : 0 }, (_, at) => String.fromCharCode(33 + ((at * 37) % 90)));
  const item = encodeItem({ kind: 'dropped', from: 1, reason: reason + noise.join(''), version: undefined });
  return encodeMessages(position, item, PART);
}

const at = (sequence: number, epoch = 1): Position => ({ epoch, sequence });

/** What was told, in a line each: the item's own words, or why and between which places something is lost. */
function told(step: FeedStep): string {
  if (step.kind === 'lost') {
    const { reason, had, came } = step.lost;
    return `lost ${reason} ${name(had)}-${name(came)}`;
  }
  const text = step.item.kind === 'dropped' ? step.item.reason : step.item.kind;
  return text.startsWith(name(step.position)) ? name(step.position) : `${name(step.position)} is ${text}`;
}

const name = (position: Position | undefined): string =>
  position === undefined ? '?' : `${position.epoch}/${position.sequence}`;

function feed(sequence: FeedSequence, ...messages: readonly (Uint8Array | undefined)[]): string[] {
  return messages.flatMap((message) =>
    message === undefined ? ['no message'] : sequence.take(message).map(told),
  );
}

describe(`the sequence of the feed (TEST_SEED=${seed})`, () => {
  it('begins anywhere, and says so', () => {
    const sequence = new FeedSequence(LIMIT);
    expect(feed(sequence, ...messagesOf(at(5)), ...messagesOf(at(6)))).toEqual([
      'lost start ?-1/5',
      '1/5',
      '1/6',
    ]);
    expect(sequence.last).toEqual(at(6));
  });

  it('delivers once what comes twice, and says where something is missing', () => {
    const sequence = new FeedSequence(LIMIT);
    const order = [1, 1, 2, 5, 3, 4, 5, 6];
    expect(feed(sequence, ...order.flatMap((number) => messagesOf(at(number))))).toEqual([
      'lost start ?-1/1',
      '1/1',
      '1/2',
      'lost gap 1/2-1/5',
      '1/5',
      '1/6',
    ]);
    expect(sequence.ignored).toEqual({ stale: 0, repeated: 4, unreadable: 0 });
  });

  it('ends an epoch with the first message of a higher one, and ignores what the old writer still says', () => {
    const sequence = new FeedSequence(LIMIT);
    const places = [at(8), at(1, 2), at(9), at(2, 2), at(10), at(4, 5), at(3, 2)];
    expect(feed(sequence, ...places.flatMap((place) => messagesOf(place)))).toEqual([
      'lost start ?-1/8',
      '1/8',
      'lost epoch 1/8-2/1',
      '2/1',
      '2/2',
      'lost epoch 2/2-5/4',
      '5/4',
    ]);
    expect(sequence.ignored.stale).toBe(3);
  });

  it('believes the store about epochs, and not the feed', () => {
    const sequence = new FeedSequence(LIMIT);
    feed(sequence, ...messagesOf(at(1, 900)));
    expect(feed(sequence, ...messagesOf(at(7, 3)))).toEqual([]);
    sequence.fence(3);
    expect(feed(sequence, ...messagesOf(at(2, 2)), ...messagesOf(at(8, 3)))).toEqual([
      'lost start ?-3/8',
      '3/8',
    ]);
    sequence.fence(3);
    expect(feed(sequence, ...messagesOf(at(9, 3)))).toEqual(['3/9']);
    sequence.fence(4);
    expect(feed(sequence, ...messagesOf(at(10, 3)), ...messagesOf(at(1, 4)))).toEqual([
      'lost epoch 3/9-4/1',
      '4/1',
    ]);
  });

  it('puts parts together, also when some are sent again', () => {
    const sequence = new FeedSequence(LIMIT);
    feed(sequence, ...messagesOf(at(1)));
    const [a, b, c, ...more] = messagesOf(at(2), true);
    expect(more).toEqual([]);
    expect(feed(sequence, a, b, a, b, c, b, c, ...messagesOf(at(3)))).toEqual(['1/2', '1/3']);
    expect(sequence.ignored.repeated).toBe(4);
  });

  it('says that an item is lost as soon as one of its parts must be', () => {
    const [a, b, c] = messagesOf(at(2), true);
    const after = messagesOf(at(3));
    for (const came of [
      [a, c],
      [b, c],
      [c, a, b, c],
    ]) {
      const sequence = new FeedSequence(LIMIT);
      feed(sequence, ...messagesOf(at(1)));
      expect(feed(sequence, ...came)).toEqual(['lost parts 1/1-1/2']);
      expect(feed(sequence, ...after)).toEqual(['1/3']);
    }
    const cut = new FeedSequence(LIMIT);
    feed(cut, ...messagesOf(at(1)));
    // Its last part may still come, until another item does.
    expect(feed(cut, a, b)).toEqual([]);
    expect(feed(cut, ...after, c)).toEqual(['lost gap 1/1-1/3', '1/3']);
    expect(feed(new FeedSequence(LIMIT), b, c, ...after)).toEqual(['lost start ?-1/2', '1/3']);
    const mixed = new FeedSequence(LIMIT);
    feed(mixed, ...messagesOf(at(1)));
    const [, otherSecond] = encodeMessages(at(2), Buffer.alloc(50, 1), PART);
    expect(feed(mixed, a, otherSecond)).toEqual(['lost parts 1/1-1/2']);
  });

  it('says that an item is lost when it is longer than it may be, or is none', () => {
    const small = new FeedSequence(70);
    feed(small, ...messagesOf(at(1)));
    expect(feed(small, ...messagesOf(at(2), true), ...messagesOf(at(3)))).toEqual([
      'lost parts 1/1-1/2',
      '1/3',
    ]);
    const sequence = new FeedSequence(LIMIT);
    feed(sequence, ...messagesOf(at(1)));
    const nonsense = encodeMessages(at(2), Buffer.from([99, 1, 2]), PART);
    expect(feed(sequence, ...nonsense, ...messagesOf(at(3)))).toEqual(['lost unreadable 1/1-1/2', '1/3']);
  });

  it('says that it does not know a version, and ignores what is no message', () => {
    const sequence = new FeedSequence(LIMIT);
    feed(sequence, ...messagesOf(at(1)));
    expect(feed(sequence, Buffer.from([2, 0, 1, 2, 3]))).toEqual(['lost format 1/1-?']);
    const [broken = new Uint8Array()] = messagesOf(at(2));
    broken[6] = (broken[6] ?? 0) ^ 1;
    expect(feed(sequence, Buffer.from('hello').fill(1, 0, 1), new Uint8Array(), broken)).toEqual([]);
    expect(feed(sequence, ...messagesOf(at(3)))).toEqual(['lost gap 1/1-1/3', '1/3']);
    expect(sequence.ignored.unreadable).toBe(3);
  });

  it('delivers everything in order or says lost just before the next, whatever happens to messages', () => {
    const fate = fc.constantFrom('sent', 'sent', 'sent', 'sent', 'gone', 'twice', 'late');
    const items = fc.array(
      fc.tuple(fc.boolean(), fc.boolean(), fc.array(fate, { minLength: 3, maxLength: 3 })),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(items, (plan) => {
        const sent: Uint8Array[] = [];
        const complete = new Set<string>();
        let held: Uint8Array[] = [];
        let place = at(0);
        for (const [long, begins, fates] of plan) {
          place =
            begins && fates[0] === 'late' ? at(1, place.epoch + 1) : at(place.sequence + 1, place.epoch);
          const messages = messagesOf(place, long);
          if (messages.every((_, part) => fates[part] !== 'gone')) complete.add(name(place));
          messages.forEach((message, part) => {
            if (fates[part] === 'gone') return;
            if (fates[part] === 'late') {
              held.push(message);
              return;
            }
            sent.push(message, ...held, ...(fates[part] === 'twice' ? [message] : []));
            held = [];
          });
        }
        sent.push(...held);
        expectExact(sent, complete);
      }),
      { seed, numRuns: 1000 },
    );
  });
});

/** Nothing twice, nothing out of order, nothing that was not sent, and no step over a place without a `lost`. */
function expectExact(sent: readonly Uint8Array[], complete: ReadonlySet<string>): void {
  const sequence = new FeedSequence(LIMIT);
  let last: Position | undefined;
  let mayBreak = false;
  for (const step of sent.flatMap((message) => sequence.take(message))) {
    if (step.kind === 'lost') {
      mayBreak = true;
      continue;
    }
    expect(told(step)).toBe(name(step.position));
    expect(complete).toContain(name(step.position));
    const { epoch, sequence: number } = step.position;
    if (last !== undefined) {
      expect(epoch > last.epoch || (epoch === last.epoch && number > last.sequence)).toBe(true);
    }
    const follows = last !== undefined && epoch === last.epoch && number === last.sequence + 1;
    expect(follows || mayBreak).toBe(true);
    last = step.position;
    mayBreak = false;
  }
}

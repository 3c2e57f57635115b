import { expect, it } from 'vitest';
import { type Collection, HeapReclaimer } from './heap-reclaimer.ts';

const MIB = 2 ** 20;

function world() {
  const now = { held: 0, kept: 0, garbage: 0, heap: 0, heapGarbage: 0, busy: 0, emptied: 0 };
  const collections: Collection[] = [];
  const left = new HeapReclaimer({
    held: () => now.held,
    use: () => ({ heap: now.heap + now.heapGarbage, external: now.kept + now.garbage, busy: now.busy }),
    resident: () => now.kept + now.heap + now.emptied,
    collect: (kind) => {
      collections.push(kind);
      now.garbage = 0;
      now.heapGarbage = 0;
      if (kind === 'thorough') now.emptied = 0;
    },
  });
  /** What is collected in so many looks. */
  const look = (times: number): Collection[] => {
    for (let rest = times; rest > 0; rest--) left.look();
    return collections.splice(0);
  };
  return { now, look };
}

it('collects once there is much that no client holds, and thoroughly once no more comes', () => {
  const { now, look } = world();
  now.kept = 300 * MIB;
  expect(look(20)).toEqual([]);
  now.garbage = 50 * MIB;
  expect(look(1)).toEqual(['quick']);
  now.garbage = 50 * MIB;
  expect(look(6)).toEqual(['quick']);
  now.garbage = 40 * MIB;
  expect(look(20)).toEqual(['thorough']);
  now.garbage = 40 * MIB;
  expect(look(20)).toEqual([]);
  // A cache, say.
  now.kept = 400 * MIB;
  expect(look(20)).toEqual(['quick', 'thorough']);
  expect(look(20)).toEqual([]);
});

it('collects thoroughly what clients held, however little of it V8 sees', () => {
  const { now, look } = world();
  [now.held, now.kept] = [200 * MIB, 230 * MIB];
  expect(look(20)).toEqual([]);
  [now.held, now.kept] = [0, 30 * MIB];
  expect(look(20)).toEqual(['thorough']);
  now.held = 10 * MIB;
  expect(look(20)).toEqual([]);
  now.held = 0;
  expect(look(20)).toEqual([]);
});

it('waits with a thorough collection until the thread is calm and its heap small', () => {
  const { now, look } = world();
  expect(look(1)).toEqual([]);
  now.garbage = 50 * MIB;
  now.busy = 0.9;
  expect(look(20)).toEqual(['quick']);
  [now.busy, now.heap] = [0.1, 90 * MIB];
  expect(look(20)).toEqual(['quick']);
  now.heap = 30 * MIB;
  expect(look(20)).toEqual(['thorough']);
});

it('does not take garbage for a large heap', () => {
  const { now, look } = world();
  expect(look(1)).toEqual([]);
  // Of clients too, and not counted as theirs.
  [now.heap, now.busy] = [100 * MIB, 0.9];
  expect(look(20)).toEqual(['quick']);
  [now.heap, now.heapGarbage] = [20 * MIB, 80 * MIB];
  expect(look(20)).toEqual([]);
  now.busy = 0.1;
  expect(look(20)).toEqual(['quick', 'thorough']);
  expect(look(20)).toEqual([]);
});

it('gives back pages that V8 has emptied, of which only the size of the process tells', () => {
  const { now, look } = world();
  now.kept = 100 * MIB;
  expect(look(20)).toEqual([]);
  now.emptied = 40 * MIB;
  now.busy = 0.9;
  expect(look(20)).toEqual([]);
  now.busy = 0.1;
  expect(look(1)).toEqual(['thorough']);
  // Not all the time, and seen however soon it grew again.
  now.emptied = 60 * MIB;
  expect(look(15)).toEqual([]);
  expect(look(1)).toEqual(['thorough']);
  now.emptied = 20 * MIB;
  expect(look(40)).toEqual([]);
});

it('does not take for growth what a start needs', () => {
  const { now, look } = world();
  expect(look(5)).toEqual([]);
  now.kept = 40 * MIB;
  expect(look(40)).toEqual([]);
});

it('leaves V8 to itself where it cannot be asked to collect', () => {
  const left = new HeapReclaimer({
    held: () => 0,
    use: () => ({ heap: 2 ** 40, external: 0, busy: 0 }),
    collect: undefined,
  });
  expect(() => left.look()).not.toThrow();
});

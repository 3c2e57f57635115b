import { expect, it } from 'vitest';
import { ThreadTurn } from './thread-turn.ts';

const SOMEBODY = { client: 'a', connection: {} };

/** Keeps the thread busy for as long as makes a turn long enough. */
function workFor(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

/** Counts the turns of the event loop from now on. */
function countTurns(): { count: number } & Disposable {
  const turns = { count: 0, [Symbol.dispose]: () => clearImmediate(next) };
  const tick = (): void => {
    turns.count++;
    next = setImmediate(tick);
  };
  let next = setImmediate(tick);
  return turns;
}

it('begins what waits in rounds, so that a client with much does not keep others waiting', async () => {
  const turn = new ThreadTurn();
  using turns = countTurns();
  const order: string[] = [];
  const begunIn = new Set<number>();
  const begin = (client: string, connection: object, name: string): Promise<void> =>
    turn.later({ client, connection }, () => {
      const began = performance.now();
      workFor(13);
      turn.note(began);
      order.push(name);
      begunIn.add(turns.count);
    });
  const [one, another, b] = [{}, {}, {}];
  const all = [
    ...[begin('a', one, 'a1'), begin('a', one, 'a2'), begin('a', another, 'a3')],
    ...[begin('b', b, 'b1'), begin('b', b, 'b2')],
  ];
  await all[0];
  all.push(begin('c', {}, 'c1'));
  await Promise.all(all);
  // The connections of one client take turns, too.
  expect(order).toEqual(['a1', 'b1', 'a3', 'c1', 'b2', 'a2']);
  // The event loop turned between any two.
  expect(begunIn.size).toBe(6);
});

it('goes on in the same turn while there is time', async () => {
  const turn = new ThreadTurn();
  using turns = countTurns();
  const work = Array.from({ length: 5 }, () => turn.later(SOMEBODY, () => turns.count));
  expect(new Set(await Promise.all(work)).size).toBe(1);
});

it('passes on what the work gives or throws', async () => {
  const turn = new ThreadTurn();
  expect(await turn.later(SOMEBODY, () => Promise.resolve(7))).toBe(7);
  await expect(
    turn.later(SOMEBODY, () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
});

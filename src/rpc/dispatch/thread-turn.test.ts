import { expect, it } from 'vitest';
import { ThreadTurn } from './thread-turn.ts';

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

it('begins what waits in rounds, so that a connection with much does not keep others waiting', async () => {
  const turn = new ThreadTurn();
  using turns = countTurns();
  const order: string[] = [];
  const begunIn = new Set<number>();
  const begin = (connection: object, name: string): Promise<void> =>
    turn.later(connection, () => {
      const began = performance.now();
      workFor(13);
      turn.note(began);
      order.push(name);
      begunIn.add(turns.count);
    });
  const [many, few, one] = [{}, {}, {}];
  const all = [begin(many, 'a1'), begin(many, 'a2'), begin(many, 'a3'), begin(few, 'b1'), begin(few, 'b2')];
  await all[0];
  all.push(begin(one, 'c1'));
  await Promise.all(all);
  expect(order).toEqual(['a1', 'b1', 'a2', 'c1', 'b2', 'a3']);
  // The event loop turned between any two.
  expect(begunIn.size).toBe(6);
});

it('goes on in the same turn while there is time', async () => {
  const turn = new ThreadTurn();
  using turns = countTurns();
  const work = Array.from({ length: 5 }, () => turn.later({}, () => turns.count));
  expect(new Set(await Promise.all(work)).size).toBe(1);
});

it('passes on what the work gives or throws', async () => {
  const turn = new ThreadTurn();
  expect(await turn.later({}, () => Promise.resolve(7))).toBe(7);
  await expect(
    turn.later({}, () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
});

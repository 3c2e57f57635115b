import type { Awaitable } from './hex.ts';

/** Goes on with a value at once when it is there already: most reads are, and a microtask each would add up. */
export function andThen<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

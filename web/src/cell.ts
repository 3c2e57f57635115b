import { useEffect, useState } from 'preact/hooks';

/** A value that views look at. Each view is drawn again for its own cells alone: flashblocks do not redraw tables. */
export class Cell<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The value of a cell; the view is drawn again when it changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [, redraw] = useState(0);
  useEffect(() => cell.listen(() => redraw((count) => count + 1)), [cell]);
  return cell.value;
}

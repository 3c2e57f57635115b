import type { Hex } from '../primitives/hex.ts';

/** A message of a subscription, in geth's envelope; `result` is JSON. `point` is for those who asked for it. */
export function notification(id: Hex, result: string, point?: string): Buffer {
  const more = point === undefined ? '' : `,"point":"${point}"`;
  return Buffer.from(
    `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}${more}}}`,
  );
}

/** The same result for many: subscriptions of different connections often have one id, and share the bytes. */
export class SharedNotification {
  readonly result: string;
  readonly #byId = new Map<Hex, Buffer>();

  constructor(result: string) {
    this.result = result;
  }

  to(id: Hex): Buffer {
    let bytes = this.#byId.get(id);
    if (bytes === undefined) {
      bytes = notification(id, this.result);
      this.#byId.set(id, bytes);
    }
    return bytes;
  }
}

import type { Hex } from '../primitives/hex.ts';

/** A message of a subscription, in geth's envelope; `result` is JSON, and so is `more`, members that go beside it. */
export function notification(id: Hex, result: string, more = ''): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}${more}}}`,
  );
}

/** Up to where the chain can be read, as a member that goes beside a result, for those who asked for it. */
export function pointMember(point: string): string {
  return `,"point":"${point}"`;
}

/** The same result for many: subscriptions of different connections often have one id, and share the bytes. */
export class SharedNotification {
  readonly result: string;
  readonly #more: string;
  readonly #byId = new Map<Hex, Buffer>();

  constructor(result: string, more = '') {
    this.result = result;
    this.#more = more;
  }

  to(id: Hex): Buffer {
    let bytes = this.#byId.get(id);
    if (bytes === undefined) {
      bytes = notification(id, this.result, this.#more);
      this.#byId.set(id, bytes);
    }
    return bytes;
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import type { FollowingNode } from '../support/servers/our-node.ts';
import { send } from '../support/servers/rpc-client.ts';

/** Code that gives the number of the block it runs in. */
const NUMBER_CODE = '0x4360005260206000f3';
const ANYBODY = `0x${'c'.repeat(40)}`;

/** The number of the block that a tag means to our node; undefined when it means none. */
export async function numberOf(node: FollowingNode, tag: string): Promise<number | undefined> {
  const params = [{ to: ANYBODY }, tag, { [ANYBODY]: { code: NUMBER_CODE } }];
  const answer = await send(node.url, { method: 'eth_call', params });
  return 'result' in answer ? Number(answer.result) : undefined;
}

/** Asks our node without end, and remembers every head that it answered from. */
export class HeadsServed implements AsyncDisposable {
  readonly heads = new Map<string, number>();
  private readonly url: string;
  private readonly stop = new AbortController();
  private readonly asking: Promise<void>;

  constructor(node: FollowingNode) {
    this.url = node.url;
    this.asking = this.ask();
  }

  /** Those that are none of these. */
  others(known: ReadonlyMap<string, number>): readonly string[] {
    return [...this.heads].filter(([hash]) => !known.has(hash)).map(([hash, number]) => `${number} ${hash}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    await this.asking;
  }

  private async ask(): Promise<void> {
    while (!this.stop.signal.aborted) {
      const response = await fetch(this.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"jsonrpc":"2.0","id":1,"method":"eth_getTransactionCount","params":["${ANYBODY}","latest"]}`,
      }).catch(() => undefined);
      await response?.text();
      const [number, hash] = response?.headers.get('x-chain-head')?.split(';') ?? [];
      if (hash !== undefined) this.heads.set(hash, Number(number));
      await pause(10);
    }
  }
}

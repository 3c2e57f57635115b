import type { Hex } from 'viem';
import { request } from '../support/servers/rpc-client.ts';
import type { Catalogue } from '../support/workload/catalogue.ts';
import type { Head } from './judge.ts';

interface Block {
  readonly hash: Hex;
  readonly parentHash: Hex;
  readonly number: Hex;
  readonly transactions: readonly { readonly from: Hex; readonly to: Hex | null; readonly input: Hex }[];
}

interface Receipt {
  readonly contractAddress?: Hex | null;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[];
}

/** The upstream's chain as the test knows it. Only the test makes blocks, so it knows when to look. */
export class ChainView {
  private readonly url: string;
  private readonly catalogue: Catalogue;
  private readonly hashes: Hex[] = [];
  private readonly seen = new Set<string>();
  private replaced = 0;
  private count = 0;
  private changing: Promise<void> = Promise.resolve();

  constructor(url: string, catalogue: Catalogue) {
    this.url = url;
    this.catalogue = catalogue;
  }

  get head(): number {
    return this.hashes.length - 1;
  }

  /** Grows whenever a block is taken back. */
  get generation(): number {
    return this.replaced;
  }

  get transactions(): number {
    return this.count;
  }

  hashOf(number: number): Hex | undefined {
    return this.hashes[number];
  }

  /** Whether a block was ever part of the chain. */
  hasSeen(hash: string): boolean {
    return this.seen.has(hash);
  }

  isCanonical({ number, hash }: Head): boolean {
    return this.hashes[number] === hash;
  }

  /** Runs what changes the chain; who waits for `settle` meanwhile goes on when the view is true again. */
  async during(change: () => Promise<void>): Promise<void> {
    const done = change().then(() => this.update());
    this.changing = done.catch(() => {});
    await done;
  }

  settle(): Promise<void> {
    return this.changing;
  }

  /** Takes in all blocks up to the upstream's head, from where its chain left ours. */
  private async update(): Promise<void> {
    const fresh: Block[] = [];
    let block = await this.block('latest');
    for (;;) {
      fresh.unshift(block);
      const number = Number(block.number);
      if (number === 0 || this.hashes[number - 1] === block.parentHash) break;
      block = await this.block(block.parentHash);
    }
    const first = Number(fresh[0]?.number);
    const known = this.hashes.slice(first);
    // A head that was seen before is neither new nor a change.
    if (known.some((hash, at) => fresh[at] !== undefined && fresh[at].hash !== hash)) this.replaced += 1;
    if (known.length >= fresh.length && fresh.every(({ hash }, at) => known[at] === hash)) {
      if (known.length > fresh.length) this.replaced += 1;
      this.hashes.length = first + fresh.length;
      return;
    }
    for (const { hash, transactions } of fresh) {
      this.seen.add(hash);
      const receipts = await request<readonly Receipt[]>(this.url, 'eth_getBlockReceipts', [hash]);
      this.catalogue.observe(transactions, receipts);
      this.count += transactions.length;
    }
    this.hashes.length = first;
    this.hashes.push(...fresh.map(({ hash }) => hash));
  }

  private async block(selector: string): Promise<Block> {
    const method = selector === 'latest' ? 'eth_getBlockByNumber' : 'eth_getBlockByHash';
    return request<Block>(this.url, method, [selector, true]);
  }
}

import type { EncodedOutcome } from '../../chain/outcome.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { SYSTEM_CONTRACTS } from '../../chain/system-contracts.ts';
import type { BlockEffects } from '../../executor/interface.ts';
import { codeHashOf, nonceOf } from '../../executor/missing.ts';
import { checkProof, readHeader } from '../../executor/native-executor.ts';
import { fromHex, type Hex, toHex } from '../../primitives/hex.ts';
import { parseAddress, parseHash, parseObject } from '../../primitives/parse.ts';
import { SourceError } from '../../source/errors.ts';
import type {
  AccountState,
  ChainSource,
  JsonObject,
  ReadOptions,
  TracedDiff,
} from '../../source/interface.ts';
import type { Store } from '../../store/interface.ts';
import { askUntilValid } from '../blocks/ask-until-valid.ts';
import type { BlockReader, ReadBlock } from '../blocks/reader.ts';
import type { BlockReads } from './block-reads.ts';
import { settleDeletions } from './deletions.ts';

/** Values that are proven at most where a diff contradicts what is held. */
const MAX_HELD = 1_000;

export interface EffectsModules {
  readonly source: Pick<ChainSource, 'stateDiffs' | 'state' | 'proof' | 'report'>;
  readonly blocks: Pick<BlockReader, 'receiptsOf'>;
}

/**
 * What the transactions of a block did, as an upstream tells it. Their receipts are proven by the block's receipts root; their
 * state diffs are not, unless `prove` is called.
 */
export class ToldEffects implements BlockEffects {
  readonly isWhole: boolean;
  /** The transactions that were taken from it. */
  transactions: readonly number[] = [];
  readonly #block: ReadBlock;
  readonly #modules: EffectsModules;
  readonly #options: ReadOptions;
  #diffs: readonly TracedDiff[] = [];
  #upstream: string | undefined;

  /** `isWhole`: all of them are taken, as the rules of the block are not known. */
  constructor(block: ReadBlock, isWhole: boolean, modules: EffectsModules, options: ReadOptions) {
    this.isWhole = isWhole;
    this.#block = block;
    this.#modules = modules;
    this.#options = options;
  }

  /** Who told the state diffs; undefined while nobody was asked. */
  get upstream(): string | undefined {
    return this.#upstream;
  }

  async read(): Promise<string> {
    const { source, blocks } = this.#modules;
    const receipts = await blocks.receiptsOf(this.#block, this.#options);
    const { value: diffs, upstream } = await source.stateDiffs(this.#block.hash, this.#options);
    if (diffs.length !== receipts.length) {
      throw new SourceError({ code: 'garbage', upstream }, `${upstream}: not one state diff a transaction`);
    }
    this.#upstream = upstream;
    this.#diffs = await settleDeletions(diffs, receipts, (address) => this.#readAfter(address));
    const unknown = [...SYSTEM_CONTRACTS];
    return JSON.stringify({ diffs: this.#diffs, receipts, ...(this.isWhole && { whole: true, unknown }) });
  }

  async #readAfter(address: Hex): Promise<AccountState | undefined> {
    const key = { kind: 'account', address: fromHex(address) } as const;
    const [read] = await this.#modules.source.state([key], this.#block.hash, this.#options);
    return read?.kind === 'account' ? read.account : undefined;
  }

  taken(transactions: readonly number[]): void {
    this.transactions = transactions;
  }

  /** Throws when a Merkle proof shows that what was taken is not so; whoever told it is reported. */
  async prove(outcome: EncodedOutcome): Promise<void> {
    const { stateRoot } = readHeader(outcome.header);
    await Promise.all(
      [...this.#addresses()].map((address) => this.#proveAccount(address, outcome, stateRoot)),
    );
  }

  /** The accounts that what was taken changed. */
  #addresses(): ReadonlySet<Hex> {
    const diffs = this.#diffs.filter((_, index) => this.transactions.includes(index));
    const names = diffs.flatMap(({ pre, post }) => [...Object.keys(pre), ...Object.keys(post)]);
    return new Set(names.map((name) => parseAddress(name, 'address')));
  }

  /**
   * Adds to what a block that does not verify was executed on: who told the diffs, and all that they name as it is held here
   * after block `number`. What an earlier diff left out is held as it was before, and nobody has read it since.
   */
  async addTo(reads: BlockReads, store: Pick<Store, 'loadState'>, number: number): Promise<void> {
    // What such a block credits, or writes into system contracts, is not in its diffs: nobody lied where it is held as it was.
    if (this.isWhole) {
      for (const [text, { key }] of reads.held) if (isUnknown(key)) reads.held.delete(text);
    }
    if (this.#upstream === undefined) return;
    reads.addSource(this.#upstream);
    const keys = this.#diffs.flatMap(({ pre, post }) => [...keysOf(pre), ...keysOf(post)]);
    const some = [...new Map(keys.map((key) => [keyText(key), key])).values()].slice(0, MAX_HELD);
    const values = await store.loadState(some, number);
    for (const [index, key] of some.entries()) {
      const value = values[index];
      if (this.isWhole && isUnknown(key)) continue;
      if (value !== undefined) reads.held.set(keyText(key), { key, value });
    }
  }

  async #proveAccount(name: Hex, { diff, hash }: EncodedOutcome, stateRoot: Hex): Promise<void> {
    if (this.isWhole && SYSTEM_CONTRACTS.has(name)) return;
    const { source } = this.#modules;
    const address = fromHex(name);
    const isOf = (entry: readonly Uint8Array[]): boolean =>
      Buffer.compare(entry[0] ?? address, address) === 0;
    const account = diff.accounts.find(isOf)?.[1];
    const slots = diff.slots.filter(isOf);
    if (account === undefined && slots.length === 0) return;
    const keys = slots.map(([, slot]) => slot);
    const [truth, ...values] = await askUntilValid(source, {
      item: hash,
      ask: () => source.proof(address, keys, hash, this.#options),
      read: ({ value }) => checkProof(stateRoot, address, keys, value),
    });
    const isSame = this.isWhole ? isEqualButForBalance : isEqual;
    if (account !== undefined && !isSame(account, truth)) this.#accuse(`account ${name}`);
    for (const [index, [, slot, value]] of slots.entries()) {
      if (!isEqual(value, values[index])) this.#accuse(`slot ${toHex(slot)} of ${name}`);
    }
  }

  #accuse(what: string): never {
    const upstream = this.#upstream ?? this.#block.upstream;
    this.#modules.source.report(upstream, { item: this.#block.hash, what: `state diff proof: ${what}` });
    throw new SourceError(
      { code: 'garbage', upstream },
      `${upstream}: its state diff is proven false: ${what}`,
    );
  }
}

function keysOf(accounts: JsonObject): readonly StateKey[] {
  return Object.entries(accounts).flatMap(([name, account]): StateKey[] => {
    const address = fromHex(parseAddress(name, 'address'));
    const { storage = {} } = parseObject(account, 'account');
    const slots = Object.keys(parseObject(storage, 'storage')).map((slot) =>
      fromHex(parseHash(slot, 'slot')),
    );
    return [{ kind: 'account', address }, ...slots.map((slot) => ({ kind: 'slot', address, slot }) as const)];
  });
}

function isEqual(value: Uint8Array, truth: Uint8Array | undefined): boolean {
  return truth !== undefined && Buffer.compare(value, truth) === 0;
}

/** Whether a block whose rules are not known may change it outside of its transactions. */
function isUnknown(key: StateKey): boolean {
  if (key.kind === 'account') return true;
  return key.kind === 'slot' && SYSTEM_CONTRACTS.has(toHex(key.address));
}

function isEqualButForBalance(account: Uint8Array, truth: Uint8Array | undefined): boolean {
  const same = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
    Buffer.compare(a ?? new Uint8Array(), b ?? new Uint8Array()) === 0;
  return same(nonceOf(account), nonceOf(truth)) && same(codeHashOf(account), codeHashOf(truth));
}

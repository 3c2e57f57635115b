import { encodeAbiParameters, type Hex, keccak256, numberToHex } from 'viem';

/** As much as a request generator can make use of; older finds make room for newer ones. */
const kept = 1500;

class Finds<T> {
  private readonly found = new Map<string, T>();

  add(key: string, value: T): void {
    this.found.delete(key);
    this.found.set(key, value);
    if (this.found.size <= kept) return;
    const oldest = this.found.keys().next().value;
    if (oldest !== undefined) this.found.delete(oldest);
  }

  all(): readonly T[] {
    return [...this.found.values()];
  }
}

interface SeenTransaction {
  readonly from: Hex;
  readonly to: Hex | null;
  readonly input: Hex;
}

interface SeenReceipt {
  readonly contractAddress?: Hex | null;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[];
}

/** Where Solidity keeps an entry of a mapping. */
export function mappingSlot(key: Hex | number | bigint, slot: number | Hex): Hex {
  const word = (value: Hex | number | bigint): bigint => BigInt(value);
  return keccak256(encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [word(key), word(slot)]));
}

export const wordOf = (value: number | bigint): Hex => numberToHex(value, { size: 32 });

/** What is on a chain that is worth asking about, as the workload makes it and as blocks show it. */
export class Catalogue {
  private readonly addressFinds = new Finds<Hex>();
  private readonly contractFinds = new Finds<Hex>();
  private readonly senderFinds = new Finds<Hex>();
  private readonly filledFinds = new Finds<{ readonly address: Hex; readonly slot: Hex }>();
  private readonly topicFinds = new Finds<Hex>();
  private readonly emitterFinds = new Finds<Hex>();
  private readonly inputFinds = new Finds<{ readonly to: Hex; readonly input: Hex }>();
  private readonly codeFinds = new Finds<Hex>();

  address(address: Hex): void {
    this.addressFinds.add(address.toLowerCase(), address.toLowerCase() as Hex);
  }

  contract(address: Hex): void {
    this.address(address);
    this.contractFinds.add(address.toLowerCase(), address.toLowerCase() as Hex);
  }

  slot(address: Hex, slot: Hex | number): void {
    const word = typeof slot === 'number' ? wordOf(slot) : slot;
    this.filledFinds.add(`${address} ${word}`, { address: address.toLowerCase() as Hex, slot: word });
  }

  code(code: Hex): void {
    if (code !== '0x') this.codeFinds.add(code, code);
  }

  /** A call that somebody makes; also one that is only read. */
  call(to: Hex, input: Hex): void {
    this.inputFinds.add(`${to.toLowerCase()} ${input}`, { to: to.toLowerCase() as Hex, input });
  }

  /** Takes in what a block shows; a server's own idea of it is enough. */
  observe(transactions: readonly SeenTransaction[], receipts: readonly SeenReceipt[]): void {
    for (const { from, to, input } of transactions) {
      this.senderFinds.add(from, from);
      this.address(from);
      if (to === null) continue;
      this.address(to);
      // Blob-sized data would only make requests slow.
      if (input.length < 4096) this.call(to, input);
    }
    for (const { contractAddress, logs } of receipts) {
      if (contractAddress != null) this.contract(contractAddress);
      for (const { address, topics } of logs) {
        this.emitterFinds.add(address, address);
        for (const topic of topics) this.topicFinds.add(topic, topic);
      }
    }
  }

  get addresses(): readonly Hex[] {
    return this.addressFinds.all();
  }
  get contracts(): readonly Hex[] {
    return this.contractFinds.all();
  }
  get senders(): readonly Hex[] {
    return this.senderFinds.all();
  }
  get filled(): readonly { readonly address: Hex; readonly slot: Hex }[] {
    return this.filledFinds.all();
  }
  get topics(): readonly Hex[] {
    return this.topicFinds.all();
  }
  get emitters(): readonly Hex[] {
    return this.emitterFinds.all();
  }
  get inputs(): readonly { readonly to: Hex; readonly input: Hex }[] {
    return this.inputFinds.all();
  }
  get codes(): readonly Hex[] {
    return this.codeFinds.all();
  }
}

import type { Hex } from 'viem';
import type { Moment } from '../preconfirmed/rig.ts';
import { type Call, sendBatch } from '../support/servers/rpc-client.ts';
import { Connection } from './connection.ts';

export interface Header {
  readonly number: Hex;
  readonly hash: Hex;
  readonly parentHash: Hex;
}

/** Follows newHeads: each head stands on one that it holds. */
export class HeadClient {
  readonly problems: string[] = [];
  readonly headers: Header[] = [];
  readonly connection: Connection;
  readonly #chain = new Map<number, Header>();
  #newest = -1;

  private constructor(connection: Connection) {
    this.connection = connection;
  }

  static async start(url: string): Promise<HeadClient> {
    const client = new HeadClient(await Connection.open(url));
    await client.connection.subscribe(['newHeads'], (header) => client.#take(header as Header));
    return client;
  }

  /** What it holds from a number through its newest. */
  chain(from: number): readonly Hex[] {
    const hashes: Hex[] = [];
    for (let at = from; at <= this.#newest; at += 1) hashes.push(this.#chain.get(at)?.hash ?? '0x');
    return hashes;
  }

  #take(header: Header): void {
    this.headers.push(header);
    const number = Number(header.number);
    const below = this.#chain.get(number - 1);
    const isFirst = this.headers.length === 1;
    if (!isFirst && below !== undefined && below.hash !== header.parentHash)
      this.problems.push(`head ${number} ${header.hash} does not stand on ${below.hash}`);
    if (!isFirst && number > this.#newest + 1)
      this.problems.push(`head ${number} comes after ${this.#newest}`);
    this.#chain.set(number, header);
    this.#newest = number;
  }
}

interface Change {
  readonly address: Hex;
  readonly nonce?: number;
  readonly balance?: Hex;
  readonly storage?: Readonly<Record<Hex, Hex>>;
  readonly wiped?: true;
}

interface Account {
  nonce: number;
  balance: bigint;
  slots: Map<Hex, bigint>;
}

const slotsAsked = 400;

/** Applies stateChanges to what it holds of some accounts. */
export class StateClient {
  readonly connection: Connection;
  messages = 0;
  readonly problems: string[] = [];
  readonly #oracleUrl: string;
  readonly #accounts = new Map<Hex, Account>();

  readonly #url: string;

  private constructor(connection: Connection, url: string, oracleUrl: string) {
    this.connection = connection;
    this.#url = url;
    this.#oracleUrl = oracleUrl;
  }

  /** One of the same accounts that begins now. Nothing may happen meanwhile. */
  another(moment: Moment): Promise<StateClient> {
    return StateClient.start(this.#url, this.#oracleUrl, [...this.#accounts.keys()], moment);
  }

  /** Nothing may happen meanwhile. */
  static async start(
    url: string,
    oracleUrl: string,
    addresses: readonly Hex[],
    moment: Moment,
  ): Promise<StateClient> {
    const client = new StateClient(await Connection.open(url), url, oracleUrl);
    for (const address of addresses) {
      const [nonce, balance] = await client.#ask(moment, accountCalls(address));
      const account = { nonce: Number(nonce), balance: BigInt(balance ?? 0), slots: new Map() };
      client.#accounts.set(address.toLowerCase() as Hex, account);
    }
    await client.connection.subscribe(['stateChanges', addresses], (change) =>
      client.#take(change as Change),
    );
    return client;
  }

  /** What differs from op-geth's state at a moment. */
  async differences(moment: Moment): Promise<readonly string[]> {
    const problems = [...this.problems];
    for (const [address, account] of this.#accounts) {
      const slots = [...account.slots].slice(-slotsAsked);
      const calls = slots.map(([slot]) => ({ method: 'eth_getStorageAt', params: [address, slot] }));
      const [nonce, balance, ...values] = await this.#ask(moment, [...accountCalls(address), ...calls]);
      if (account.nonce !== Number(nonce)) problems.push(`${address} nonce ${account.nonce} for ${nonce}`);
      if (account.balance !== BigInt(balance ?? 0))
        problems.push(`${address} balance ${account.balance} for ${balance}`);
      for (const [at, [slot, value]] of slots.entries())
        if (value !== BigInt(values[at] ?? 0))
          problems.push(`${address} slot ${slot}: 0x${value.toString(16)} for ${values[at]}`);
    }
    return problems;
  }

  get slots(): number {
    let sum = 0;
    for (const { slots } of this.#accounts.values()) sum += slots.size;
    return sum;
  }

  #take({ address, nonce, balance, storage, wiped }: Change): void {
    this.messages += 1;
    const account = this.#accounts.get(address);
    if (account === undefined) {
      this.problems.push(`told of ${address}, which nobody asked for`);
      return;
    }
    if (nonce !== undefined) account.nonce = nonce;
    if (balance !== undefined) account.balance = BigInt(balance);
    if (wiped === true) for (const slot of account.slots.keys()) account.slots.set(slot, 0n);
    for (const [slot, value] of Object.entries(storage ?? {})) account.slots.set(slot as Hex, BigInt(value));
  }

  /** At the newest block of a moment. */
  async #ask({ head, stack }: Moment, calls: readonly Call[]): Promise<readonly Hex[]> {
    const blockHash = stack.at(-1)?.hash ?? head.hash;
    const answers = await sendBatch(
      this.#oracleUrl,
      calls.map(({ method, params }) => ({
        method,
        params: [...(params as readonly unknown[]), { blockHash }],
      })),
    );
    return answers.map((answer) => {
      if ('error' in answer) throw new Error(`op-geth: ${answer.error.message}`);
      return answer.result as Hex;
    });
  }
}

function accountCalls(address: Hex): readonly Call[] {
  return ['eth_getTransactionCount', 'eth_getBalance'].map((method) => ({ method, params: [address] }));
}

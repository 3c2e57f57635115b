import { readFile } from 'node:fs/promises';
import { officialChain } from '../support/servers/paths.ts';
import { request, sendBatch } from '../support/servers/rpc-client.ts';

/** What is really on the chain, to ask about: most random values would only ever find nothing. */
export interface Corpus {
  readonly head: number;
  readonly hashes: readonly string[];
  /** Accounts with and without code, all that any transaction or the genesis names. */
  readonly addresses: readonly string[];
  readonly contracts: readonly string[];
  readonly senders: readonly string[];
  readonly slots: readonly string[];
  /** Slots that hold something at the head or have held it halfway. */
  readonly filled: readonly { readonly address: string; readonly slot: string }[];
  readonly topics: readonly string[];
  readonly emitters: readonly string[];
  /** Call data of real transactions with where it went. */
  readonly inputs: readonly { readonly to: string; readonly input: string }[];
  readonly codes: readonly string[];
  /** Hashes. */
  readonly transactions: readonly string[];
}

interface RawTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string | null;
  readonly input: string;
  readonly accessList?: readonly { readonly address: string; readonly storageKeys: readonly string[] }[];
  readonly authorizationList?: readonly { readonly address: string }[];
}

interface RawBlock {
  readonly hash: string;
  readonly miner: string;
  readonly transactions: readonly RawTransaction[];
  readonly withdrawals?: readonly { readonly address: string }[];
}

interface RawReceipt {
  readonly contractAddress: string | null;
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[] }[];
}

interface Genesis {
  readonly alloc: Readonly<Record<string, { code?: string; storage?: Readonly<Record<string, string>> }>>;
}

const slotsPerBatch = 1000;

/** Finds filled slots by asking for all of them: contracts of this chain store under what they emit and small numbers. */
async function filledSlots(
  url: string,
  contracts: Iterable<string>,
  slots: ReadonlySet<string>,
  blocks: readonly string[],
): Promise<readonly { address: string; slot: string }[]> {
  const pairs = [...contracts].flatMap((address) => [...slots].map((slot) => ({ address, slot })));
  const filled = new Set<{ address: string; slot: string }>();
  for (const block of blocks) {
    for (let at = 0; at < pairs.length; at += slotsPerBatch) {
      const some = pairs.slice(at, at + slotsPerBatch);
      const calls = some.map(({ address, slot }) => ({
        method: 'eth_getStorageAt',
        params: [address, slot, block],
      }));
      const answers = await sendBatch(url, calls);
      some.forEach((pair, index) => {
        const answer = answers[index];
        if (answer !== undefined && 'result' in answer && BigInt(String(answer.result)) !== 0n)
          filled.add(pair);
      });
    }
  }
  return [...filled];
}

const word = (value: number): string => `0x${value.toString(16).padStart(64, '0')}`;

/** Reads the corpus off the oracle; it depends on the chain only, so a seed means the same requests everywhere. */
export async function readCorpus(url: string): Promise<Corpus> {
  const genesis = JSON.parse(await readFile(officialChain.genesis, 'utf8')) as Genesis;
  const head = Number(await request<string>(url, 'eth_blockNumber'));
  const hashes: string[] = [];
  const addresses = new Set<string>();
  const contracts = new Set<string>();
  const senders = new Set<string>();
  const slots = new Set<string>([0, 1, 2, 3, 4, 255].map(word));
  const topics = new Set<string>();
  const emitters = new Set<string>();
  const transactions: string[] = [];
  const inputs = new Map<string, { to: string; input: string }>();
  for (const [key, account] of Object.entries(genesis.alloc)) {
    addresses.add(`0x${key.replace(/^0x/, '')}`);
    if (account.code !== undefined) contracts.add(`0x${key.replace(/^0x/, '')}`);
    for (const slot of Object.keys(account.storage ?? {})) slots.add(slot);
  }
  for (let number = 0; number <= head; number += 1) {
    const selector = `0x${number.toString(16)}`;
    const block = await request<RawBlock>(url, 'eth_getBlockByNumber', [selector, true]);
    hashes.push(block.hash);
    addresses.add(block.miner);
    for (const { address } of block.withdrawals ?? []) addresses.add(address);
    for (const transaction of block.transactions) {
      transactions.push(transaction.hash);
      senders.add(transaction.from);
      addresses.add(transaction.from);
      if (transaction.to !== null) {
        addresses.add(transaction.to);
        inputs.set(transaction.to + transaction.input, { to: transaction.to, input: transaction.input });
      }
      for (const entry of transaction.accessList ?? []) {
        addresses.add(entry.address);
        for (const slot of entry.storageKeys) slots.add(slot);
      }
      for (const entry of transaction.authorizationList ?? []) contracts.add(entry.address);
    }
    for (const receipt of await request<readonly RawReceipt[]>(url, 'eth_getBlockReceipts', [selector])) {
      if (receipt.contractAddress !== null) contracts.add(receipt.contractAddress);
      for (const log of receipt.logs) {
        emitters.add(log.address);
        for (const topic of log.topics) topics.add(topic);
      }
    }
  }
  for (const topic of topics) slots.add(topic);
  for (const address of contracts) addresses.add(address);
  const codes = new Set<string>();
  for (const address of contracts) codes.add(await request<string>(url, 'eth_getCode', [address, 'latest']));
  codes.delete('0x');
  return {
    head,
    hashes,
    addresses: [...addresses],
    contracts: [...contracts],
    senders: [...senders],
    slots: [...slots],
    filled: await filledSlots(url, contracts, slots, ['latest', `0x${Math.floor(head / 2).toString(16)}`]),
    topics: [...topics],
    emitters: [...emitters],
    inputs: [...inputs.values()],
    codes: [...codes],
    transactions,
  };
}

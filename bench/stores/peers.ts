import type { SlotKey } from '../../src/chain/state-key.ts';
import { toHex } from '../../src/primitives/hex.ts';
import type { LmdbStore } from '../../src/store/lmdb/index.ts';
import { startAnvil } from '../../test/support/servers/anvil.ts';
import { request, sendBatch } from '../../test/support/servers/rpc-client.ts';
import { hotAddress, MATCHES, plantedTopic, transferTopic } from './content.ts';

/** What is asked of every server. */
export interface Peer {
  readonly name: string;
  state(keys: readonly SlotKey[], number: number): Promise<void>;
  /** Gives how many logs were found. */
  logs(plant: number, ofHot: boolean): Promise<number>;
  receipt(hash: Uint8Array): Promise<void>;
}

/** The embedded store with the same content. */
export function lmdbPeer(store: LmdbStore, lastThin: number): Peer {
  return {
    name: 'LMDB',
    async state(keys, number) {
      const values = store.loadState(keys, number);
      if (values.some((value) => value === undefined)) throw new Error(`no value of a slot at ${number}`);
    },
    async logs(plant, ofHot) {
      const query = {
        addresses: ofHot ? [hotAddress] : [],
        topics: [[], [plantedTopic(plant)]],
      };
      let count = 0;
      for await (const { block, indexes } of store.findLogs(query, 0, lastThin))
        for (const index of indexes) if (block.log(index).topics.length === 2) count++;
      return count;
    },
    async receipt(hash) {
      const place = store.transaction(toHex(hash));
      if (place === undefined || store.receipts(place) === undefined) throw new Error('no such receipt');
    },
  };
}

/** Logs 32 bytes with the transfer topic, and with what it is called with as topic 1. */
const LOGGER = `0x5f357f${transferTopic.toString('hex')}60205fa200`;

/** A node on the same machine: what asking elsewhere costs at the very least. It has the logs of one plant in as many blocks, and nothing else. */
export async function startUpstream(): Promise<Peer & AsyncDisposable> {
  const anvil = await startAnvil();
  const { url } = anvil;
  const [from] = await request<readonly string[]>(url, 'eth_accounts');
  const to = toHex(hotAddress);
  await request(url, 'anvil_setCode', [to, LOGGER]);
  let last = '';
  for (let at = 0; at < MATCHES; at++) {
    last = await request(url, 'eth_sendTransaction', [
      { from, to, data: toHex(plantedTopic(0)), gas: '0x186a0' },
    ]);
  }
  const ask = async (calls: readonly { method: string; params: readonly unknown[] }[]): Promise<unknown[]> =>
    (await sendBatch(url, calls)).map((answer) => {
      if ('error' in answer) throw new Error(answer.error.message);
      return answer.result;
    });
  return {
    name: 'upstream',
    async state(keys) {
      await ask(
        keys.map(({ address, slot }) => ({
          method: 'eth_getStorageAt',
          params: [toHex(address), toHex(slot), 'latest'],
        })),
      );
    },
    async logs(_, ofHot) {
      const filter = {
        fromBlock: '0x0',
        toBlock: 'latest',
        ...(ofHot && { address: to }),
        topics: [null, toHex(plantedTopic(0))],
      };
      const [found] = await ask([{ method: 'eth_getLogs', params: [filter] }]);
      return (found as readonly unknown[]).length;
    },
    async receipt() {
      const [found] = await ask([{ method: 'eth_getTransactionReceipt', params: [last] }]);
      if (found === null) throw new Error('no such receipt');
    },
    [Symbol.asyncDispose]: anvil.stop,
  };
}

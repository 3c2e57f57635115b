import type { SlotKey } from '../../src/chain/state-key.ts';
import { toHex } from '../../src/primitives/hex.ts';
import type { LogQuery } from '../../src/store/interface.ts';
import {
  coldSlot,
  hashOf,
  hotAddress,
  hotSlot,
  MATCHES,
  PLANTS,
  plantedTopic,
  transactionHash,
  warmSlot,
} from './history.ts';
import type { Loaded } from './load.ts';

/** Something to ask a chain for, another of its kind each turn; fails where the answer is not right. */
export interface Question {
  readonly title: string;
  readonly needs: 'state' | 'bodies' | 'index';
  readonly ask: (chain: Loaded, turn: number) => Promise<void>;
  /** Is among those that are compared with the bare driver. */
  readonly isCompared: boolean;
}

const CALL_SLOTS = 30;
const ROUNDS = 8;
const ROUND_SLOTS = 4;

export const QUESTIONS: readonly Question[] = [
  {
    title: '1 slot at the head',
    needs: 'state',
    isCompared: false,
    ask: (chain, turn) => slots(chain, [warmSlot(turn)], chain.blocks - 1),
  },
  {
    title: 'a slot that every block writes, at an old block',
    needs: 'state',
    isCompared: false,
    ask: (chain, turn) => slots(chain, [hotSlot], spread(chain, turn)),
  },
  {
    title: `${CALL_SLOTS} slots at once, at the head`,
    needs: 'state',
    isCompared: true,
    ask: (chain, turn) => slots(chain, mixed(chain, CALL_SLOTS, turn), chain.blocks - 1),
  },
  {
    title: `${ROUNDS} rounds of ${ROUND_SLOTS} slots, each after the last`,
    needs: 'state',
    isCompared: true,
    ask: async (chain, turn) => {
      for (let round = 0; round < ROUNDS; round++)
        await slots(chain, mixed(chain, ROUND_SLOTS, turn * ROUNDS + round), chain.blocks - 1);
    },
  },
  {
    title: `${MATCHES} logs of a rare topic in all blocks`,
    needs: 'index',
    isCompared: true,
    ask: (chain, turn) =>
      logs(chain, { addresses: [], topics: [[], [plantedTopic(turn % PLANTS)]] }, [0, chain.blocks - 1]),
  },
  {
    title: 'the same, of an address that every block has',
    needs: 'index',
    isCompared: true,
    ask: (chain, turn) =>
      logs(chain, { addresses: [hotAddress], topics: [[], [plantedTopic(turn % PLANTS)]] }, [
        0,
        chain.blocks - 1,
      ]),
  },
  {
    title: `${MATCHES} logs of that address in ${MATCHES} blocks`,
    needs: 'bodies',
    isCompared: false,
    ask: (chain, turn) => {
      const first = Math.min(spread(chain, turn), chain.blocks - MATCHES);
      return logs(chain, { addresses: [hotAddress], topics: [] }, [first, first + MATCHES - 1]);
    },
  },
  {
    title: 'a transaction by its hash',
    needs: 'index',
    isCompared: true,
    ask: async (chain, turn) => {
      const number = spread(chain, turn);
      const place = await chain.reader.transaction(toHex(transactionHash(number, turn % 2)));
      if (place?.number !== number || place.index !== turn % 2)
        throw new Error(`no transaction of ${number}`);
    },
  },
  {
    title: 'a receipt by its hash',
    needs: 'bodies',
    isCompared: true,
    ask: async ({ reader, ...chain }, turn) => {
      const number = spread(chain, turn);
      const place = await reader.transaction(toHex(transactionHash(number, turn % 2)));
      const found = place && (await reader.receipts(place));
      if (found?.receipts.length !== 2) throw new Error(`no receipts of ${number}`);
    },
  },
  {
    title: 'the number of a block by its hash',
    needs: 'index',
    isCompared: false,
    ask: async ({ reader, ...chain }, turn) => {
      const number = spread(chain, turn);
      if ((await reader.numberOf(hashOf(number))) !== number) throw new Error(`no block ${number}`);
    },
  },
];

/** Whether a chain has what a question needs. */
export function canAsk({ extent }: Loaded, { needs }: Question): boolean {
  return extent === 'whole' || needs === 'index';
}

/** Another block each turn, all over the chain. */
function spread({ blocks }: Pick<Loaded, 'blocks'>, turn: number): number {
  return (turn * 61_813 + 17) % blocks;
}

/** Two in three were written once, the others again and again. */
function mixed(chain: Loaded, count: number, turn: number): SlotKey[] {
  return Array.from({ length: count }, (_, at) => {
    const next = turn * count + at;
    return at % 3 === 0 ? warmSlot(next) : coldSlot(spread(chain, next));
  });
}

async function slots({ reader }: Loaded, keys: readonly SlotKey[], number: number): Promise<void> {
  const values = await reader.loadState(keys, number);
  for (const value of values) if (value?.length !== 8) throw new Error(`no value of a slot at ${number}`);
}

/** As a server reads them: each log, and the hash of its transaction. */
async function logs(
  { reader }: Loaded,
  query: LogQuery,
  [from, to]: readonly [number, number],
): Promise<void> {
  let found = 0;
  for await (const { block, indexes } of reader.findLogs(query, from, to)) {
    for (const index of indexes) {
      const { transactionIndex } = block.log(index);
      if (block.transactionHash(transactionIndex).length === 32) found++;
    }
  }
  if (found !== MATCHES) throw new Error(`${found} logs were found, not ${MATCHES}`);
}

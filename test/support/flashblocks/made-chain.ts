// A small OP-stack chain in memory, whose blocks and flashblocks a test makes, without a node.
import { keccak256, numberToHex, toRlp } from 'viem';
import type { BlockRef, EncodedOutcome, Outcome } from '../../../src/chain/outcome.ts';
import { decodeOutcome } from '../../../src/chain/outcome-codec.ts';
import { InvalidBlockError } from '../../../src/executor/errors.ts';
import type { ExecutedFlashblock } from '../../../src/executor/interface.ts';
import { NativeExecutor } from '../../../src/executor/native-executor.ts';
import { type Hex, toHex, ZERO_HASH } from '../../../src/primitives/hex.ts';
import type { Random } from '../random.ts';
import { loadFrom, roomyOptions } from '../serve/executor.ts';

const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;
const address = (last: number): Hex => `0x${last.toString(16).padStart(40, '0')}`;

/** Destroys itself without input; else logs the first word, and writes the second to the slot in the first. */
const STORE_CODE: Hex = '0x3660065733ff5b60003560206000a16020356000355500';
/** Creates (CREATE2) what its input says, always at the same address for the same input. */
const FACTORY_CODE: Hex = '0x36600060003760003660006000f5';
/** Creates a contract that is nothing but STOP bytes. */
const INIT_CODE: Hex = '0x60056000f3';

export const STORE = address(0xc0de);
const FACTORY = address(0xfa);
const SENDERS = [0xa0, 0xa1, 0xa2, 0xa3].map(address);
export const SLOTS = [0, 1, 2, 3].map(word);
/** What blocks of this chain change, but for what is created. */
export const ACCOUNTS: readonly Hex[] = [STORE, FACTORY, ...SENDERS, address(0xbe)];

const GAS_LIMIT = 100_000_000;
const GENESIS = {
  config: {
    ...{ chainId: 7, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0, byzantiumBlock: 0 },
    ...{ constantinopleBlock: 0, petersburgBlock: 0, istanbulBlock: 0, berlinBlock: 0, londonBlock: 0 },
    ...{ mergeNetsplitBlock: 0, terminalTotalDifficulty: 0, shanghaiTime: 0, cancunTime: 0, pragueTime: 0 },
    ...{ optimism: {}, bedrockBlock: 0, regolithTime: 0, canyonTime: 0, ecotoneTime: 0, fjordTime: 0 },
    ...{ graniteTime: 0, holoceneTime: 0, isthmusTime: 0 },
  },
  alloc: {
    [STORE]: { balance: '0x0', code: STORE_CODE, storage: { [word(1)]: word(2) } },
    [FACTORY]: { balance: '0x0', code: FACTORY_CODE },
  },
  ...{ gasLimit: numberToHex(GAS_LIMIT), difficulty: '0x0', timestamp: '0x64', nonce: '0x0' },
  ...{ extraData: '0x', baseFeePerGas: '0x7' },
};

/** A block that is begun: what its flashblocks have in common. */
export interface MadePayload {
  readonly payloadId: Hex;
  readonly parent: BlockRef;
  /** Whether its builder says hashes. */
  readonly isHashed: boolean;
}

function deposit(from: Hex, to: Hex | undefined, mint: number, data: Hex): Hex {
  const quantity = (value: number): Hex => (value === 0 ? '0x' : numberToHex(value, { size: 4 }));
  const trimmed = (value: Hex): Hex => value.replace(/^0x(00)+/, '0x') as Hex;
  const fields = [
    ZERO_HASH,
    from,
    to ?? '0x',
    trimmed(quantity(mint)),
    '0x',
    trimmed(quantity(400_000)),
    '0x',
  ];
  return `0x7e${toRlp([...fields, data] as Hex[]).slice(2)}`;
}

/** A transaction that writes, logs, pays, creates or destroys, on few keys. */
export function madeTransaction(random: Random): Hex {
  const from = random.pick(SENDERS);
  return random.weighted<Hex>([
    [6, () => deposit(from, STORE, 0, `${random.pick(SLOTS)}${word(random.below(4)).slice(2)}`)],
    [1, () => deposit(from, STORE, 0, '0x')],
    [1, () => deposit(from, FACTORY, 0, INIT_CODE)],
    [1, () => deposit(from, undefined, 0, INIT_CODE)],
    [2, () => deposit(from, random.pick(SENDERS), 1 + random.below(9), '0x')],
  ]);
}

/** The genesis block, and executors that begin there. */
export class MadeChain {
  readonly genesis: EncodedOutcome;
  readonly #outcomes: readonly Outcome[];

  constructor() {
    const config = JSON.stringify(GENESIS.config);
    const first = NativeExecutor.create(config, roomyOptions, { load: () => [] });
    this.genesis = first.startAtGenesis(JSON.stringify(GENESIS));
    this.#outcomes = [this.genesis];
  }

  /** Of which nothing is in memory yet. */
  executor(): NativeExecutor {
    const load = loadFrom(this.#outcomes);
    const executor = NativeExecutor.create(JSON.stringify(GENESIS.config), roomyOptions, { load });
    executor.open(this.genesis.header);
    return executor;
  }

  /** Executes a flashblock that says what it gives. */
  async execute(
    executor: NativeExecutor,
    payload: MadePayload,
    index: number,
    transactions: readonly Hex[],
  ): Promise<ExecutedFlashblock> {
    const load = loadFrom(this.#outcomes);
    const run = (diff: object): Promise<ExecutedFlashblock> => {
      const message = { ...this.#start(payload, index), diff: { transactions, ...diff } };
      return executor.executeFlashblock(
        JSON.stringify(message),
        async (keys, number) => load(keys, number, undefined),
        performance.now() + 60_000,
      );
    };
    // Refusals say what it should have said.
    const gas = numberToHex(Number(await refusalOf(run({ gas_used: numberToHex(GAS_LIMIT) }))));
    if (!payload.isHashed) return run({ gas_used: gas });
    const roots = { gas_used: gas, state_root: word(index + 1), withdrawals_root: word(9) };
    const hash = await refusalOf(run({ ...roots, block_hash: word(1) }));
    return run({ ...roots, block_hash: hash });
  }

  /** Makes a block of these transactions the head of an executor. */
  async seal(
    executor: NativeExecutor,
    payload: MadePayload,
    transactions: readonly Hex[],
  ): Promise<EncodedOutcome> {
    const { outcome } = await this.execute(executor, { ...payload, isHashed: false }, 0, transactions);
    const hash = keccak256(toHex(decodeOutcome(outcome).header));
    const sealed = { hash, stateRoot: ZERO_HASH, withdrawalsRoot: ZERO_HASH };
    const promoted = await executor.promoteSealed(sealed);
    if (promoted === undefined) throw new Error('a block that was just made cannot be sealed');
    return promoted;
  }

  #start({ payloadId, parent }: MadePayload, index: number): object {
    const number = parent.number + 1;
    if (index > 0) return { payload_id: payloadId, index, metadata: {} };
    return {
      ...{ payload_id: payloadId, index, metadata: {} },
      base: {
        ...{ parent_beacon_block_root: word(5), parent_hash: parent.hash, fee_recipient: address(0xbe) },
        ...{
          prev_randao: word(number),
          block_number: numberToHex(number),
          gas_limit: numberToHex(GAS_LIMIT),
        },
        ...{ timestamp: numberToHex(100 + 2 * number), extra_data: '0x', base_fee_per_gas: '0x7' },
      },
    };
  }
}

async function refusalOf(run: Promise<unknown>): Promise<Hex> {
  const error: unknown = await run.then(
    () => undefined,
    (why: unknown) => why,
  );
  const said = error instanceof InvalidBlockError ? /its contents give (\w+)$/.exec(error.message) : null;
  if (said?.[1] === undefined) throw new Error('it is not refused for what it says', { cause: error });
  return said[1] as Hex;
}

import { type Hex, keccak256, numberToHex, pad, toHex } from 'viem';
import { defaultL1Attributes, type L1Attributes, l1AttributesDeposit } from './op-deposits.ts';
import { opGasLimit, sequencerFeeVault } from './op-genesis.ts';
import type { Engine, OpGeth } from './op-geth.ts';
import { request } from './rpc-client.ts';

/** A block that the sequencer made. */
export interface SequencedBlock {
  readonly hash: Hex;
  readonly number: number;
  readonly timestamp: number;
}

/** An execution payload as the Engine API gives it, whole enough to be handed back. */
export interface Payload {
  readonly blockHash: Hex;
  readonly parentHash: Hex;
  readonly blockNumber: Hex;
  readonly timestamp: Hex;
  readonly transactions: readonly Hex[];
  readonly withdrawalsRoot: Hex;
  readonly [field: string]: unknown;
}

/** What goes into a block. The same inputs on the same parent give the same block. */
export interface BlockInputs {
  /** Encoded user deposits; they run after the L1-attributes deposit, which is always there. */
  readonly deposits?: readonly Hex[];
  /** Signed transactions, in order. One that is not valid makes op-geth refuse the whole payload. */
  readonly transactions?: readonly Hex[];
  readonly l1?: Partial<L1Attributes>;
  /** Two seconds after its parent, when left out. */
  readonly timestamp?: number;
  readonly prevRandao?: Hex;
  readonly feeRecipient?: Hex;
  readonly gasLimit?: bigint;
  readonly minBaseFee?: number;
}

const emptyRoot: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421';
export const secondsPerBlock = 2;

interface PayloadStatus {
  readonly status: string;
  readonly validationError?: string | null;
}

const refOf = (payload: Payload): SequencedBlock => ({
  hash: payload.blockHash,
  number: Number(payload.blockNumber),
  timestamp: Number(payload.timestamp),
});

export const beaconRoot = (timestamp: number): Hex => keccak256(toHex(`beacon root ${timestamp}`));

/**
 * Builds an OP chain block by block. Building, holding a block beside the chain and making it the head are steps of
 * their own, so that a partial block can be built over and over on the same parent.
 */
export class OpSequencer {
  private readonly node: OpGeth;
  private readonly builder: Engine;
  private readonly isLate: boolean;
  /** Everything that is made canonical, by number; its last is the head. */
  private readonly chain: SequencedBlock[];
  private readonly payloads = new Map<Hex, Payload>();
  private safe: SequencedBlock;
  private finalized: SequencedBlock;
  /** Given to every block in its deposit, so that a sibling differs from the block it replaces. */
  private branch = 0;

  private constructor(node: OpGeth, builder: OpGeth, isLate: boolean, genesis: SequencedBlock) {
    this.node = node;
    this.builder = builder.engine;
    this.isLate = isLate;
    this.chain = [genesis];
    this.safe = genesis;
    this.finalized = genesis;
  }

  /**
   * With a `builder` of its own (same genesis), blocks are built there and `node` only ever sees whole branches: its
   * head jumps from one branch to the other. Without one, its head steps back and climbs again in a reorg
   * deeper than a block, as op-node makes it do. `late`: `node` is only told of blocks when they become canonical.
   */
  static async on(node: OpGeth, builder: OpGeth = node, late = false): Promise<OpSequencer> {
    const block = await request<{ hash: Hex; timestamp: Hex }>(node.url, 'eth_getBlockByNumber', [
      '0x0',
      false,
    ]);
    return new OpSequencer(node, builder, late, {
      hash: block.hash,
      number: 0,
      timestamp: Number(block.timestamp),
    });
  }

  get head(): SequencedBlock {
    return this.at(this.chain.length - 1);
  }

  /** The canonical block of that number. */
  at(number: number): SequencedBlock {
    const block = this.chain[number];
    if (block === undefined) throw new Error(`no block ${number}; the head is ${this.chain.length - 1}`);
    return block;
  }

  /** A real block on top of `parent`, executed and sealed, that is not part of any chain yet. Takes about 10 ms. */
  async build(parent: SequencedBlock, inputs: BlockInputs = {}): Promise<Payload> {
    const timestamp = inputs.timestamp ?? parent.timestamp + secondsPerBlock;
    const started = await this.builder<{ payloadId: Hex | null; payloadStatus: PayloadStatus }>(
      'engine_forkchoiceUpdatedV3',
      { headBlockHash: parent.hash, safeBlockHash: pad('0x0'), finalizedBlockHash: pad('0x0') },
      {
        timestamp: toHex(timestamp),
        prevRandao: inputs.prevRandao ?? keccak256(toHex(`randao ${timestamp}`)),
        suggestedFeeRecipient: inputs.feeRecipient ?? sequencerFeeVault,
        withdrawals: [],
        parentBeaconBlockRoot: beaconRoot(timestamp),
        transactions: [
          this.attributes(parent, timestamp, inputs.l1),
          ...(inputs.deposits ?? []),
          ...(inputs.transactions ?? []),
        ],
        noTxPool: true,
        gasLimit: toHex(inputs.gasLimit ?? opGasLimit),
        eip1559Params: '0x000000fa00000006',
        minBaseFee: inputs.minBaseFee ?? 0,
      },
    );
    if (started.payloadId === null) throw new Error(`no payload: ${JSON.stringify(started)}`);
    const built = await this.builder<{ executionPayload: Payload }>('engine_getPayloadV4', started.payloadId);
    // Left out while nothing was ever withdrawn.
    const payload = { ...built.executionPayload };
    return { ...payload, withdrawalsRoot: payload.withdrawalsRoot ?? emptyRoot };
  }

  /** Has the node execute and hold a block, so that it answers for its hash; the head stays where it is. */
  async insert(payload: Payload): Promise<SequencedBlock> {
    const engines = new Set([this.builder, ...(this.isLate ? [] : [this.node.engine])]);
    for (const engine of engines) await this.give(engine, payload);
    this.payloads.set(payload.blockHash, payload);
    return refOf(payload);
  }

  /** Makes an inserted block the head, whatever branch it is on. */
  async makeCanonical(hash: Hex): Promise<SequencedBlock> {
    const branch: SequencedBlock[] = [];
    const untold: Payload[] = [];
    for (let at = hash; ; ) {
      const payload = this.payloads.get(at);
      if (payload === undefined) break;
      const ref = refOf(payload);
      if (this.chain[ref.number]?.hash === at) break;
      branch.unshift(ref);
      if (this.isLate) untold.unshift(payload);
      at = payload.parentHash;
    }
    const head = branch.at(-1) ?? this.chain.find((block) => block.hash === hash);
    if (head === undefined) throw new Error(`block ${hash} was not inserted`);
    this.chain.length = branch[0]?.number ?? head.number + 1;
    this.chain.push(...branch);
    for (const payload of untold) await this.give(this.node.engine, payload);
    await this.tellForkchoice();
    return head;
  }

  /** Builds a block on the head and makes it the head. */
  async seal(inputs: BlockInputs = {}): Promise<SequencedBlock> {
    const { hash } = await this.insert(await this.build(this.head, inputs));
    return this.makeCanonical(hash);
  }

  async setSafe(number: number): Promise<void> {
    this.safe = this.at(number);
    await this.tellForkchoice();
  }

  async setFinalized(number: number): Promise<void> {
    this.finalized = this.at(number);
    if (this.safe.number < number) this.safe = this.finalized;
    await this.tellForkchoice();
  }

  /**
   * Takes `depth` blocks back and puts `length` others in their place. The new head is one block higher than the old
   * one unless `length` says otherwise; a shorter branch is possible, as on a real OP chain.
   */
  async reorg(
    depth: number,
    inputsOf: (index: number, parent: SequencedBlock) => BlockInputs | Promise<BlockInputs> = () => ({}),
    length = depth + 1,
  ): Promise<readonly SequencedBlock[]> {
    const fork = this.at(this.head.number - depth);
    if (fork.number < this.finalized.number) throw new Error(`block ${fork.number + 1} is final`);
    if (fork.number < this.safe.number) this.safe = fork;
    this.branch += 1;
    const branch: SequencedBlock[] = [];
    for (let index = 0; index < length; index += 1) {
      const parent = branch.at(-1) ?? fork;
      branch.push(await this.insert(await this.build(parent, await inputsOf(index, parent))));
    }
    const last = branch.at(-1);
    if (last === undefined) throw new Error('a branch has at least one block');
    await this.makeCanonical(last.hash);
    return branch;
  }

  private async give(engine: Engine, payload: Payload): Promise<void> {
    const root = beaconRoot(Number(payload.timestamp));
    const status = await engine<PayloadStatus>('engine_newPayloadV4', payload, [], root, []);
    if (status.status !== 'VALID') throw new Error(`payload refused: ${JSON.stringify(status)}`);
  }

  private attributes(parent: SequencedBlock, timestamp: number, given: Partial<L1Attributes> = {}): Hex {
    const number = parent.number + 1;
    // A new L1 block every six L2 blocks, with another price of data.
    const epoch = Math.floor(number / 6);
    return l1AttributesDeposit(
      {
        ...defaultL1Attributes,
        sequenceNumber: number % 6,
        timestamp: timestamp - 6,
        number: 20_000_000 + epoch,
        hash: keccak256(toHex(`l1 block ${epoch} of branch ${this.branch}`)),
        baseFee: defaultL1Attributes.baseFee + BigInt(epoch * 1_000_003),
        blobBaseFee: defaultL1Attributes.blobBaseFee + BigInt(epoch * 7919),
        ...given,
      },
      keccak256(numberToHex(number, { size: 32 })),
    );
  }

  private async tellForkchoice(): Promise<void> {
    const state = {
      headBlockHash: this.head.hash,
      safeBlockHash: this.safe.hash,
      finalizedBlockHash: this.finalized.hash,
    };
    for (const engine of new Set([this.builder, this.node.engine])) {
      const { payloadStatus } = await engine<{ payloadStatus: PayloadStatus }>(
        'engine_forkchoiceUpdatedV3',
        state,
        null,
      );
      if (payloadStatus.status !== 'VALID')
        throw new Error(`forkchoice refused: ${JSON.stringify(payloadStatus)}`);
    }
  }
}

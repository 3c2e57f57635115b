import { type Hex, pad, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { assemble, type Item } from '../assembler.ts';

export const opChainId = 901;

/** The rich account of the genesis; its key is the first of anvil's and hardhat's. */
export const opFunder = privateKeyToAccount(
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
);

/** Who sends the L1-attributes deposit, and only that. */
export const depositor: Hex = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001';
export const l1Block: Hex = '0x4200000000000000000000000000000000000015';
export const messagePasser: Hex = '0x4200000000000000000000000000000000000016';
export const sequencerFeeVault: Hex = '0x4200000000000000000000000000000000000011';

/** `head`, then a jump over `otherwise` to `then` when what `head` leaves on the stack is not zero. */
function branch(head: readonly Item[], otherwise: readonly Item[], then: readonly Item[]): Hex {
  const before = (target: number): string => assemble(...head, target, 'JUMPI', ...otherwise);
  const target = (before(0).length - 2) / 2;
  return assemble(...head, target, 'JUMPI', ...otherwise, 'JUMPDEST', ...then) as Hex;
}

/** Stores `size` bytes of call data from `from` on, as a number, in `slot`. */
const keep = (slot: number, from: number, size = 32): Item[] => [
  ...[from, 'CALLDATALOAD', ...(size === 32 ? [] : [256 - 8 * size, 'SHR'])],
  ...[slot, 'SSTORE'],
];

/**
 * L1Block as the OP stack lays it out: the depositor's `setL1BlockValuesJovian` goes into the slots that clients read
 * their fees from. For anybody else it returns the slot that the call data names.
 */
const l1BlockCode = branch(
  ['CALLER', depositor, 'EQ'],
  [0, 'CALLDATALOAD', 'SLOAD', 0, 'MSTORE', 32, 0, 'RETURN'],
  [
    ...keep(0, 20, 16), // timestamp and number
    ...keep(1, 36), // base fee
    ...keep(2, 100), // hash
    ...keep(3, 4, 16), // base fee scalar, blob base fee scalar, sequence number
    ...keep(4, 132), // batcher
    ...keep(7, 68), // blob base fee
    // Operator fee scalar and constant, and above them the DA footprint scalar.
    ...[164, 'CALLDATALOAD', 160, 'SHR'],
    ...[176, 'CALLDATALOAD', 240, 'SHR', 96, 'SHL', 'OR', 8, 'SSTORE'],
    'STOP',
  ],
);

/** Stores one under the hash of its call data and logs that: its storage root is the block's withdrawals root. */
const messagePasserCode = assemble(
  ...['CALLDATASIZE', 0, 0, 'CALLDATACOPY', 'CALLDATASIZE', 0, 'KECCAK256'],
  ...['DUP1', 1, 'SWAP1', 'SSTORE', 'CALLDATASIZE', 0, 'LOG1', 'STOP'],
) as Hex;

/** Adds one to its argument and stores it in slot 0. */
const storeArgumentCode: Hex = '0x60003560010160005500';

// EIP-4788 and EIP-2935, as deployed everywhere.
const beaconRootsCode: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500';
const historyCode: Hex =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500';

const blockForks = [
  'homesteadBlock eip150Block eip155Block eip158Block byzantiumBlock constantinopleBlock petersburgBlock',
  'istanbulBlock muirGlacierBlock berlinBlock londonBlock arrowGlacierBlock grayGlacierBlock mergeNetsplitBlock',
  'bedrockBlock',
].flatMap((line) => line.split(' '));
const timeForks =
  'shanghaiTime cancunTime pragueTime regolithTime canyonTime deltaTime ecotoneTime fjordTime graniteTime holoceneTime isthmusTime jovianTime'.split(
    ' ',
  );

export const opGasLimit = 60_000_000n;

export interface OpGenesisOptions {
  readonly timestamp?: number;
  /** Accounts beside the funder and the predeploys. */
  readonly alloc?: Readonly<Record<Hex, { readonly balance: Hex; readonly code?: Hex }>>;
}

/** An OP-stack genesis with every fork through Jovian active from the start. */
export function opGenesis(options: OpGenesisOptions = {}): object {
  const fromStart = (names: readonly string[]): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, 0]));
  const contract = (code: Hex): object => ({ balance: '0x0', code });
  return {
    config: {
      chainId: opChainId,
      ...fromStart(blockForks),
      ...fromStart(timeForks),
      terminalTotalDifficulty: 0,
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    nonce: '0x0',
    timestamp: toHex(options.timestamp ?? 0x6af80000),
    // Jovian: version 1, denominator 250, elasticity 6, minimum base fee 0.
    extraData: '0x01000000fa000000060000000000000000',
    gasLimit: toHex(opGasLimit),
    difficulty: '0x0',
    mixHash: pad('0x0', { size: 32 }),
    coinbase: sequencerFeeVault,
    baseFeePerGas: toHex(1_000_000_000),
    alloc: {
      [opFunder.address]: { balance: toHex(10n ** 24n) },
      [l1Block]: contract(l1BlockCode),
      [messagePasser]: contract(messagePasserCode),
      '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02': contract(beaconRootsCode),
      '0x0000F90827F1C53a10cb7A02335B175320002935': { ...contract(historyCode), nonce: '0x1' },
      '0x1000000000000000000000000000000000000001': contract(storeArgumentCode),
      ...options.alloc,
    },
  };
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Hex } from '../../primitives/hex.ts';

export const CHAIN_ID = 901;

/** Keys that everybody knows: the first two of anvil and hardhat. */
export const ACCOUNTS = [
  {
    address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    key: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  },
  {
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    key: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  },
] as const;

/**
 * The sample contract: `uint256 public count; event Incremented(address indexed by, uint256 count);` and
 * `function increment() external { emit Incremented(msg.sender, ++count); }`, by solc 0.8.37.
 */
export const COUNTER = {
  address: '0xc0ffee0000000000000000000000000000000001',
  /** Of `count()`. */
  count: '0x06661abd',
  /** Of `increment()`. */
  increment: '0xd09de08a',
  code: '0x6080604052348015600e575f5ffd5b50600436106030575f3560e01c806306661abd146034578063d09de08a14604d575b5f5ffd5b603b5f5481565b60405190815260200160405180910390f35b60536055565b005b336001600160a01b03167f38ac789ed44572701765277c4d0970f2db1c1a571ed39e84358095ae4eaa54205f5f8154608b9060a3565b918290555060405190815260200160405180910390a2565b5f6001820160bf57634e487b7160e01b5f52601160045260245ffd5b506001019056',
} as const;

/** `increment()`, signed by the first account with nonce 0, at a price that every block of a new chain takes. */
export const SIGNED_INCREMENT: Hex =
  '0x02f87182038580830f424085174876e800830186a094c0ffee00000000000000000000000000000000018084d09de08ac080a07af36cda348617b3b92e15ac3cca6bab719c4395b866bc0ef8456983ed54f876a03b1ba75bd1d41f7073dfc8ccf1bd171ad8b9b3dea797843728b4fedb38805c2f';

export const GAS_LIMIT: Hex = '0x3938700';
export const FEE_RECIPIENT: Hex = '0x4200000000000000000000000000000000000011';
const MILLION_ETHER = '0xd3c21bcecceda1000000';

const FORKS_BY_BLOCK =
  'homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier berlin london arrowGlacier grayGlacier mergeNetsplit bedrock';
const FORKS_BY_TIME =
  'shanghai cancun prague regolith canyon delta ecotone fjord granite holocene isthmus jovian';

/** Accounts beside the funded ones and the counter. */
type Alloc = Readonly<Record<string, { readonly balance: Hex; readonly nonce?: Hex }>>;

/** Writes the genesis of a new chain, and gives its file. */
export async function writeGenesis(folder: string, alloc: Alloc = {}): Promise<string> {
  const file = join(folder, 'genesis.json');
  await writeFile(file, JSON.stringify(devGenesis(alloc)));
  return file;
}

/**
 * An OP-stack genesis with every fork through Jovian. L1Block has no code: fees for L1 data are zero. Neither have
 * the beacon roots of EIP-4788, which anvil does not write.
 */
function devGenesis(alloc: Alloc): object {
  const fromStart = (names: string, unit: string): Record<string, number> =>
    Object.fromEntries(names.split(' ').map((name) => [`${name}${unit}`, 0]));
  return {
    config: {
      chainId: CHAIN_ID,
      ...fromStart(FORKS_BY_BLOCK, 'Block'),
      ...fromStart(FORKS_BY_TIME, 'Time'),
      terminalTotalDifficulty: 0,
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
    },
    nonce: '0x0',
    timestamp: `0x${Math.floor(Date.now() / 1_000).toString(16)}`,
    // Jovian: version 1, denominator 250, elasticity 6, minimum base fee 0.
    extraData: '0x01000000fa000000060000000000000000',
    gasLimit: GAS_LIMIT,
    difficulty: '0x0',
    mixHash: `0x${'00'.repeat(32)}`,
    coinbase: FEE_RECIPIENT,
    baseFeePerGas: '0x3b9aca00',
    alloc: {
      ...Object.fromEntries(ACCOUNTS.map(({ address }) => [address, { balance: MILLION_ETHER }])),
      [COUNTER.address]: { balance: '0x0', code: COUNTER.code },
      ...alloc,
    },
  };
}

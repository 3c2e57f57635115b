import { type Abi, encodeFunctionData, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { exportChain, startDevGeth } from '../servers/geth.ts';
import type { ChainFiles } from '../servers/node.ts';
import { type TempDir, tempDir, until } from '../servers/process.ts';
import { request } from '../servers/rpc-client.ts';
import { type Compiled, compileSolidity } from './solidity.ts';

/** A token with what tests want of one: many transfers at once, work to do, ways to fail. */
export const tokenSource = `pragma solidity ^0.8.0;
contract Token {
  mapping(address => uint) public balanceOf;
  event Transfer(address indexed from, address indexed to, uint value);
  error Refused(address who, uint code);
  constructor() { balanceOf[msg.sender] = 1e30; }
  function transfer(address to, uint value) public returns (bool) {
    balanceOf[msg.sender] -= value; balanceOf[to] += value;
    emit Transfer(msg.sender, to, value); return true;
  }
  function many(uint n, uint salt) public {
    for (uint i = 0; i < n; i++) {
      address to = address(uint160(uint(keccak256(abi.encode(salt, i)))));
      balanceOf[to] += 1; emit Transfer(msg.sender, to, i);
    }
  }
  function spin(uint n) public view returns (uint x) {
    for (uint i = 0; i < n; i++) x = uint(keccak256(abi.encode(x, i)));
  }
  function fail(uint how) public view returns (uint) {
    require(how != 0, "zero is refused");
    if (how == 1) revert Refused(msg.sender, 42);
    return 1 / (how - 2);
  }
}`;

/** The account of `geth --dev`: its key is public, so the same transactions can be signed for any dev chain. */
export const owner = privateKeyToAccount(
  '0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291',
);
export const devChainId = 1337;

export interface Token {
  readonly address: Hex;
  readonly abi: Abi;
  /** Which block each lot of transfers is in: `geth --dev` puts an empty block between them now and then. */
  readonly blocks: readonly number[];
}

function compileToken(): Compiled {
  const token = compileSolidity(tokenSource)['Token'];
  if (token === undefined) throw new Error('solc left the token out');
  return token;
}

interface Mined {
  readonly blockNumber: Hex;
  readonly status: Hex;
  readonly contractAddress: Hex | null;
}

/** Makes a token and `blocks` blocks of `logsPerBlock` transfers, on a dev chain that mines each transaction at once. */
export async function makeToken(url: string, blocks: number, logsPerBlock: number): Promise<Token> {
  const { abi, code } = compileToken();
  let nonce = Number(await request<Hex>(url, 'eth_getTransactionCount', [owner.address, 'latest']));
  const mine = async (transaction: { to?: Hex; data: Hex }): Promise<Mined> => {
    const signed = await owner.signTransaction({
      chainId: devChainId,
      type: 'eip1559',
      gas: 8_000_000n,
      maxFeePerGas: 10_000_000_000n,
      maxPriorityFeePerGas: 1n,
      nonce,
      ...transaction,
    });
    nonce += 1;
    const hash = await request<Hex>(url, 'eth_sendRawTransaction', [signed]);
    const receipt = await until('a transaction to be mined', async () => {
      return (await request<Mined | null>(url, 'eth_getTransactionReceipt', [hash])) ?? undefined;
    });
    if (receipt.status !== '0x1') throw new Error(`a transaction of the token failed: ${hash}`);
    return receipt;
  };
  const created = await mine({ data: code });
  if (created.contractAddress === null) throw new Error('the token was not created');
  const mined: number[] = [];
  for (let salt = 0; salt < blocks; salt += 1) {
    const data = encodeFunctionData({
      abi,
      functionName: 'many',
      args: [BigInt(logsPerBlock), BigInt(salt)],
    });
    mined.push(Number((await mine({ to: created.contractAddress, data })).blockNumber));
  }
  return { address: created.contractAddress, abi, blocks: mined };
}

export interface TokenChain extends AsyncDisposable {
  readonly files: ChainFiles;
  readonly token: Token;
}

/** The same chain as files to import: made on `geth --dev`, which is gone afterwards. */
export async function makeTokenChain(blocks: number, logsPerBlock: number): Promise<TokenChain> {
  const dir: TempDir = await tempDir('chain');
  const files = { genesis: `${dir.path}/genesis.json`, blocks: `${dir.path}/chain.rlp` };
  await using geth = await startDevGeth();
  const token = await makeToken(geth.url, blocks, logsPerBlock);
  await geth.halt();
  await exportChain(geth.dataDir, token.blocks.at(-1) ?? 1, files);
  return { files, token, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

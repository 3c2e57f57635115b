import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { COUNTER } from '../../src/dev/client/genesis.ts';
import { runToEnd, tempDir } from '../support/servers/process.ts';
import { clientTools } from './tools.ts';
import { partyOf } from './wallets.ts';

const dev = inject('dev');
const { account, counter, reader, wallet } = partyOf('wagmi');

/** As an app does it, whatever wallet is connected. */
const program = (hash: string): string => `
  import { createConfig, getBalance, getBlock, getBlockNumber, getBytecode, getTransaction, getTransactionCount,
    http, readContract, simulateContract, waitForTransactionReceipt } from '@wagmi/core';
  import { parseAbi } from 'viem';
  const chain = { id: 901, name: 'dev', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: ['${dev.url}'] } } };
  const config = createConfig({ chains: [chain], transports: { 901: http() } });
  const abi = parseAbi(['function count() view returns (uint256)', 'function increment()']);
  const counter = { address: '${counter.address}', abi };
  const hash = '${hash}';
  const found = await Promise.all([
    getBlockNumber(config), getBlock(config).then(({ number }) => number),
    getBalance(config, { address: '${account.address}' }).then(({ value }) => value),
    getTransactionCount(config, { address: '${account.address}' }),
    getBytecode(config, { address: counter.address }),
    readContract(config, { ...counter, functionName: 'count' }),
    simulateContract(config, { ...counter, functionName: 'increment', account: '${account.address}' }).then(() => true),
    getTransaction(config, { hash }).then(({ to }) => to),
    waitForTransactionReceipt(config, { hash }).then(({ status }) => status),
  ]);
  console.log(JSON.stringify(found.map(String)));
  process.exit(0);
`;

it('wagmi reads all that an app shows', async () => {
  const hash = await wallet.writeContract({ ...counter, functionName: 'increment' });
  await reader.waitForTransactionReceipt({ hash, confirmations: 2 });
  await using folder = await tempDir('wagmi');
  await symlink(join(await clientTools(), 'node_modules'), join(folder.path, 'node_modules'));
  const file = join(folder.path, 'app.mjs');
  await writeFile(file, program(hash));
  const found = JSON.parse(await runToEnd(process.execPath, [file])) as string[];
  const [number, block, balance, nonce, code, count, simulated, to, status] = found;
  expect(Number(number)).toBeGreaterThan(0);
  expect(Number(block)).toBeGreaterThan(0);
  expect(BigInt(balance ?? 0)).toBeGreaterThan(0n);
  expect(Number(nonce)).toBeGreaterThan(0);
  expect(Number(count)).toBeGreaterThan(0);
  expect([code, simulated, to, status]).toEqual([
    COUNTER.code,
    'true',
    counter.address.toLowerCase(),
    'success',
  ]);
});

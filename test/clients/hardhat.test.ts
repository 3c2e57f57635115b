import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { COUNTER } from '../../src/dev/client/genesis.ts';
import { runToEnd, tempDir } from '../support/servers/process.ts';
import { creation } from './parties.ts';
import { clientTools } from './tools.ts';

const dev = inject('dev');
const { key } = inject('parties').hardhat;

/** A project as its authors write it. Its contract is compiled already: the compiler would have to be downloaded. */
const files = {
  'package.json': '{"private":true,"type":"module"}',
  'hardhat.config.ts': `
    import hardhatViem from '@nomicfoundation/hardhat-viem';
    import { defineConfig } from 'hardhat/config';
    export default defineConfig({
      plugins: [hardhatViem],
      networks: { dev: { type: 'http', url: '${dev.url}', accounts: ['${key}'] } },
    });`,
  'scripts/deploy.ts': `
    import { network } from 'hardhat';
    import { parseAbi } from 'viem';
    const { provider, viem } = await network.create();
    const [wallet] = await viem.getWalletClients();
    const reader = await viem.getPublicClient();
    const abi = parseAbi(['function count() view returns (uint256)', 'function increment()']);
    const receiptOf = (hash, confirmations) =>
      reader.waitForTransactionReceipt({ hash, confirmations, pollingInterval: 200 });
    // In latest, where hardhat estimates gas.
    const made = await receiptOf(await wallet.deployContract({ abi, bytecode: '${creation(COUNTER.code)}' }), 2);
    const counter = { address: made.contractAddress, abi };
    const { status } = await receiptOf(await wallet.writeContract({ ...counter, functionName: 'increment' }));
    const count = await reader.readContract({ ...counter, functionName: 'count', blockTag: 'pending' });
    const chainId = await provider.request({ method: 'eth_chainId' });
    console.log(JSON.stringify([chainId, made.status, status, String(count)]));`,
} as const;

it('hardhat deploys a contract, calls it and reads it, in a script', async () => {
  const tools = join(await clientTools(), 'node_modules');
  await using folder = await tempDir('hardhat');
  await mkdir(join(folder.path, 'scripts'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  await symlink(tools, join(folder.path, 'node_modules'));
  const args = ['run', '--no-compile', '--network', 'dev', 'scripts/deploy.ts'];
  const options = { cwd: folder.path, env: { HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' } };
  const output = await runToEnd(join(tools, '.bin/hardhat'), args, options);
  expect(output.trim().split('\n').at(-1)).toBe('["0x385","success","success","1"]');
});

import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../support/servers/process.ts';

/** Clients that are too large to be installed by everybody who builds this: 390 MB. viem is the one that they share. */
const packages = {
  '@foundry-rs/cast': '1.7.1',
  '@nomicfoundation/hardhat-viem': '3.0.9',
  '@wagmi/core': '3.6.5',
  hardhat: '3.18.0',
  hono: '4.12.0',
  ponder: '0.16.10',
  typescript: '5.9.3',
  viem: '2.57.0',
} as const;

/** The folder that they are installed in, once: the cache that geth is in too. */
export async function clientTools(): Promise<string> {
  const versions = JSON.stringify({ private: true, type: 'module', dependencies: packages });
  const name = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(versions))).toString('hex');
  const folder = join(homedir(), '.cache/chain-query', `clients-${name.slice(0, 12)}`);
  const done = join(folder, 'installed');
  if (existsSync(done)) return folder;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), versions);
  // None of them needs to run code while it is installed.
  await runToEnd('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts']);
  await writeFile(done, '');
  return folder;
}

/** Runs cast; what it prints. Of a chain id that it does not know, it has to be told that blocks have deposits. */
export async function cast(...args: readonly string[]): Promise<string> {
  const env = { FOUNDRY_NETWORK: 'optimism' };
  const output = await runToEnd(join(await clientTools(), 'node_modules/.bin/cast'), args, { env });
  return output.trim();
}

import type { Hex } from 'viem';
import { expect, inject, it } from 'vitest';
import { COUNTER } from '../../src/dev/client/genesis.ts';
import { until } from '../support/servers/process.ts';
import { cast } from './tools.ts';
import { partyOf } from './wallets.ts';

const dev = inject('dev');
const { key, account, counter, reader, wallet } = partyOf('cast');
const at = ['--rpc-url', dev.url] as const;
const json = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
  const output = await cast(...args, '--json', ...at);
  try {
    return JSON.parse(output) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`cast ${args.join(' ')} printed:\n${output}`, { cause });
  }
};

it('reads the chain, blocks and accounts', async () => {
  expect(await cast('chain-id', ...at)).toBe('901');
  await until('a block', async () => (Number(await cast('block-number', ...at)) > 0 ? true : undefined));
  expect(await cast('client', ...at)).toMatch(/^chain-query\//);
  const block = await json('block', '1');
  expect(block['hash']).toBe((await reader.getBlock({ blockNumber: 1n })).hash);
  expect(Number(await cast('block', 'pending', '-f', 'number', ...at))).toBeGreaterThan(0);
  expect(BigInt(await cast('balance', account.address, ...at))).toBeGreaterThan(10n ** 18n);
  expect(await cast('code', counter.address, ...at)).toBe(COUNTER.code);
  expect(BigInt(await cast('storage', counter.address, '0', ...at))).toBeGreaterThanOrEqual(0n);
});

it('calls, and shows transactions, receipts and logs', async () => {
  const hash = await wallet.writeContract({ ...counter, functionName: 'increment' });
  const { blockNumber } = await reader.waitForTransactionReceipt({ hash });
  const count = await cast('call', counter.address, 'count()(uint256)', '--block', 'pending', ...at);
  expect(Number(count)).toBeGreaterThan(0);
  expect(await json('tx', hash)).toMatchObject({
    hash,
    to: counter.address.toLowerCase(),
    input: COUNTER.increment,
  });
  expect(await json('receipt', hash)).toMatchObject({ transactionHash: hash, status: '0x1' });
  expect(Number(await cast('nonce', account.address, '--block', 'pending', ...at))).toBeGreaterThan(0);
  const logs = (await json(
    ...['logs', '--from-block', `${blockNumber - 1n}`, '--to-block', 'pending', '--address', counter.address],
    'Incremented(address indexed,uint256)',
  )) as unknown as { transactionHash: string; blockNumber: string }[];
  const found = logs.find(({ transactionHash }) => transactionHash === hash);
  expect(BigInt(found?.blockNumber ?? 0)).toBe(blockNumber);
});

it('estimates, sends and runs transactions again', async () => {
  const increment = [counter.address, 'increment()'] as const;
  expect(Number(await cast('estimate', ...increment, '--from', account.address, ...at))).toBeGreaterThan(
    21_000,
  );
  expect(Number(await cast('gas-price', ...at))).toBeGreaterThan(0);
  // cast counts what is in `latest`: the transaction of another test may be pre-confirmed and not in it yet.
  const counted = (blockTag: 'latest' | 'pending') => reader.getTransactionCount({ ...account, blockTag });
  await until('what was sent before', async () =>
    (await counted('latest')) === (await counted('pending')) ? true : undefined,
  );
  const receipt = await json('send', ...increment, '--private-key', key);
  expect(receipt).toMatchObject({ status: '0x1', to: counter.address.toLowerCase() });
  const hash = String(receipt['transactionHash']);
  const { blockNumber } = await reader.waitForTransactionReceipt({ hash: hash as Hex });
  await until('its block', async () =>
    Number(await cast('block-number', ...at)) >= Number(blockNumber) ? true : undefined,
  );
  expect(await cast('run', hash, ...at)).toContain('Transaction successfully executed');
});

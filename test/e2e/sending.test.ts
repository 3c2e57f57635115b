// Transactions sent through our node, to the upstream that it follows, and their receipts as it pre-confirms them.
import { createPublicClient, createWalletClient, http, type LocalAccount } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import { opGethBinary } from '../support/servers/paths.ts';
import { type Running, until } from '../support/servers/process.ts';
import { request, send } from '../support/servers/rpc-client.ts';
import { startProgram } from '../support/servers/serving.ts';
import { chain, listeners } from './dev-chain.ts';

const SENDS = 20;

let dev: Running;
let url: string;
let upstream: string;
const [first, second] = ACCOUNTS.map(({ key }) => privateKeyToAccount(key)) as [LocalAccount, LocalAccount];

beforeAll(async () => {
  dev = startProgram(['dev', ...listeners, '--op-geth', opGethBinary()]);
  await until('its guide', () => (dev.output().includes('Ctrl-C') ? true : undefined));
  url = /read +(http:\S+)/.exec(dev.output())?.[1] ?? '';
  upstream = /send to +(http:\S+)/.exec(dev.output())?.[1] ?? '';
});
afterAll(() => dev?.stop());

/** A signed transfer to itself. */
function signed(account: LocalAccount, nonce: number): Promise<string> {
  return account.signTransaction({
    ...{ chainId: chain.id, type: 'eip1559', nonce, gas: 21_000n, to: account.address, value: 1n },
    ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 6n },
  });
}

describe('sending through our node (B12)', () => {
  it('answers with the receipt as soon as it is pre-confirmed', async () => {
    const nonce = Number(await request<string>(url, 'eth_getTransactionCount', [first.address, 'pending']));
    const times: number[] = [];
    for (let at = 0; at < SENDS; at++) {
      const raw = await signed(first, nonce + at);
      const began = performance.now();
      const receipt = await request<{ transactionHash: string; status: string; from: string }>(
        url,
        'eth_sendRawTransactionSync',
        [raw],
      );
      times.push(performance.now() - began);
      expect(receipt).toMatchObject({ status: '0x1', from: first.address.toLowerCase() });
      // What it says can be read from then on.
      const again = await request(url, 'eth_getTransactionReceipt', [receipt.transactionHash]);
      expect(again).toMatchObject({ transactionHash: receipt.transactionHash });
      const count = await request<string>(url, 'eth_getTransactionCount', [first.address, 'pending']);
      expect(Number(count)).toBe(nonce + at + 1);
    }
    const sorted = times.toSorted((a, b) => a - b).map(Math.round);
    console.log(`receipts after ${sorted[SENDS / 2]} ms at the median, ${sorted.at(-1)} ms at most`);
  });

  it('is what viem sends with, unchanged', async () => {
    const transport = http(url);
    const wallet = createWalletClient({ account: first, chain, transport });
    const reader = createPublicClient({ chain, transport, pollingInterval: 50 });
    const hash = await wallet.sendTransaction({ to: second.address, value: 5n, gas: 21_000n });
    expect(await reader.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' });
    const receipt = await wallet.sendTransactionSync({ to: second.address, value: 5n, gas: 21_000n });
    expect(receipt.status).toBe('success');
  });

  it('takes what is known already, and says what is wrong with the rest in words that viem knows', async () => {
    const nonce = Number(await request<string>(url, 'eth_getTransactionCount', [second.address, 'pending']));
    // One that waits for another, so that it stays in the pool.
    const raw = await signed(second, nonce + 5);
    const hash = await request(url, 'eth_sendRawTransaction', [raw]);
    expect(await request(url, 'eth_sendRawTransaction', [raw])).toBe(hash);
    expect(await send(url, { method: 'eth_sendRawTransactionSync', params: [raw, 300] })).toMatchObject({
      error: { code: 5, data: hash },
    });
    expect(await request(upstream, 'eth_getTransactionByHash', [hash])).toMatchObject({ hash });
    const wallet = createWalletClient({ account: first, chain, transport: http(url) });
    const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 6n };
    const failing = async (more: object): Promise<string> => {
      const error: unknown = await wallet.sendTransaction({ to: second.address, ...fees, ...more }).then(
        () => undefined,
        (why: unknown) => why,
      );
      return (error as { cause?: { name?: string } }).cause?.name ?? String(error);
    };
    expect(await failing({ nonce: 0 })).toBe('NonceTooLowError');
    expect(await failing({ value: 10n ** 30n })).toBe('InsufficientFundsError');
    expect(await failing({ gas: 20_000n })).toBe('IntrinsicGasTooLowError');
  });

  it('sends nothing that is of another chain', async () => {
    const raw = await first.signTransaction({
      chainId: 1,
      gas: 21_000n,
      to: first.address,
      gasPrice: 10n ** 10n,
    });
    expect(await send(url, { method: 'eth_sendRawTransaction', params: [raw] })).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('invalid chain id for signer: have 1 want') },
    });
  });
});

describe('what an upstream proves (B12)', () => {
  it('is checked, and passed on with its source', async () => {
    const slots = ['0x00', `0x${'0'.repeat(63)}1`];
    const { number } = await request<{ number: string }>(url, 'eth_getBlockByNumber', ['latest', false]);
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_getProof', params: [COUNTER.address, slots, number] };
    const response = await fetch(url, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    });
    const answer: unknown = await response.json();
    expect(answer).toMatchObject({
      result: await request(upstream, 'eth_getProof', [COUNTER.address, slots, number]),
    });
    expect(response.headers.get('x-chain-source')).toBe('upstream');
  });
});

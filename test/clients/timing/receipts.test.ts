// How soon receipts are there: of viem, of eth_sendRawTransactionSync, and of the chain's own client.
// Nothing else runs meanwhile. SENDS=100 is the full form.
import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from 'viem';
import { expect, inject, it } from 'vitest';
import { COUNTER } from '../../../src/dev/client/genesis.ts';
import { until } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { chain, partyOf } from '../wallets.ts';

const sends = Number(process.env['SENDS'] ?? 25);
/** Not a part of 200 ms or 2 s: sends come at any time between two flashblocks and between two blocks. */
const betweenMs = 130;
const limits = { p50: 400, p99: 800 } as const;

const dev = inject('dev');
const { account, counter, reader, wallet } = partyOf('timing');

function report(what: string, times: readonly number[]): { readonly p50: number; readonly p99: number } {
  const sorted = times.toSorted((one, other) => one - other);
  const share = (part: number): number => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
  const shares = { p50: share(0.5), p99: share(0.99) };
  console.log(`${what}: receipts after ${shares.p50} ms (p50), ${shares.p99} ms (p99), of ${times.length}`);
  return shares;
}

/** Sends one after the other, whether the one before has its receipt or not; the times until each has. */
async function timesOf(
  receiptOf: (raw: Hex) => Promise<{ readonly status: Hex }>,
): Promise<readonly number[]> {
  const nonce = await reader.getTransactionCount({ address: account.address, blockTag: 'pending' });
  const signed: Hex[] = [];
  for (let sent = 0; sent < sends; sent += 1) {
    const raw = await account.signTransaction({
      ...{ chainId: chain.id, type: 'eip1559', to: counter.address, data: COUNTER.increment, gas: 100_000n },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n, nonce: nonce + sent },
    });
    signed.push(raw);
  }
  const times = signed.map(async (raw, at) => {
    await pause(at * betweenMs);
    const began = performance.now();
    expect((await receiptOf(raw)).status).toBe('0x1');
    return performance.now() - began;
  });
  return Promise.all(times);
}

it('viem waits for receipts of pre-confirmed transactions', async () => {
  const times: number[] = [];
  const count = () => reader.readContract({ ...counter, functionName: 'count' });
  const before = await count();
  for (let sent = 0; sent < sends; sent += 1) {
    const began = performance.now();
    const hash = await wallet.writeContract({ ...counter, functionName: 'increment' });
    const receipt = await reader.waitForTransactionReceipt({ hash });
    times.push(performance.now() - began);
    expect(receipt).toMatchObject({ status: 'success', transactionHash: hash });
  }
  const { p50, p99 } = report('viem, writeContract and waitForTransactionReceipt', times);
  expect(await count()).toBe(before + BigInt(sends));
  expect(p50).toBeLessThan(limits.p50);
  expect(p99).toBeLessThan(limits.p99);
}, 120_000);

it('eth_sendRawTransactionSync answers sooner than the upstream can be asked for the receipt', async () => {
  const ours = await timesOf((raw) => request(dev.url, 'eth_sendRawTransactionSync', [raw]));
  const { p50, p99 } = report('eth_sendRawTransactionSync', ours);
  const theirs = await timesOf(async (raw) => {
    const hash = await request(dev.chainUrl, 'eth_sendRawTransaction', [raw]);
    return until('the receipt', async () => {
      const receipt = await request<{ status: Hex } | null>(dev.chainUrl, 'eth_getTransactionReceipt', [
        hash,
      ]);
      return receipt ?? undefined;
    });
  });
  const polled = report('the upstream, sent to and polled', theirs);
  expect(p50).toBeLessThan(limits.p50);
  expect(p99).toBeLessThan(limits.p99);
  expect(p50).toBeLessThan(polled.p50);
}, 120_000);

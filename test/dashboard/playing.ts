import type { Page } from 'playwright-core';
import { createWalletClient, encodeAbiParameters, type Hex, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { ACCOUNTS, COUNTER } from '../../src/dev/client/genesis.ts';
import type { Checks } from '../support/checks.ts';
import type { DevPlaces } from '../support/serve/dev-node.ts';
import { runToEnd } from '../support/servers/process.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><b id="hostile">x</b>';

export interface Sender {
  increment(): Promise<Hex>;
  deploy(code: Hex): Promise<Hex>;
}

/** Sends transactions to the chain of `dev`, one after another. */
export function senderTo({ url }: DevPlaces): Sender {
  const account = privateKeyToAccount(ACCOUNTS[0].key);
  const chain = {
    ...{ id: 901, name: 'dev', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 } },
    rpcUrls: { default: { http: [url] } },
  } as const;
  const client = createWalletClient({ account, chain, transport: http(url) }).extend(publicActions);
  const fees = { gas: 1_000_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 6n };
  let nonce = 0;
  return {
    increment: () =>
      client.sendTransaction({ ...fees, to: COUNTER.address, data: COUNTER.increment, nonce: nonce++ }),
    async deploy(code) {
      const hash = await client.sendTransaction({ ...fees, data: code, nonce: nonce++ });
      const { contractAddress } = await client.waitForTransactionReceipt({ hash, pollingInterval: 200 });
      if (contractAddress == null) throw new Error('nothing was created');
      return contractAddress;
    },
  };
}

/** Code that creates a contract which answers every call with a string. */
function sayingCode(text: string): Hex {
  const answer = encodeAbiParameters([{ type: 'string' }], [text]).slice(2);
  const length = (answer.length / 2).toString(16).padStart(4, '0');
  // PUSH2 length, PUSH1 13, PUSH0, CODECOPY, PUSH2 length, PUSH0, RETURN.
  const runtime = `61${length}600c5f3961${length}5ff3${answer}`;
  const size = (runtime.length / 2).toString(16).padStart(4, '0');
  return `0x61${size}600c5f3961${size}5ff3${runtime}`;
}

/** A call without a mouse: by tab, arrow and enter alone. */
export async function callByKeyboard(page: Page, checks: Checks): Promise<void> {
  const isOn = (selector: string): Promise<boolean> =>
    page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`);
  const tabTo = async (selector: string): Promise<boolean> => {
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab');
      if (await isOn(selector)) return true;
    }
    return false;
  };
  const reached: boolean[] = [await tabTo('a[href="#playground"]')];
  await page.keyboard.press('Enter');
  await page.locator('form[aria-label=Request]').waitFor();
  reached.push(await tabTo('input[type=radio]'), await tabTo('input[placeholder^="0x… (20"]'));
  await page.keyboard.type(COUNTER.address);
  reached.push(await tabTo('.selector select'), await tabTo('button[type=submit]'));
  await page.keyboard.press('Enter');
  const answered = page.locator('[aria-label=Answer] .values td');
  await answered.waitFor({ timeout: 30_000 });
  checks.check('a call is made by keyboard alone', reached.every(Boolean), reached);
  checks.check('its answer is decoded', (await answered.textContent()) === '0', await answered.textContent());
}

/** The call again, as its curl line; after `increments` the counter says so in pending. */
export async function copyCurl(page: Page, checks: Checks): Promise<void> {
  await page.getByRole('button', { name: 'copy curl' }).click();
  const line = await page.evaluate<string>('navigator.clipboard.readText()');
  const output = await runToEnd('bash', ['-c', line]);
  const { result } = JSON.parse(output) as { readonly result?: string };
  checks.check('the curl line, copied and run, gives the counter', /^0x0{64}$/.test(result ?? ''), output);
}

/** Decoded logs: those there are, and the next as it is pre-confirmed. */
export async function watchLogs(page: Page, checks: Checks, sender: Sender): Promise<void> {
  await page.getByRole('radio', { name: 'Find logs' }).check();
  await page.getByRole('button', { name: 'Follow' }).click();
  await page.locator('.tail [role=status]', { hasText: 'following' }).waitFor({ timeout: 30_000 });
  await sender.increment();
  const first = page.locator('.tail tbody tr').first();
  await first.waitFor({ timeout: 30_000 });
  const seen = (await first.textContent()) ?? '';
  checks.check('pendingLogs brings a log', /Incremented/.test(seen) && /pre-confirmed/.test(seen), seen);
  checks.check('it is decoded', /by = 0xf39F.*, count = 1/.test(seen), seen);
  await page.getByRole('button', { name: 'Send' }).click();
  const found = page.locator('[aria-label="Logs found"] tbody tr').first();
  await found.waitFor({ timeout: 30_000 });
  checks.check('eth_getLogs finds it, decoded', /count = 1/.test((await found.textContent()) ?? ''));
}

/** What a contract says is text, whatever it says. */
export async function showHostile(page: Page, checks: Checks, sender: Sender): Promise<void> {
  const address = await sender.deploy(sayingCode(HOSTILE));
  await page.getByRole('radio', { name: 'Call a contract' }).check();
  await page.getByRole('textbox', { name: 'ABI' }).fill('function name() view returns (string)');
  await page.getByRole('textbox', { name: 'Contract' }).fill(address);
  await page.getByRole('button', { name: 'Send' }).click();
  const value = page.locator('[aria-label=Answer] .values td');
  await value.waitFor({ timeout: 30_000 });
  checks.check('a string of a contract is shown as it is', (await value.textContent()) === HOSTILE);
  checks.check('and becomes no markup', (await page.locator('#hostile, main img').count()) === 0);
}

/** Every method of the node can be chosen and sent; a huge answer is shown in part. */
export async function sendAnything(page: Page, checks: Checks): Promise<void> {
  await page.getByRole('radio', { name: 'Any method' }).check();
  const method = page.getByRole('combobox', { name: /^Method/ });
  await method.locator('option', { hasText: 'rpc.discover' }).waitFor({ state: 'attached', timeout: 30_000 });
  const methods = await method.locator('option').count();
  checks.check('every method is offered', methods >= 57, methods);
  await method.selectOption('rpc.discover');
  await page.getByRole('button', { name: 'Send' }).click();
  const shown = page.locator('[aria-label="Answer as JSON"]');
  await shown.filter({ hasText: 'are not shown' }).waitFor({ timeout: 30_000 });
  const { length } = (await shown.textContent()) ?? '';
  checks.check('a huge answer is shown in part', length < 41_000, length);
}

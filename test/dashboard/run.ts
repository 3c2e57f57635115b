// Drives the dashboard in Chromium against real nodes, in each of their states. The last line is `N passed, N failed`.
// `--screenshots DIR` keeps pictures of all of them.
import { statSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { writeGenesis } from '../../src/dev/client/genesis.ts';
import { WEB_FOLDER } from '../../src/rpc/admin/assets.ts';
import { Checks } from '../support/checks.ts';
import { startTcpProxy } from '../support/proxies/tcp-proxy.ts';
import { type DevPlaces, startDevNode } from '../support/serve/dev-node.ts';
import { startForkingGeth } from '../support/servers/geth.ts';
import { type TempDir, tempDir } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { startServing } from '../support/servers/serving.ts';
import { devChainId, owner } from '../support/workload/token.ts';
import { attack } from './attacks.ts';
import { Looker, startBrowser, untilTitle, visit } from './browser.ts';
import { measureCost } from './cost.ts';
import { callByKeyboard, copyCurl, sendAnything, senderTo, showHostile, watchLogs } from './playing.ts';

const { values } = parseArgs({
  options: {
    screenshots: { type: 'string' },
    /** How long the cost of a page is measured, twice. */
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', multiple: true },
  },
});

const MAX_BYTES = 250_000;
/** The node has begun by then, on a machine with other things to do. */
const FORK_AFTER_SECONDS = 22;
const BUSY_MS = 4_000;

const checks = new Checks();
const looker = new Looker(checks, values.screenshots);

async function checkSize(): Promise<void> {
  const names = await readdir(WEB_FOLDER, { recursive: true });
  const files = names.filter((name) => /\.(?:html|js|css|svg)$/.test(name));
  const bytes = files.reduce((sum, name) => sum + statSync(join(WEB_FOLDER, name)).size, 0);
  console.log(`  the page is ${bytes} bytes in ${files.length} files`);
  checks.check(
    `the page is built, and under ${MAX_BYTES} bytes`,
    files.length >= 3 && bytes < MAX_BYTES,
    bytes,
  );
}

async function idleAndBusy(browser: Browser, places: DevPlaces): Promise<void> {
  await using visited = await visit(browser, places.adminUrl);
  const { page, complaints } = visited;
  checks.check('idle: it says so', await untilTitle(page, 'Ready, idle'));
  await page.locator('.cell.there').nth(2).waitFor({ timeout: 30_000 });
  await looker.look(page, 'idle');
  await callByKeyboard(page, checks);
  await copyCurl(page, checks);
  const sender = senderTo(places);
  await watchLogs(page, checks, sender);
  await looker.look(page, 'playground-logs');
  await showHostile(page, checks, sender);
  await looker.look(page, 'playground-call');
  await sendAnything(page, checks);
  await page.getByRole('link', { name: 'Overview' }).click();
  const load = keepBusy(places, sender, BUSY_MS);
  checks.check('busy: it says so', await untilTitle(page, 'Ready, busy'));
  await load.seen;
  await looker.look(page, 'busy');
  await load.done;
  await page.getByRole('button', { name: /^Use the light theme/ }).click();
  const theme = await page.evaluate<string>('document.documentElement.dataset.theme');
  checks.check('the toggle changes the theme', theme === 'light', theme);
  checks.check('the page has nothing to complain about', complaints.length === 0, complaints);
}

/** Clients who read, and transactions, for a while. `seen`: half of it is over. */
function keepBusy(
  { url }: DevPlaces,
  sender: ReturnType<typeof senderTo>,
  ms: number,
): { readonly seen: Promise<void>; readonly done: Promise<unknown> } {
  const end = performance.now() + ms * 2;
  const half = Promise.withResolvers<void>();
  const read = async (): Promise<void> => {
    const to = '0xc0ffee0000000000000000000000000000000001';
    for (let turn = 0; performance.now() < end; turn++) {
      if (performance.now() > end - ms) half.resolve();
      await request(url, 'eth_call', [{ to, data: '0x06661abd' }, 'pending']);
      await request(url, 'eth_getTransactionCount', [to, 'latest']);
      if (turn % 4 === 0) await request(url, 'eth_getLogs', [{ fromBlock: 'earliest', toBlock: 'pending' }]);
      if (turn % 8 === 0) await request(url, 'eth_getBlockByNumber', ['latest', false]);
    }
  };
  const write = async (): Promise<void> => {
    while (performance.now() < end) await sender.increment();
  };
  return { seen: half.promise, done: Promise.all([read(), read(), write()]) };
}

/** A node of its own, whose stream ends, and then its upstream. */
async function staleAndAlone(browser: Browser, places: DevPlaces, folder: TempDir): Promise<void> {
  const rules = await writeGenesis(folder.path);
  await using upstream = await startTcpProxy(places.chainUrl);
  await using stream = await startTcpProxy(places.flashblocksUrl);
  await using node = await startServing(join(folder.path, 'cut'), {
    args: [
      ...['--upstream', upstream.url, '--flashblocks', stream.url, '--chain', rules, '--threads', '1'],
      ...['--upstream-poll-ms', '100', '--ready-preconfirmed-ms', '3000', '--ready-upstream-ms', '2000'],
    ],
  });
  await using visited = await visit(browser, node.adminUrl);
  const { page } = visited;
  checks.check('at first it is ready', await untilTitle(page, 'Ready'));
  await stream[Symbol.asyncDispose]();
  checks.check('stale stream: it says so', await untilTitle(page, 'Stale stream'));
  await page.locator('.banner.bad').waitFor({ timeout: 30_000 });
  await looker.look(page, 'stale-stream');
  checks.check('the stream is shown as lost', (await page.locator('.sources .health.bad').count()) > 0);
  await upstream[Symbol.asyncDispose]();
  checks.check('no upstream: it says so', await untilTitle(page, 'No upstream'));
  await looker.look(page, 'no-upstream');
  await node[Symbol.asyncDispose]();
  checks.check('no contact: it says so', await untilTitle(page, 'No contact'));
  await looker.look(page, 'no-contact');
}

const prague = {
  ...{ chainId: devChainId, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0 },
  ...{ byzantiumBlock: 0, constantinopleBlock: 0, petersburgBlock: 0, istanbulBlock: 0, muirGlacierBlock: 0 },
  ...{ berlinBlock: 0, londonBlock: 0, arrowGlacierBlock: 0, grayGlacierBlock: 0 },
  ...{ terminalTotalDifficulty: 0, mergeNetsplitBlock: 0, shanghaiTime: 0, cancunTime: 0, pragueTime: 0 },
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
    osaka: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  },
};

/** A chain that forks to rules that the node was not told; begun first and looked at last, as the fork takes its time. */
async function startForked(folder: TempDir): Promise<AsyncDisposable & { readonly adminUrl: string }> {
  const osakaTime = Math.floor(Date.now() / 1_000) + FORK_AFTER_SECONDS;
  const rules = join(folder.path, 'prague.json');
  await writeFile(rules, JSON.stringify({ config: prague }));
  const alloc = { [owner.address]: { balance: '0xffffffffffffffffffff' } };
  const geth = await startForkingGeth({
    ...{ config: { ...prague, osakaTime }, difficulty: '0x0', gasLimit: '0x1c9c380', alloc },
  });
  const node = await startServing(join(folder.path, 'forked'), {
    args: [
      '--upstream',
      geth.url,
      '--chain',
      rules,
      '--threads',
      '1',
      '--upstream-poll-ms',
      '200',
      '--finality-ms',
      '500',
    ],
  });
  return {
    adminUrl: node.adminUrl,
    [Symbol.asyncDispose]: async () => {
      await node[Symbol.asyncDispose]();
      await geth.stop();
    },
  };
}

async function rulesTooOld(browser: Browser, adminUrl: string): Promise<void> {
  await using visited = await visit(browser, adminUrl);
  const { page } = visited;
  checks.check('rules too old: it says so', await untilTitle(page, 'Rules too old', 40_000));
  const detail = (await page.locator('.banner p').textContent()) ?? '';
  checks.check('and what to do', /upgrade|newer|--chain/i.test(detail), detail);
  await looker.look(page, 'rules-too-old');
}

const isWanted = (part: string): boolean => values.only?.includes(part) ?? true;
const timed = async (part: string, run: () => Promise<void>): Promise<void> => {
  if (!isWanted(part)) return;
  const began = performance.now();
  try {
    await run();
  } catch (error) {
    checks.check(part, false, error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  console.log(`${part}: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
};

await using folder = await tempDir('dashboard');
await using browser = await startBrowser();
const forked = isWanted('forked') ? startForked(folder) : undefined;
forked?.catch(() => {});
await timed('size', checkSize);
if (isWanted('dev') || isWanted('cut')) {
  const { running, places } = await startDevNode();
  // Both mostly wait, and neither asks the other's node anything.
  await Promise.all([
    timed('dev', () => idleAndBusy(browser, places)),
    timed('cut', () => staleAndAlone(browser, places, folder)),
  ]);
  await timed('attacks', () => attack(places.adminUrl, checks));
  await running.stop();
}
await timed('forked', async () => {
  if (forked === undefined) return;
  await using node = await forked;
  await rulesTooOld(browser, node.adminUrl);
});
await timed('cost', () => measureCost(browser, checks, { folder, seconds: Number(values.seconds) }));
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;

import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { Checks } from '../support/checks.ts';
import { startAnvil } from '../support/servers/anvil.ts';
import { type TempDir, until } from '../support/servers/process.ts';
import { request } from '../support/servers/rpc-client.ts';
import { startServing } from '../support/servers/serving.ts';
import { untilTitle, visit } from './browser.ts';

const BLOCK_MS = 200;
const SETTLE_MS = 3_000;
const MOST_OF_A_CORE = 0.1;
const TICKS_A_SECOND = 100;

/** CPU time of a process, with all its threads, in seconds. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** What an open page costs where five blocks come a second: of the browser's core, and of the node's. */
export async function measureCost(
  browser: Browser,
  checks: Checks,
  { folder, seconds }: { readonly folder: TempDir; readonly seconds: number },
): Promise<void> {
  await using anvil = await startAnvil(['--no-mining']);
  await request(anvil.url, 'evm_mine');
  const args = [
    '--upstream',
    anvil.url,
    '--upstream-poll-ms',
    '50',
    '--threads',
    '1',
    '--log-level',
    'error',
  ];
  await using node = await startServing(`${folder.path}/fast`, { args });
  const mining = new AbortController();
  const mined = mine(anvil.url, mining.signal);
  const share = async (read: () => number | Promise<number>): Promise<number> => {
    const [before, began] = [await read(), performance.now()];
    await pause(seconds * 1_000);
    return ((await read()) - before) / ((performance.now() - began) / 1_000);
  };
  const ofNode = (): number => cpuOf(node.running.pid);
  await until('blocks', async () => ((await headOf(node.adminUrl)) > 5 ? true : undefined), 20_000);
  const alone = await share(ofNode);
  await using visited = await visit(browser, node.adminUrl);
  await untilTitle(visited.page, 'Ready');
  // What opening it costs is over by then.
  await pause(SETTLE_MS);
  const session = await browser.newBrowserCDPSession();
  /** Of all processes of a kind, in seconds. */
  const cpuTime = async (kind: string): Promise<number> => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, { type, cpuTime: own }) => (type === kind ? sum + own : sum), 0);
  };
  const first = await headOf(node.adminUrl);
  const nodeBefore = ofNode();
  const began = performance.now();
  const [pageBefore, drawnBefore] = [await cpuTime('renderer'), await cpuTime('GPU')];
  await pause(seconds * 1_000);
  const elapsed = (performance.now() - began) / 1_000;
  const page = ((await cpuTime('renderer')) - pageBefore) / elapsed;
  const drawn = ((await cpuTime('GPU')) - drawnBefore) / elapsed;
  const watched = (ofNode() - nodeBefore) / elapsed;
  const rate = ((await headOf(node.adminUrl)) - first) / elapsed;
  mining.abort();
  await mined;
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  console.log(
    `  ${rate.toFixed(1)} blocks a second: the page takes ${percent(page)} of a core, and the browser ${percent(drawn)} to draw it; the node ${percent(alone)} alone, ${percent(watched)} with a page open`,
  );
  checks.check('there were about five blocks a second', rate > 3.5, rate);
  checks.check('the page stays under 10 % of a core', page < MOST_OF_A_CORE, page);
}

async function headOf(adminUrl: string): Promise<number> {
  const state = (await (await fetch(`${adminUrl}/readyz`)).json()) as {
    readonly head?: { readonly number: number };
  };
  return state.head?.number ?? 0;
}

async function mine(url: string, signal: AbortSignal): Promise<void> {
  let next = performance.now();
  while (!signal.aborted) {
    await request(url, 'evm_mine');
    next += BLOCK_MS;
    await pause(Math.max(0, next - performance.now()));
  }
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatApiKey } from '../../../src/rpc/auth/api-key.ts';
import { addKey } from '../../../src/rpc/auth/key-file.ts';
import { say } from '../../support/checks.ts';
import { opFunder } from '../../support/servers/op-genesis.ts';
import { residentBytes, runToEnd, tempDir } from '../../support/servers/process.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { ACTOR } from '../evm.ts';
import { expectMemoryBack, type Measured, measure, mib, ms, warmUp } from '../measure.ts';
import { AttackRig } from '../rig.ts';
import type { Scene } from '../scene.ts';
import { startSink } from '../sink-process.ts';
import { rpc } from '../target.ts';
import { watchClients } from '../watch.ts';
import type { Abuse, AbuseReport } from './abuse.ts';
import { ABUSERS, abuserOf } from './abusers.ts';

/** Four of five clients mean well. */
const HONEST = 4 * Object.keys(ABUSERS).length;
const HONEST_EVERY_MS = 150;
const HONEST_WEB_SOCKETS = 8;
const WHOLE_MS = 60_000;
const PART_MS = 20_000;
/** How much slower honest clients may be beside abusers than beside the same bytes sent to somebody else. */
const CONTROL_FACTOR = 2;
/** What they are held to where two cores are shared by the node, its upstreams, the abusers and the honest: docs/attacks.md says what limits it. */
const HELD_P99_MS = 200;
/** So that slow bodies are cut off within a run. */
const REQUEST_TIMEOUT_MS = 8_000;

/** What most clients ask: calls, logs of a few blocks, balances, nonces and receipts. */
async function usualBodies({ upstream, place }: AttackRig): Promise<readonly string[]> {
  const block = await request<{ readonly transactions: readonly string[] }>(
    ...([upstream.url, 'eth_getBlockByNumber', [place.block, false]] as const),
  );
  const near = { fromBlock: place.block, toBlock: place.block };
  return [
    rpc('eth_call', [{ to: ACTOR, data: '0x' }, 'latest']),
    rpc('eth_getLogs', [near]),
    rpc('eth_getBalance', [opFunder.address, 'latest']),
    rpc('eth_getTransactionCount', [opFunder.address, 'pending']),
    rpc('eth_getTransactionReceipt', [block.transactions.at(-1)]),
    rpc('eth_call', [{ to: place.list, data: `0x${'00'.repeat(32)}` }, 'pending']),
    rpc('eth_getLogs', [{ fromBlock: 'latest', toBlock: 'latest', address: ACTOR }]),
    rpc('eth_blockNumber', []),
  ];
}

async function abuse(options: Abuse): Promise<AbuseReport> {
  const file = fileURLToPath(new URL('abuse.ts', import.meta.url));
  const output = await runToEnd(process.execPath, ['--no-warnings', file, JSON.stringify(options)]);
  return JSON.parse(output) as AbuseReport;
}

/** All of them, or those that are chosen by name; by a part of the attacks, none is left out. */
function chosenAbusers({ chooses, seed }: Scene): readonly string[] {
  const all = Object.keys(ABUSERS);
  return chooses('mixed', seed) ? all : all.filter((name) => chooses(name, seed));
}

/** Mixed load of which every fifth client is abusive, each from an address of its own and held to the usual rate. */
export async function mixedLoad(scene: Scene): Promise<void> {
  const { checks, seed } = scene;
  const names = chosenAbusers(scene);
  if (names.length === 0) return;
  await using dir = await tempDir('mixed');
  const keyFile = join(dir.path, 'keys.yaml');
  const { text, key } = addKey('', { name: 'who traces', created: new Date() });
  await writeFile(keyFile, text, { mode: 0o600 });
  const limits = ['--limit-loopback', 'on', '--request-timeout-ms', String(REQUEST_TIMEOUT_MS)];
  await using rig = await AttackRig.start({ serve: ['--keys', keyFile, ...limits] });
  const { node } = rig;
  const bodies = await usualBodies(rig);
  const from = Array.from({ length: HONEST }, (_, at) => `127.0.2.${at + 1}`);
  const watch = () =>
    watchClients({
      ...{ port: node.port, clients: HONEST, everyMs: HONEST_EVERY_MS, bodies, from },
      webSockets: HONEST_WEB_SOCKETS,
    });
  const before = await warmUp(rig, watch);
  const forMs = scene.isWhole ? WHOLE_MS : PART_MS;
  const ports = { publicPort: node.port, dedicatedPort: node.dedicatedPort };
  const options: Abuse = { ...ports, key: formatApiKey(key), forMs, seed, names };
  const mixed = await measure(rig, () => abuse(options), watch);
  const after = residentBytes(node.pid) ?? 0;
  sayMeasured('mixed', mixed);
  say(`memory: ${mib(before)} MiB before, ${mib(node.takePeak())} at most, ${mib(after)} at the end`);
  checks.check('mixed: the node stays up', node.death === undefined, node.death);
  if (node.death !== undefined) return;
  judgeAbusers(scene, mixed.result);
  await using sink = await startSink();
  const bytesPerSecond = Object.fromEntries(
    Object.entries(mixed.result).map(([name, { sentBytes }]) => [name, (sentBytes / forMs) * 1_000]),
  );
  const control = await measure(
    rig,
    () => abuse({ ...options, sink: { port: sink.port, bytesPerSecond } }),
    watch,
  );
  sayMeasured('control', control);
  const { honest } = mixed;
  checks.check('mixed: every honest request is answered', honest.failed === 0 && honest.requests > 0, honest);
  const aim = CONTROL_FACTOR * control.honest.p99;
  say(`aim      p99 below ${ms(aim)} ms: ${honest.p99 < aim ? 'reached' : 'not reached'}`);
  const limit = Math.max(aim, HELD_P99_MS);
  checks.check(
    `mixed: p99 of honest requests is below ${CONTROL_FACTOR} times the control's, or ${HELD_P99_MS} ms`,
    honest.p99 < limit,
    `${ms(honest.p99)} ms, limit ${ms(limit)}`,
  );
  await expectMemoryBack(checks, rig, before);
}

function sayMeasured(name: string, { honest, longestTurnMs, lagMs }: Measured<AbuseReport>): void {
  const { requests, failed, p50, p99, max } = honest;
  say(
    `${name.padEnd(8)} ${requests} honest requests, ${failed} failed, p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} max ${ms(max)} ms · ` +
      `turn ${ms(longestTurnMs)} ms · lag ${ms(lagMs)} ms`,
  );
  const methods = Object.entries(honest.p99ByMethod).map(([method, own]) => `${method} ${own.toFixed(1)}`);
  say(`${''.padEnd(8)} p99 by method: ${methods.join(', ')} ms`);
}

/** Every abuser was told what it expected, and nothing else. */
function judgeAbusers({ checks }: Scene, report: AbuseReport): void {
  for (const [name, { sentBytes, answers: told }] of Object.entries(report)) {
    const { answers, mustAnswer } = abuserOf(name);
    say(
      `${name.padEnd(20)} sent ${(sentBytes / 1_024).toFixed(0).padStart(6)} KiB · ${JSON.stringify(summed(told))}`,
    );
    const others = Object.keys(told).filter((answer) => !answers.test(answer));
    checks.check(`mixed, ${name}: it is answered as it should be`, others.length === 0, others);
    const isThere = Object.keys(told).some((answer) => mustAnswer.test(answer));
    checks.check(`mixed, ${name}: some are told ${mustAnswer.source}`, isThere, told);
  }
}

/** Without the times that some are told to come back in. */
function summed(told: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [answer, count] of Object.entries(told)) {
    const words = answer.replace(/: try again in .*/, '');
    sums[words] = (sums[words] ?? 0) + count;
  }
  return sums;
}

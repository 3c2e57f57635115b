import { fileURLToPath } from 'node:url';
import { say } from '../support/checks.ts';
import { runToEnd } from '../support/servers/process.ts';
import type { Attack, AttackReport } from './attacker.ts';
import { CLIENT_ATTACKS, type ClientAttack } from './clients/catalogue.ts';
import {
  expectMemoryBack,
  LAG_MS,
  type Measured,
  measure,
  measureRepeatedly,
  mib,
  ms,
  type Watched,
  warmUp,
} from './measure.ts';
import { AttackRig } from './rig.ts';
import type { Scene } from './scene.ts';
import { startSink } from './sink-process.ts';

const FOR_MS = 3_000;
/** Honest light requests, in milliseconds; or three times those of the control run, if that is more. */
const P99_MS = 50;
const MAX_MS = 500;
const CONTROL_FACTOR = 3;
/** CPU time of one piece of work on a serving thread. */
const TURN_MS = 50;
/** Of a collection that our node asks for after an attack, which comes every six seconds at most. */
const COLLECTION_MS = 150;

async function attack(options: Attack): Promise<AttackReport> {
  const file = fileURLToPath(new URL('attacker.ts', import.meta.url));
  const output = await runToEnd(process.execPath, ['--no-warnings', file, JSON.stringify(options)]);
  return JSON.parse(output) as AttackReport;
}

/** Everything that a client can do to a node that follows a chain with flashblocks. */
export async function attackByClients(scene: Scene): Promise<void> {
  const { checks } = scene;
  await using rig = await AttackRig.start();
  const { node } = rig;
  const before = await warmUp(rig);
  for (const [place, [name, kind]] of Object.entries(CLIENT_ATTACKS).entries()) {
    if (!scene.chooses(name, place)) continue;
    await judge(scene, rig, name, kind);
    if (node.death !== undefined) {
      checks.check(`${name}: the node stays up afterwards`, false, node.death);
      return;
    }
  }
  await expectMemoryBack(checks, rig, before);
}

/** What clients attack. */
export type Attacked = Watched & Pick<AttackRig, 'place'> & { emitsLogs: boolean };

/** Makes an attack, and holds it to what all are held to. */
export async function judge(
  { checks, seed }: Scene,
  rig: Attacked,
  name: string,
  {
    forMs = FOR_MS,
    limits: { p99: p99Ms = P99_MS, turn = TURN_MS } = {},
    isDedicated = false,
    emitsLogs = false,
    answers,
    mustAnswer,
  }: ClientAttack,
): Promise<void> {
  const { node, place } = rig;
  const port = isDedicated ? node.dedicatedPort : node.port;
  const options: Attack = { name, place, seed, forMs, port };
  rig.emitsLogs = emitsLogs;
  const isQuick = ({ honest, longestTurnMs, lagMs }: Measured<AttackReport>): boolean =>
    honest.requests > 0 &&
    honest.p99 <= p99Ms &&
    honest.max <= MAX_MS &&
    longestTurnMs <= turn &&
    lagMs <= LAG_MS;
  const measured = await measureRepeatedly(rig, () => attack(options), isQuick);
  const { result, honest, longestTurnMs, longestCollectionMs, lagMs } = measured;
  const { p50, p99, max, failed, requests } = honest;
  say(
    `${name.padEnd(24)} sent ${(result.sentBytes / 1_024).toFixed(0).padStart(7)} KiB · honest p50 ${ms(p50)} p99 ${ms(p99)} ` +
      `max ${ms(max)} ms, ${failed} failed · turn ${ms(longestTurnMs)} ms · collection ${ms(longestCollectionMs)} ms · lag ${ms(lagMs)} ms · ` +
      `peak ${mib(node.takePeak())} MiB · ${JSON.stringify(result.answers)}`,
  );
  checks.check(`${name}: the node stays up`, node.death === undefined, node.death);
  if (node.death !== undefined) return;
  checks.check(`${name}: every honest request is answered`, failed === 0 && requests > 0, honest);
  const others = Object.keys(result.answers).filter((answer) => answers?.test(answer) === false);
  checks.check(`${name}: it is answered as it should be`, others.length === 0, others);
  if (mustAnswer !== undefined)
    checks.check(`${name}: ${mustAnswer}`, result.answers[mustAnswer] !== undefined, result.answers);
  checks.check(`${name}: blocks are followed`, lagMs <= LAG_MS, lagMs);
  checks.check(
    `${name}: collections are short`,
    longestCollectionMs <= COLLECTION_MS,
    `${longestCollectionMs} ms`,
  );
  const limits = { p99: p99Ms, max: MAX_MS, turn };
  if (p99 > limits.p99 || max > limits.max || longestTurnMs > turn) {
    const control = await measureControl(rig, options, result);
    const { p50: usual, ...beside } = control.honest;
    say(
      `${''.padEnd(24)} control: honest p50 ${ms(usual)} p99 ${ms(beside.p99)} max ${ms(beside.max)} ms · turn ${ms(control.longestTurnMs)} ms`,
    );
    limits.p99 = Math.max(limits.p99, CONTROL_FACTOR * beside.p99);
    limits.max = Math.max(limits.max, CONTROL_FACTOR * beside.max);
    // A virtual machine that is made to wait counts that as time of whoever runs.
    limits.turn = Math.max(limits.turn, CONTROL_FACTOR * control.longestTurnMs);
  }
  checks.check(
    `${name}: no piece of work takes a serving thread long`,
    longestTurnMs <= limits.turn,
    `${longestTurnMs} ms, limit ${limits.turn}`,
  );
  checks.check(`${name}: p99 of honest requests`, p99 <= limits.p99, `${p99} ms, limit ${limits.p99}`);
  checks.check(`${name}: max of honest requests`, max <= limits.max, `${max} ms, limit ${limits.max}`);
}

/** The same bytes to somebody who does nothing with them: what the machine itself costs honest clients. */
async function measureControl(
  rig: Watched,
  options: Attack,
  { sentBytes }: AttackReport,
): Promise<Measured<AttackReport>> {
  await using sink = await startSink();
  const bytesPerSecond = Math.max(1, (sentBytes / options.forMs) * 1_000);
  return await measure(rig, () => attack({ ...options, port: sink.port, bytesPerSecond }));
}

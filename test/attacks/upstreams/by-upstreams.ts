import { setTimeout as pause } from 'node:timers/promises';
import { say } from '../../support/checks.ts';
import { until } from '../../support/servers/process.ts';
import type { AttackedNode } from '../attacked-node.ts';
import { neverReady } from '../clients/sending.ts';
import { expectMemoryBack, LAG_MS, type Measured, measureRepeatedly, mib, ms, warmUp } from '../measure.ts';
import { AttackRig } from '../rig.ts';
import type { Scene } from '../scene.ts';
import { rpc } from '../target.ts';
import { HostileStream, STREAM_ATTACKS } from './hostile-stream.ts';
import { HostileUpstream, MISDEEDS } from './hostile-upstream.ts';

const FOR_MS = 3_500;
/** Until an upstream that says nothing of use shows in `/readyz`. */
const BLIND_MS = 12_000;
const RECOVERY_MS = 15_000;
/** What our node's main thread may take for a question of a line. */
const MAIN_MS = 500;
const P99_MS = 50;
/** Misdeeds by which a node is blind: it must say so. */
const BLINDING = new Set(['nulls', 'absurd', 'future-head', 'never', 'garbage', 'looping-block']);
/** Seconds are enough for what takes minutes by default. */
const IMPATIENT = [
  ...['--upstream-timeout-ms', '2000', '--upstream-demotion-ms', '500', '--ready-upstream-ms', '3000'],
  ...['--ready-confirmed-ms', '5000', '--leader-hysteresis', '1s', '--block-time-limit-ms', '2000'],
];

interface Ready {
  readonly ready: boolean;
  readonly reasons?: readonly { readonly reason: string; readonly detail?: string }[];
}

async function readiness({ adminUrl }: AttackedNode): Promise<Ready & { readonly ms: number }> {
  const started = performance.now();
  const response = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(5_000) });
  return { ...((await response.json()) as Ready), ms: performance.now() - started };
}

const isReady = (node: AttackedNode, wanted: boolean) => async (): Promise<Ready | undefined> => {
  const known = await readiness(node);
  return known.ready === wanted ? known : undefined;
};

/** What was seen of one attack. */
interface Attacked {
  readonly name: string;
  readonly measured: Measured<void>;
  /** The longest that `/readyz` took. */
  readonly readyzMs: number;
}

/** Lets something go on for a while, and asks meanwhile whether our node is ready. Only some leave blocks to be followed in time. */
async function suffer(
  rig: AttackRig,
  name: string,
  begin: () => Promise<void> | void,
  lagMs = Number.POSITIVE_INFINITY,
): Promise<Attacked> {
  const { node } = rig;
  let readyzMs = 0;
  const measured = await measureRepeatedly(
    rig,
    async () => {
      readyzMs = 0;
      await begin();
      for (let at = 0; at < FOR_MS && node.death === undefined; at += 250) {
        readyzMs = Math.max(readyzMs, (await readiness(node).catch(() => ({ ms: 5_000 }))).ms);
        await pause(250);
      }
    },
    (seen) => seen.honest.p99 <= P99_MS && readyzMs <= MAIN_MS && seen.lagMs <= lagMs,
  );
  return { name, measured, readyzMs };
}

/** What every attack is held to; false when nothing more can be. */
function judge(
  checks: Scene['checks'],
  { node }: AttackRig,
  { name, measured: { honest, longestTurnMs }, readyzMs }: Attacked,
  more: string,
): boolean {
  say(
    `${name.padEnd(30)} honest p99 ${ms(honest.p99)} max ${ms(honest.max)} ms · readyz ${ms(readyzMs)} ms · turn ${ms(longestTurnMs)} ms · ` +
      `peak ${mib(node.takePeak())} MiB · ${more}`,
  );
  checks.check(`${name}: the node stays up`, node.death === undefined, node.death);
  if (node.death !== undefined) return false;
  checks.check(
    `${name}: honest requests are answered in time`,
    honest.failed === 0 && honest.p99 <= P99_MS,
    honest,
  );
  checks.check(`${name}: the main thread answers`, readyzMs <= MAIN_MS, readyzMs);
  return true;
}

/** Whoever sends to an upstream that takes transactions and never says so: refused for want of room, or given up. */
const UNSENT =
  /^((-32005 the node is overloaded, try again later|-32002 resource unavailable: (the transaction could be sent to nobody|nobody answered within \d+ ms)),?)+$/;

/** Hundreds of transactions at once, which are waited for; how each was answered. */
async function sendMany({ url }: AttackedNode): Promise<ReadonlySet<string>> {
  const raw = await neverReady(1);
  const send = async (): Promise<string> => {
    const body = rpc('eth_sendRawTransactionSync', [raw, 10_000]);
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { error } = (await response.json()) as {
      readonly error?: { readonly code: number; readonly message: string };
    };
    return error === undefined ? 'a result' : `${error.code} ${error.message}`;
  };
  return new Set(await Promise.all(Array.from({ length: 300 }, send)));
}

/** Everything that an upstream can answer, and a block that never ends. */
export async function attackByUpstreams({ checks, chooses }: Scene): Promise<void> {
  await using resources = new AsyncDisposableStack();
  let hostile: HostileUpstream | undefined;
  const rig = resources.use(
    await AttackRig.start({
      prepare: async (upstream) => {
        hostile = resources.use(await HostileUpstream.start(upstream.url));
        return { upstreams: [hostile.url] };
      },
      serve: IMPATIENT,
    }),
  );
  if (hostile === undefined) throw new Error('the upstream was not started');
  const { node } = rig;
  const before = await warmUp(rig);
  let sends: Promise<ReadonlySet<string>> | undefined;
  for (const [place, name] of ['looping-block', ...Object.keys(MISDEEDS)].entries()) {
    if (!chooses(name, place)) continue;
    const attacked = await suffer(rig, name, async () => {
      if (name === 'looping-block') await hostile?.sendLoopingBlock();
      else if (hostile !== undefined) hostile.misdeed = MISDEEDS[name];
      if (name === 'sends-unanswered') sends = sendMany(node);
    });
    const answers = await sends;
    sends = undefined;
    if (answers !== undefined)
      checks.check(`${name}: those who send are told`, UNSENT.test([...answers].join()), [...answers]);
    const blind = BLINDING.has(name)
      ? await until('our node to say that it is blind', isReady(node, false), BLIND_MS).catch(() => undefined)
      : undefined;
    hostile.misdeed = undefined;
    const started = performance.now();
    // A minute of what it asks for is obeyed.
    const recoveryMs = name === 'retry-after-long' ? RECOVERY_MS + 60_000 : RECOVERY_MS;
    const recovered = await rig
      .caughtUp(recoveryMs)
      .then(() => until('our node to be ready', isReady(node, true), RECOVERY_MS))
      .then(
        () => true,
        () => false,
      );
    const said = blind === undefined ? '' : ` · ${JSON.stringify(blind.reasons).slice(0, 160)}`;
    if (!judge(checks, rig, attacked, `back after ${ms(performance.now() - started)} ms${said}`)) return;
    if (BLINDING.has(name)) checks.check(`${name}: the node says that it is blind`, blind !== undefined);
    checks.check(`${name}: blocks are followed again`, recovered);
  }
  await expectMemoryBack(checks, rig, before);
}

/** Everything that a stream of flashblocks can send. */
export async function attackByStreams({ checks, chooses }: Scene): Promise<void> {
  await using resources = new AsyncDisposableStack();
  let hostile: HostileStream | undefined;
  const rig = resources.use(
    await AttackRig.start({
      prepare: async (_, stream) => {
        hostile = resources.use(await HostileStream.start(stream.url));
        return { streams: [hostile.url] };
      },
      serve: IMPATIENT,
    }),
  );
  if (hostile === undefined) throw new Error('the stream was not started');
  const { node } = rig;
  const before = await warmUp(rig);
  for (const [place, name] of [...STREAM_ATTACKS].entries()) {
    if (!chooses(name, place)) continue;
    const begin = (): void => {
      if (hostile !== undefined) hostile.mode = name;
    };
    const attacked = await suffer(rig, name, begin, LAG_MS);
    const { lagMs } = attacked.measured;
    const { connections } = hostile;
    hostile.mode = undefined;
    const started = performance.now();
    const isBack = async (): Promise<true | undefined> => {
      const response = await fetch(node.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
      });
      await response.body?.cancel();
      return response.headers.get('x-chain-pending') === 'none' ? undefined : true;
    };
    const recovered = await until('pre-confirmed state to be back', isBack, RECOVERY_MS).catch(() => false);
    const backMs = ms(performance.now() - started);
    const more = `lag ${ms(lagMs)} ms · ${connections} connections · back after ${backMs} ms`;
    if (!judge(checks, rig, attacked, more)) return;
    checks.check(`${name}: blocks are followed`, lagMs <= LAG_MS, lagMs);
    checks.check(`${name}: connections do not pile up`, connections <= 4, connections);
    checks.check(`${name}: pre-confirmed state is back`, recovered);
  }
  await expectMemoryBack(checks, rig, before);
}

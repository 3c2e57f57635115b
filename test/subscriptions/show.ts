import type { Hex } from 'viem';
import { nonceQuestion } from '../preconfirmed/questions.ts';
import type { Moment, PreconfirmedRig } from '../preconfirmed/rig.ts';
import { Asker } from '../preconfirmed/scenarios/asking.ts';
import { type Channels, Player } from '../preconfirmed/scenarios/player.ts';
import type { Act, Stage } from '../preconfirmed/scenarios/scene.ts';
import {
  type ActScript,
  earlyMs,
  gapMs,
  type Kind,
  plainAct,
  scriptOf,
} from '../preconfirmed/scenarios/script.ts';
import { startStagedRig } from '../preconfirmed/scenarios/staged-rig.ts';
import { Truth } from '../preconfirmed/scenarios/truth.ts';
import { noTotals, Watch } from '../preconfirmed/scenarios/watch.ts';
import { type ServedNode, startServed } from '../preconfirmed/served-node.ts';
import { Random } from '../support/random.ts';
import type { SequencedBlock } from '../support/servers/op-sequencer.ts';
import { untilHead } from '../support/servers/our-node.ts';
import { residentBytes, tempDir, until } from '../support/servers/process.ts';

/** What a run is made of. */
export interface Scene {
  readonly kinds: readonly Kind[];
  readonly acts: readonly Act[];
  /** A block without faults, after which our node shows all there is. */
  readonly recovery: Act;
}

const silenceMs = 800;
/** Final blocks are so far below the head; nothing takes back as many. */
const finalBelow = 6;
/** Has no factor in common with the number of faults and pairs of faults. */
const stride = 37;
/** So many more runs end with a reorg. */
const undoneShare = 0.15;
/** So that there are blocks to take back. */
const blocksBefore = 4;
const threads = 2;
const outputShown = 2_000;

const limits = (queueBytes: number): readonly string[] => [
  ...['--flashblock-gap-ms', `${gapMs}`, '--flashblock-early-ms', `${earlyMs}`],
  ...['--flashblock-silence-ms', `${silenceMs}`, '--preconfirmed-timeout-ms', '5000'],
  ...['--at-least-wait-ms', '10000', '--ws-queue-bytes', `${queueBytes}`],
  // So that resuming takes several steps, and all logs of a run are one answer.
  ...['--resume-blocks', '7', '--profile', 'dedicated.logsResults=1000000'],
];

interface ShowParts {
  readonly rig: PreconfirmedRig;
  readonly node: ServedNode;
  /** Starts it again, where the given one listened. */
  readonly startNode: (like?: ServedNode) => Promise<ServedNode>;
  readonly stage: Stage;
  readonly channels: Channels;
}

/** A chain with flashblocks, faults and reorgs, shown to our node; the faults are those of test/preconfirmed. */
export class Show implements AsyncDisposable {
  readonly rig: PreconfirmedRig;
  /** Our copy begins here. */
  readonly lowest: number;
  readonly happened = new Map<Kind, number>();
  blocks = 0;
  flashblocks = 0;
  readonly problems: string[] = [];
  #node: ServedNode;
  readonly #startNode: (like?: ServedNode) => Promise<ServedNode>;
  readonly #seed: number;
  readonly #stage: Stage;
  readonly #channels: Channels;
  readonly #truth = new Truth();
  readonly #player: Player;
  readonly #asker: Asker;
  readonly #resources: AsyncDisposableStack;
  readonly #totals = noTotals();

  private constructor(seed: number, parts: ShowParts, resources: AsyncDisposableStack) {
    this.#seed = seed;
    this.rig = parts.rig;
    this.#node = parts.node;
    this.#startNode = parts.startNode;
    this.#stage = parts.stage;
    this.#channels = parts.channels;
    this.#resources = resources;
    const { sequencer } = parts.rig;
    this.lowest = sequencer.head.number;
    for (let number = 1; number <= this.lowest; number += 1)
      this.#truth.confirm({ block: sequencer.at(number), parent: sequencer.at(number - 1).hash });
    this.#asker = resources.use(new Asker(parts.node.url));
    const { rig, channels } = parts;
    this.#player = resources.use(new Player({ rig, channels, truth: this.#truth, asker: this.#asker }));
  }

  static async start(seed: number, queueBytes: number): Promise<Show> {
    await using starting = new AsyncDisposableStack();
    const { stage, channels, ...started } = await startStagedRig({ seed, withoutOurs: true });
    const rig = starting.use(started.rig);
    await rig.sequencer.setFinalized(rig.sequencer.head.number);
    const data = starting.use(await tempDir('subscriptions'));
    const startNode = (like?: ServedNode): Promise<ServedNode> =>
      startServed(rig, { dataDir: data.path, threads, more: limits(queueBytes), like });
    const node = starting.use(await startNode());
    await rig.listenedTo();
    await untilHead(node, rig.sequencer.head.hash);
    const resources = new AsyncDisposableStack();
    const show = new Show(seed, { rig, node, startNode, stage, channels }, resources);
    resources.use(starting.move());
    return show;
  }

  get node(): ServedNode {
    return this.#node;
  }

  /** Kills our node without warning, and starts it again where it was, between two runs. */
  async restart(): Promise<void> {
    const killed = this.#node;
    await killed.kill();
    const isAlone = (): true | undefined =>
      this.rig.servers.every(({ connected }) => connected === 0) ? true : undefined;
    await until('streams to notice', isAlone);
    this.#node = this.#resources.use(await this.#startNode(killed));
    await untilHead(this.#node, this.rig.sequencer.head.hash);
    await this.rig.listenedTo();
  }

  /** Blocks without faults, each shown whole. */
  async warmUp(): Promise<void> {
    for (let left = blocksBefore; left > 0; left -= 1) await this.plain(left);
  }

  /** One block without faults. */
  async plain(at: number): Promise<Act> {
    const random = new Random(this.#seed ^ 0x3c6ef372, at);
    const act = await this.#build(plainAct(random), random);
    await this.#watched((watch) => this.#recover(act, watch));
    return act;
  }

  /** Builds a run ahead of its turn. */
  async prepare(run: number): Promise<Scene> {
    const random = new Random(this.#seed ^ 0x1b873593, run);
    // Each fault and each pair comes once in so many runs, in another order than there.
    const { kinds, acts: scripts } = scriptOf(this.#seed, run * stride);
    const isUndone = random.chance(undoneShare) && !scripts.some(({ orphan }) => orphan);
    const acts: Act[] = [];
    for (const [at, script] of scripts.entries()) {
      const isLast = at === scripts.length - 1;
      const end = isUndone && isLast ? ({ depth: 1, length: 1 } as const) : script.end;
      acts.push(await this.#build({ ...script, end }, random));
    }
    const isReorganised = isUndone && !kinds.includes('reorganise');
    return {
      kinds: isReorganised ? [...kinds, 'reorganise'] : kinds,
      acts,
      recovery: await this.#build(plainAct(random), random),
    };
  }

  /** Shows a run; before each act `between` is called. */
  async play(run: number, { kinds, acts, recovery }: Scene, between: () => void): Promise<void> {
    const random = new Random(this.#seed ^ 0x27d4eb2f, run);
    for (const kind of kinds) this.happened.set(kind, (this.happened.get(kind) ?? 0) + 1);
    await this.#watched(async (watch) => {
      for (const act of acts) {
        between();
        this.#note(act);
        await this.#player.play(act, watch, random);
      }
      await this.#recover(recovery, watch);
    });
    this.#channels.clear();
    const { sequencer } = this.rig;
    await sequencer.setFinalized(Math.max(this.lowest, sequencer.head.number - finalBelow));
  }

  /** What our node has now, by its own word; nothing may be under way. */
  async moment(): Promise<Moment> {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';
    const { named } = await this.#asker.ask(body);
    const candidates = this.#truth.candidates(named);
    if (typeof candidates === 'string') throw new Error(`${JSON.stringify(named)}: ${candidates}`);
    const candidate = candidates.at(-1);
    if (candidate === undefined) throw new Error(`no such state: ${JSON.stringify(named)}`);
    return candidate.moment;
  }

  /** Hashes of the confirmed chain, ascending. */
  chain(head: SequencedBlock, from: number): readonly Hex[] {
    return this.#truth.chain(head, from);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  #build(script: ActScript, random: Random): Promise<Act> {
    return this.#stage.build(livelier(script, random), random);
  }

  async #recover(act: Act, watch: Watch): Promise<void> {
    this.#note(act);
    await this.#player.recover(act, watch);
  }

  #note({ attempts }: Act): void {
    this.blocks += 1;
    for (const attempt of attempts) this.flashblocks += attempt.length;
  }

  /** Our node must show what is whole: the rest of its answers is held against op-geth elsewhere. */
  async #watched(work: (watch: Watch) => Promise<void>): Promise<void> {
    const { rig } = this;
    const [sender] = rig.workload.senders;
    if (sender === undefined) throw new Error('nobody sends');
    const watch = new Watch(
      {
        ...{ oracleUrl: rig.oracle.url, sequencer: rig.sequencer },
        ...{ truth: this.#truth, totals: this.#totals },
      },
      {
        questions: (moment) => [nonceQuestion({ tag: 'pending', moment }, sender.address)],
        now: { head: rig.sequencer.head, stack: [] },
      },
    );
    await work(watch);
    const problems = await watch.problems();
    // Later there is nothing left of what it said of its streams meanwhile.
    const said = problems.length > 0 ? [this.#node.running.output().slice(-outputShown)] : [];
    this.problems.push(...problems.slice(0, 1), ...said, ...problems.slice(1));
  }
}

/** Memory of our node, without the pages of its store's file. */
export function memoryOf({ running }: ServedNode): number {
  const bytes = residentBytes(running.pid);
  if (bytes === undefined) throw new Error('our node has ended');
  return bytes;
}

/** With more logs, and deeper reorgs. */
function livelier(script: ActScript, random: Random): ActScript {
  const depth = random.between(1, 3);
  const length = random.between(Math.max(1, depth - 1), depth + 1);
  return {
    ...script,
    actions: random.between(12, 36),
    end: typeof script.end === 'string' ? script.end : { depth, length },
  };
}

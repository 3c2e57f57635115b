import { setTimeout as pause } from 'node:timers/promises';
import type { Hex } from 'viem';
import type { BuiltFlashblock, FlashblockMessage } from '../../support/flashblocks/builder.ts';
import type { FaultScript } from '../../support/flashblocks/faults.ts';
import { inForm } from '../../support/flashblocks/forms.ts';
import type { Random } from '../../support/random.ts';
import { until } from '../../support/servers/process.ts';
import type { PreconfirmedRig } from '../rig.ts';
import type { Asker } from './asking.ts';
import type { Act, Linked } from './scene.ts';
import { type Claim, earlyMs, gapMs, type MessageFault, streamCount } from './script.ts';
import type { Truth } from './truth.ts';
import type { Watch } from './watch.ts';

const beatMs = 100;
/** For what a healthy node does at once. */
const patienceMs = 10_000;
const headOnly = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';

/** What befalls messages, for the servers of a rig; told before a message is published. */
export class Channels {
  readonly #faults = Array.from({ length: streamCount }, () => new Map<FlashblockMessage, MessageFault>());

  scriptOf(stream: number): FaultScript {
    return (message) => {
      const fault = this.#faults[stream]?.get(message);
      return fault === undefined || isTwist(fault) ? undefined : fault;
    };
  }

  set(stream: number, message: FlashblockMessage, fault: MessageFault): void {
    this.#faults[stream]?.set(message, fault);
  }

  clear(): void {
    for (const ofStream of this.#faults) ofStream.clear();
  }
}

interface PlayerModules {
  readonly rig: PreconfirmedRig;
  readonly truth: Truth;
  readonly channels: Channels;
  readonly asker: Asker;
}

/** Shows acts to our node: publishes their flashblocks with the faults of their script, and makes blocks canonical. */
export class Player implements Disposable {
  readonly #modules: PlayerModules;
  /** Blocks that become canonical when the next one begins. */
  #open: readonly Linked[] = [];
  /** Whether what was published of the last block is not what it ends as. */
  #takesBack = false;
  #attempts = 0;
  /** Repeated all the time, so that nothing is silent by accident. */
  #beat: FlashblockMessage | undefined;
  readonly #beating: NodeJS.Timeout;
  published = 0;
  beats = 0;

  constructor(modules: PlayerModules) {
    this.#modules = modules;
    this.#beating = setInterval(() => this.#repeat(), beatMs);
  }

  /** Shows one act with all that goes wrong in it. */
  async play(act: Act, watch: Watch, random: Random): Promise<void> {
    const { script, attempts } = act;
    if (!script.early) await this.#end(watch);
    for (const [at, attempt] of attempts.entries()) {
      const isLast = at === attempts.length - 1;
      const show = this.#shower(attempt);
      for (const built of attempt) {
        const { index } = built.message;
        const faults = script.faults.map((ofStream) => (isLast ? ofStream.get(index) : undefined));
        show(index, faults.some(arrives));
        this.#publish(built, faults);
        await glance(random);
        if (at === 0 && index + 1 === script.endBelowAfter && script.early) await this.#end(watch);
        if (isLast && script.cut?.after === index)
          for (const stream of script.cut.streams) this.#modules.rig.servers[stream]?.cut();
        if (isLast && script.silentAfter === index) await this.#silence();
      }
    }
    if (script.early) await this.#end(watch);
    if (script.whole) await this.#expectLast(act, watch);
    if (act.orphan !== undefined) {
      // Without hashes nobody can tell that its parent is another one than was received.
      if (this.#modules.rig.form !== 'real') this.#shower([act.orphan])(0, true);
      this.#publish(act.orphan, []);
    }
    if (script.waits) await pause((act.orphan === undefined ? gapMs : earlyMs) + beatMs);
    this.#open = act.end;
    this.#takesBack = script.end !== 'sealed' || script.kinds.includes('loseLast');
  }

  /** Shows an act that nothing befalls, on a head that our node has: all of it must be there. */
  async recover(act: Act, watch: Watch): Promise<void> {
    const { rig, asker } = this.#modules;
    const head = this.#open.at(-1)?.block;
    await this.#end(watch);
    await rig.listenedTo();
    if (head !== undefined) {
      const hasHead = async (): Promise<true | undefined> =>
        (await asker.ask(headOnly, `${head.number}`)).named.head.endsWith(head.hash) ? true : undefined;
      await until(`our head to be ${head.number};${head.hash}`, hasHead, patienceMs);
    }
    const [attempt = []] = act.attempts;
    const [first, ...rest] = attempt;
    if (first === undefined) throw new Error('a block has at least one flashblock');
    const show = this.#shower(attempt);
    show(0, true);
    this.#publish(first, []);
    await watch.expect(asker, pointOf(first), first.payload.blockHash);
    for (const built of rest) {
      show(built.message.index, true);
      this.#publish(built, []);
    }
    await this.#expectLast(act, watch);
    this.#beat = inForm(attempt.at(-1) ?? first, rig.form);
    this.#open = act.end;
    this.#takesBack = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#beating);
  }

  /** Makes the block canonical that is due. */
  async #end(watch: Watch): Promise<void> {
    const last = this.#open.at(-1);
    if (last === undefined) return;
    for (const linked of this.#open) this.#modules.truth.confirm(linked);
    this.#open = [];
    await this.#modules.rig.sequencer.makeCanonical(last.block.hash);
    if (this.#takesBack) watch.tookBack(last.block);
  }

  /** Tells the truth of what may be seen: what stands on a lost or false flashblock may not. */
  #shower(attempt: readonly BuiltFlashblock[]): (index: number, comes: boolean) => void {
    const { truth } = this.#modules;
    const number = this.#attempts;
    this.#attempts += 1;
    const come = new Set<number>();
    let next = 0;
    return (index, comes) => {
      if (comes) come.add(index);
      for (let built = attempt[next]; built !== undefined && come.has(next); built = attempt[next]) {
        truth.show(built, number);
        next += 1;
      }
    };
  }

  #publish(built: BuiltFlashblock, faults: readonly (MessageFault | undefined)[]): void {
    const { rig, channels } = this.#modules;
    const message = inForm(built, rig.form);
    this.published += 1;
    for (const [stream, server] of rig.servers.entries()) {
      const fault = faults[stream];
      if (fault !== undefined) channels.set(stream, message, fault);
      server.publish(fault !== undefined && isTwist(fault) ? twisted(message, fault.twist) : message);
    }
  }

  #repeat(): void {
    if (this.#beat === undefined) return;
    this.beats += 1;
    for (const server of this.#modules.rig.servers) server.publish(this.#beat);
  }

  async #silence(): Promise<void> {
    const { servers } = this.#modules.rig;
    const accepted = servers.map((server) => server.accepted);
    for (const server of servers) server.stopped = true;
    const areBack = (): true | undefined =>
      servers.every((server, at) => server.accepted > (accepted[at] ?? 0)) ? true : undefined;
    await until('our node to connect to silent streams again', areBack, patienceMs);
    for (const server of servers) server.stopped = false;
  }

  async #expectLast({ attempts }: Act, watch: Watch): Promise<void> {
    const last = attempts.at(-1)?.at(-1);
    if (last === undefined) throw new Error('a block has at least one flashblock');
    await watch.expect(this.#modules.asker, pointOf(last), last.payload.blockHash);
  }
}

function pointOf({ message, payload }: BuiltFlashblock): string {
  return `${Number(payload.blockNumber)};${message.index}`;
}

/** Lets something be seen in between, or not. */
async function glance(random: Random): Promise<void> {
  if (random.chance(0.6)) await pause(random.between(1, 15));
}

function isTwist(fault: MessageFault): fault is { readonly twist: Claim } {
  return typeof fault === 'object' && 'twist' in fault;
}

function arrives(fault: MessageFault | undefined): boolean {
  return fault === undefined || !(fault === 'lose' || fault === 'garble' || isTwist(fault));
}

/** The same with one false claim. */
function twisted(message: FlashblockMessage, claim: Claim): FlashblockMessage {
  const value = message.diff[claim] as Hex;
  const other = value.endsWith('1') ? '2' : '1';
  return { ...message, diff: { ...message.diff, [claim]: `${value.slice(0, -1)}${other}` } };
}

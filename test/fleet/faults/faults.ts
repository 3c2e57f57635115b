import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { streamOf, subjectOf } from '../../../src/feed/nats/stream.ts';
import { encodeItem } from '../../../src/feed/wire/item-codec.ts';
import { decodePart, encodeMessages } from '../../../src/feed/wire/message.ts';
import type { Random } from '../../support/random.ts';
import { until } from '../../support/servers/process.ts';
import { CHAIN_NAME, type Process, type World } from './world.ts';

/** What is left to do once it was seen how the fleet fares. */
type Mend = () => Promise<unknown>;

export interface Fault {
  readonly name: string;
  /** The time without fresh data that is aimed at, and whether reads may fail meanwhile. */
  readonly aimMs: number;
  /** Does it; the mending comes when fresh data was seen again. */
  begin(world: World, random: Random): Promise<Mend>;
}

/** Longer than the lease of 2 s, and than it takes to notice. */
const SLEEP_MS = 6_000;
const LEADER_MS = 5_000;
const OTHER_MS = 2_000;
const MEDDLED_MS = 3_000;
const HOUR_MS = 3_600_000;
const PART_BYTES = 2 ** 19;
const TAKE_OVER_MS = 30_000;

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of the leader',
    aimMs: LEADER_MS,
    async begin(world) {
      await kill(await leaderOf(world));
      return () => world.ingest();
    },
  },
  {
    name: 'kill -9 of a replica',
    aimMs: OTHER_MS,
    async begin(world, random) {
      await kill(random.pick(world.replicas));
      return () => world.serve();
    },
  },
  {
    name: 'kill -9 of a Cassandra node',
    aimMs: OTHER_MS,
    async begin({ cassandra }, random) {
      const node = random.below(3);
      await cassandra.kill(node);
      return () => cassandra.restart(node);
    },
  },
  {
    name: 'kill -9 of a NATS node',
    aimMs: OTHER_MS,
    async begin({ nats }, random) {
      const node = random.below(3);
      await nats.kill(node);
      return () => nats.restart(node);
    },
  },
  {
    name: 'SIGSTOP of the leader beyond its lease',
    aimMs: LEADER_MS,
    async begin(world) {
      const leader = await leaderOf(world);
      leader.running.signal('SIGSTOP');
      const woken = pause(SLEEP_MS).then(() => leader.running.signal('SIGCONT'));
      return async () => {
        await woken;
        await ended(leader, 'the leader that slept');
        await world.ingest();
      };
    },
  },
  {
    name: 'partition between the leader and Cassandra',
    aimMs: LEADER_MS,
    async begin(world) {
      const leader = await leaderOf(world);
      world.ways.cut(leader.running.pid);
      return async () => {
        world.ways.mend();
        await ended(leader, 'the leader that was cut off');
        await world.ingest();
      };
    },
  },
  {
    name: 'the feed lost entirely',
    aimMs: OTHER_MS,
    async begin({ nats }) {
      const all = [0, 1, 2];
      await Promise.all(all.map((node) => nats.kill(node)));
      return async () => {
        await pause(MEDDLED_MS);
        await Promise.all(all.map((node) => nats.restart(node)));
      };
    },
  },
  {
    name: 'messages of the feed reordered, repeated, dropped and made up',
    aimMs: OTHER_MS,
    async begin(world, random) {
      const stop = new AbortController();
      const meddling = meddle(world, random, stop.signal);
      return async () => {
        await pause(MEDDLED_MS);
        stop.abort();
        await meddling;
      };
    },
  },
  {
    name: 'clocks that jump',
    aimMs: OTHER_MS,
    async begin({ ingesters, replicas }, random) {
      const all = [...ingesters, ...replicas];
      const jump = (): Promise<unknown> =>
        Promise.all(
          all.map(({ clockFile }) => writeFile(clockFile, String((random.below(49) - 24) * HOUR_MS))),
        );
      await jump();
      return async () => {
        await pause(MEDDLED_MS / 2);
        await jump();
        await pause(MEDDLED_MS / 2);
        await Promise.all(all.map(({ clockFile }) => writeFile(clockFile, '0')));
      };
    },
  },
];

async function leaderOf(world: World): Promise<Process> {
  return until('an ingester to write', () => world.leader, TAKE_OVER_MS);
}

async function kill({ running }: Process): Promise<void> {
  running.signal('SIGKILL');
  await running.exited;
}

/** Whoever was replaced must notice, and end. */
async function ended({ running }: Process, who: string): Promise<void> {
  const isOver = running.exited.then(() => true);
  await until(`${who} to end`, () => Promise.race([isOver, pause(50)]) as Promise<true | undefined>);
}

/** Publishes what was published before again, in any order, and takes away what nobody has read yet. */
async function meddle({ nats }: World, random: Random, signal: AbortSignal): Promise<void> {
  const connection = await connect({ servers: [...nats.servers], timeout: 5_000 });
  try {
    const manager = await jetstreamManager(connection, { timeout: 5_000, checkAPI: false });
    const stream = streamOf(CHAIN_NAME);
    // Takes the place of what the writer is about to send, and is no block.
    const lie = async (before: Uint8Array): Promise<void> => {
      const { epoch, sequence } = decodePart(before);
      const added = [{ number: 1, hash: `0x${'11'.repeat(32)}`, outcome: random.bytes(80) } as const];
      const item = encodeItem({ kind: 'confirmed', removed: [], added });
      for (const message of encodeMessages({ epoch, sequence: sequence + 1 }, item, PART_BYTES))
        await jetstream(connection, { timeout: 5_000 })
          .publish(subjectOf(CHAIN_NAME), message)
          .catch(() => undefined);
    };
    while (!signal.aborted) {
      // While servers choose a leader, nobody answers.
      const info = await manager.streams.info(stream).catch(() => undefined);
      if (info === undefined) continue;
      const { state } = info;
      const some = random.list(5, () => Math.max(state.first_seq, state.last_seq - random.below(40)));
      for (const seq of some) {
        const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
        if (message !== null && random.chance(0.2)) await lie(message.data);
        else if (message !== null)
          await jetstream(connection, { timeout: 5_000 })
            .publish(subjectOf(CHAIN_NAME), message.data)
            .catch(() => undefined);
      }
      if (random.chance(0.5)) await manager.streams.purge(stream).catch(() => undefined);
      await pause(random.below(200));
    }
  } finally {
    await connection.close();
  }
}

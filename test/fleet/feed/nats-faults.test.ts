import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import type { FeedPublisher } from '../../../src/feed/nats/publisher.ts';
import { streamOf } from '../../../src/feed/nats/stream.ts';
import { Random } from '../../support/random.ts';
import { type Nats, startNats } from '../../support/servers/fleet/nats.ts';
import { until } from '../../support/servers/process.ts';
import { at, CHAIN, Follower, itemAt, publisherTo } from './followed.ts';

const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));
const ITEMS = 10_000;
/** So many items later, the next fault must have begun. */
const ITEMS_A_FAULT = 2_000;
const FAULTS = ITEMS / ITEMS_A_FAULT - 1;
const LARGE = 5_000_000;
const LARGE_EVERY = 1_111;

/** Sizes of all kinds, up to ten parts, of bytes that do not compress. */
function outcomeOf(sequence: number, noise: Uint8Array): Uint8Array {
  const random = new Random(seed, sequence);
  const size = sequence % LARGE_EVERY === 0 ? LARGE : random.below(random.chance(0.02) ? 200_000 : 3_000);
  const from = random.below(noise.length - size);
  return noise.subarray(from, from + size);
}

/** Publishes everything, no faster than it is taken, and not before the faults that are to happen meanwhile. */
async function publishAll(publisher: FeedPublisher, faultsBegun: () => number): Promise<void> {
  const noise = new Random(seed, 0).bytes(LARGE * 2);
  for (let sequence = 1; sequence <= ITEMS; sequence++) {
    const mayGoOn = (): boolean =>
      publisher.state.queuedItems < 100 &&
      faultsBegun() >= Math.min(FAULTS, Math.floor(sequence / ITEMS_A_FAULT));
    if (!mayGoOn()) await until('the queue to have room', () => (mayGoOn() ? true : undefined));
    publisher.publish(itemAt(at(sequence), outcomeOf(sequence, noise)));
  }
}

/** Resolves once all nodes have all of the stream again. */
async function healed(nats: Nats): Promise<void> {
  await until('all nodes to have the stream', async () => {
    const connection = await connect({ servers: [...nats.servers], timeout: 1_000 });
    try {
      const manager = await jetstreamManager(connection, { timeout: 1_000, checkAPI: false });
      const { cluster } = await manager.streams.info(streamOf(CHAIN));
      const replicas = cluster?.replicas ?? [];
      return (
        (replicas.length === 2 && replicas.every(({ current, offline }) => current && !offline)) || undefined
      );
    } finally {
      await connection.close();
    }
  });
}

interface Fault {
  readonly what: string;
  end(): Promise<unknown>;
}

/** One node sleeps, one dies, or two do, and with them whatever takes a majority. */
const HARMS: readonly ((nats: Nats, node: number) => Promise<Fault>)[] = [
  async (nats, node) => {
    nats.pause(node);
    return { what: `${node} paused`, end: async () => nats.resume(node) };
  },
  async (nats, node) => {
    await nats.kill(node);
    return { what: `${node} killed`, end: () => nats.restart(node) };
  },
  async (nats, node) => {
    const others = [0, 1, 2].filter((other) => other !== node);
    await Promise.all(others.map((other) => nats.kill(other)));
    const restart = (): Promise<unknown> => Promise.all(others.map((other) => nats.restart(other)));
    return { what: `all but ${node} killed`, end: restart };
  },
];

it(`loses nothing without saying so while nodes die and sleep (TEST_SEED=${seed})`, async () => {
  const began = performance.now();
  await using nats = await startNats({ nodes: 3 });
  const urls = nats.servers.map((server) => `nats://${server}`);
  const publisher = publisherTo(urls, {
    stream: { maxAgeMs: 600_000, maxBytes: 512 << 20, storage: 'file', replicas: 3 },
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => publisher.close());
  const random = new Random(seed, 1);
  await using steady = new Follower(urls);
  await using pausing = new Follower(urls, {}, (sequence) => {
    const chosen = new Random(seed + 1, sequence);
    return chosen.chance(0.01) ? delay(chosen.below(100)) : undefined;
  });
  let faults = 0;
  const firstHarm = random.below(HARMS.length);
  const publishing = publishAll(publisher, () => faults);
  await steady.reaches(at(1));
  const log: string[] = [];
  while (faults < FAULTS) {
    await until('some items', () =>
      publisher.state.sequence >= faults * ITEMS_A_FAULT + 500 ? true : undefined,
    );
    await healed(nats);
    const harm = HARMS[(firstHarm + faults) % HARMS.length];
    const fault = await harm?.(nats, random.below(3));
    if (fault === undefined) throw new Error('no fault');
    log.push(
      `${fault.what} at ${publisher.state.sequence}, ${Math.round((performance.now() - began) / 1_000)} s`,
    );
    faults++;
    await delay(random.between(300, 1_500));
    await fault.end();
  }
  await using late = new Follower(urls);
  await publishing;
  await until('everything to be sent', () => (publisher.state.queuedItems === 0 ? true : undefined));
  for (const follower of [steady, pausing, late]) {
    await follower.reaches(at(ITEMS), 60_000);
    expect(follower.wrong).toEqual([]);
    expect(follower.missing()).toEqual(follower.saidToBeMissing());
  }
  const kept = [steady, pausing, late].map(({ subscriber: { state } }) => ({
    items: state.items,
    lost: state.lost - 1,
    repeated: state.ignored.repeated,
    reopened: state.reopened,
  }));
  const { dropped, retries, bytes } = publisher.state;
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    JSON.stringify({ seed, seconds, log, dropped, retries, megabytes: Math.round(bytes / 1e6), kept }),
  );
}, 180_000);

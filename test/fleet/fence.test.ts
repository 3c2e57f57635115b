import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type CqlStore, openCqlStore } from '../../src/store/cql/index.ts';
import { copyOf, RootRow, readRoot } from '../../src/store/cql/root.ts';
import { Session } from '../../src/store/cql/session.ts';
import { indexBlocks } from '../../src/store/cql/write/index-blocks.ts';
import { startCli } from '../support/servers/node.ts';
import { officialChain } from '../support/servers/paths.ts';
import { until } from '../support/servers/process.ts';
import { createRandom, makeChain, randomContent } from '../support/store/contract-chain.ts';
import { describeChain } from '../support/store/contract-observe.ts';
import { useCassandra } from './place.ts';

const place = useCassandra('fence');

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

function options() {
  return { ...place(), undoWindow: 150, indexLag: 0, graceMs: 0, viewMs: 60_000 };
}

/** What writers said of themselves: those that were replaced hear of it, and no others have anything to say. */
const failures: unknown[] = [];

function open(where: ReturnType<typeof options>, wait?: AbortSignal): Promise<CqlStore> {
  return openCqlStore(where, { onFailure: (error) => failures.push(error), ...(wait && { wait }) });
}

describe('a writer that sleeps while another takes over', () => {
  it('can make nothing visible when it wakes up', async () => {
    const where = options();
    await using stack = new AsyncDisposableStack();
    const old = await open(where);
    stack.defer(() => old.close());
    const chain = makeChain(
      undefined,
      Array.from({ length: 10 }, () => ({})),
    );
    await old.append(chain.slice(0, 5));
    const next = await open(where);
    stack.defer(() => next.close());
    const before = await describeChain(next);
    const change = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: 'inUse' });
    await change(old.append(chain.slice(5)));
    await change(old.revertTo(2));
    await change(old.mark({ safe: chain[3] }));
    expect(await describeChain(next)).toEqual(before);
    await next.append(chain.slice(5));
    expect(next.marks()?.head.number).toBe(9);
  });

  it(`leaves no row that its successor does not mean, however late it writes it (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const where = options();
    await using stack = new AsyncDisposableStack();
    const contents = (length: number) => Array.from({ length }, () => randomContent(random));
    const trunk = makeChain(undefined, contents(90));
    const orphans = makeChain(trunk.at(-1), contents(60));
    const fork = makeChain(trunk.at(-1), contents(70));

    const session = await Session.connect(where);
    stack.defer(() => session.close());
    const old = await open(where);
    await old.append([...trunk, ...orphans]);
    await old.indexed();
    await old.close();
    // What the old writer has in mind when its machine stops.
    const stored = await readRoot(session, where.chain);
    if (stored?.root === undefined) throw new Error('the old writer wrote nothing');
    expect(stored.root.indexed).toBe(127);
    const sleeping = {
      session,
      copy: copyOf(stored.root),
      nextTime: counter(stored.epoch << 32n),
      atOnce: 4,
    };

    const next = await open(where);
    stack.defer(() => next.close());
    await next.append(fork, { onto: 89 });
    await next.indexed();
    expect((await readRoot(session, where.chain))?.root?.indexed).toBe(127);
    const before = await describeChain(next);
    await indexBlocks(sleeping, [...trunk, ...orphans].slice(64, 128));
    expect(await describeChain(next)).toEqual(before);
    // A store that never saw the orphans says the same.
    const twin = await open(options());
    stack.defer(() => twin.close());
    await twin.append([...trunk, ...fork]);
    await twin.indexed();
    expect(await describeChain(twin)).toEqual(before);
  });

  it('is replaced once its row has not changed for as long as a lease lasts, and not before', async () => {
    const where = { ...options(), leaseMs: 2_000 };
    await using stack = new AsyncDisposableStack();
    const session = await Session.connect(where);
    stack.defer(() => session.close());
    const signal = AbortSignal.timeout(60_000);
    const first = await open(where, signal);
    const chain = makeChain(
      undefined,
      Array.from({ length: 3 }, () => ({})),
    );
    await first.append(chain);
    let isReplaced = false;
    const waiting = open(where, signal).then((store) => {
      isReplaced = true;
      return store;
    });
    // It has nothing to write, and stays: it says so by itself.
    await delay(5_000);
    expect(isReplaced).toBe(false);
    await first.close();
    const closed = performance.now();
    const second = await waiting;
    // Whoever ends in good order lets the next one in at once.
    expect(performance.now() - closed).toBeLessThan(1_800);
    expect(second.marks()?.head.number).toBe(2);
    await second.close();

    // One that dies says nothing.
    await RootRow.take(session, where.chain, 'dies');
    const died = performance.now();
    const third = await open(where, signal);
    stack.defer(() => third.close());
    expect(performance.now() - died).toBeGreaterThanOrEqual(2_000);
    expect(performance.now() - died).toBeLessThan(8_000);
    expect(third.marks()?.head.number).toBe(2);
  });

  it('hears of it, and reads nothing from then on that may be gone', async () => {
    const where = { ...options(), leaseMs: 400, viewMs: 1_000 };
    await using stack = new AsyncDisposableStack();
    const old = await open(where);
    stack.defer(() => old.close());
    const chain = makeChain(
      undefined,
      Array.from({ length: 3 }, () => ({})),
    );
    await old.append(chain);
    failures.length = 0;
    const next = await open(where);
    stack.defer(() => next.close());
    await until('the old writer to hear of it', () => failures[0]);
    expect(failures[0]).toMatchObject({ code: 'inUse' });
    await until('it to refuse', () =>
      old.loadState([], 2).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    await expect(async () => old.loadState([], 2)).rejects.toMatchObject({ code: 'unavailable' });
    expect(next.marks()?.head.number).toBe(2);
  });

  it('is one of many who take over at the same time', async () => {
    const where = options();
    const session = await Session.connect(where);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => session.close());
    await (await open(where)).close();
    const takers = await Promise.allSettled(
      Array.from({ length: 4 }, () => RootRow.take(session, where.chain, 'test')),
    );
    const taken = takers.filter(({ status }) => status === 'fulfilled').length;
    expect(taken).toBeGreaterThan(0);
    // The first store, and each of these.
    expect((await readRoot(session, where.chain))?.epoch).toBe(BigInt(1 + taken));
  });
});

/** Times after those that were given before, and before those of the next epoch. */
function counter(from: bigint): () => bigint {
  let now = from + 1_000_000n;
  return () => ++now;
}

it('has an ingester that waits answer for its health', async () => {
  const where = options();
  await using stack = new AsyncDisposableStack();
  const writer = await open(where);
  stack.defer(() => writer.close());
  const { contactPoints, keyspace, localDataCenter, chain } = where;
  const store = `cql://${contactPoints.join(',')}/${keyspace}?dc=${localDataCenter}&chain=${chain}&replicas=1`;
  const ingester = startCli([
    ...['ingest', '--store', store, '--chain', officialChain.genesis, '--upstream', 'http://127.0.0.1:9'],
    ...['--admin', '127.0.0.1:0'],
  ]);
  stack.defer(() => ingester.stop());
  const admin = await until(
    'it to wait',
    () => /"admin":"([^"]+)","msg":"waiting/.exec(ingester.output())?.[1],
  );
  // It may wait for days: to have it read its options again does not end it.
  ingester.signal('SIGHUP');
  const ready = await fetch(`http://${admin}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.text()).toContain('waits for the right to write');
  expect(await (await fetch(`http://${admin}/metrics`)).text()).toContain('chain_query_process_cpu_seconds');
});

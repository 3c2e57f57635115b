import { setTimeout as pause } from 'node:timers/promises';
import { type Hex, keccak256, parseEther, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hashless, type SentLog } from '../../subscriptions/held-logs.ts';
import { Random } from '../../support/random.ts';
import { opChainId, opFunder } from '../../support/servers/op-genesis.ts';
import { until } from '../../support/servers/process.ts';
import { type Answer, type Call, request, send, sendBatchNoting } from '../../support/servers/rpc-client.ts';
import { newReads, pointOf, readCarrying, textOf } from './carrying-client.ts';
import { BalancedFleet } from './fleet.ts';
import { ResumingLogs } from './log-client.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = new Random(seed, 1);
const wallet = privateKeyToAccount(keccak256(toHex(`wallet of ${seed}`)));
let fleet: BalancedFleet;

beforeAll(async () => {
  const began = performance.now();
  fleet = await BalancedFleet.start(seed);
  const { rig } = fleet;
  await rig.listenedTo();
  const nonce = await request<Hex>(rig.node.url, 'eth_getTransactionCount', [opFunder.address, 'latest']);
  const fund = await opFunder.signTransaction({
    ...fees,
    to: wallet.address,
    value: parseEther('5'),
    nonce: Number(nonce),
  });
  await rig.block({ parts: [[fund]] });
  await fleet.quiet();
  tell(`seed ${seed}: the fleet runs after ${seconds(began)}`);
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

const fees = {
  chainId: opChainId,
  type: 'eip1559',
  gas: 100_000n,
  maxFeePerGas: 10n ** 10n,
  maxPriorityFeePerGas: 1n,
} as const;

/** Figures for the docs. */
function tell(words: string): void {
  console.log(words);
}

const seconds = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(1)} s`;
const urls = (): readonly string[] => fleet.replicas.map(({ url }) => url);
const anyReplica = (): string => random.pick(urls());

/** One request that is no batch: the headers are of the snapshot that has what it waited for. */
async function sendNoting(
  url: string,
  call: Call,
): Promise<{ readonly answer: Answer; readonly headers: Headers }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }),
  });
  return { answer: (await response.json()) as Answer, headers: response.headers };
}

/** Waits for so many more sealed blocks. */
async function blocks(count: number): Promise<void> {
  const { sequencer } = fleet.rig;
  const wanted = sequencer.head.number + count;
  await until(`block ${wanted}`, () => sequencer.head.number >= wanted || undefined);
}

/** The logs of the chain's own node. */
function truth(from: number, filter: object = {}): Promise<readonly SentLog[]> {
  const params = [{ ...filter, fromBlock: toHex(from), toBlock: 'latest' }];
  return request(fleet.rig.node.url, 'eth_getLogs', params);
}

const exact = (log: SentLog): string => JSON.stringify({ ...log, removed: false });
const sorted = (log: SentLog): SentLog =>
  Object.fromEntries(
    Object.entries(log).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ) as unknown as SentLog;

/** While the chain stands still: each client holds just what the chain has. */
async function expectAll(clients: readonly ResumingLogs[], from: number, filter: object): Promise<number> {
  const logs = await truth(from, filter);
  for (const { kind, held, problems } of clients) {
    const normal = kind === 'logs' ? exact : hashless;
    const textsOf = (all: readonly SentLog[]): readonly string[] => all.map((log) => normal(sorted(log)));
    await until('all logs', () => held.size === logs.length || undefined, 10_000).catch(() => undefined);
    expect(textsOf(held.from(from))).toEqual(textsOf(logs));
    expect(problems).toEqual([]);
  }
  return logs.length;
}

it('has the flashblocks of a block under way at a replica that joins', async () => {
  const { rig } = fleet;
  // The block goes on for as long as the replica needs: no other begins.
  const parts: Hex[][] = [[]];
  const { events } = rig;
  rig.events = {
    async published(built, moment) {
      await events.published?.(built, moment);
      if (!joined.signal.aborted) parts.push([]);
    },
  };
  const joined = new AbortController();
  const making = rig.block({ parts });
  try {
    const replica = await fleet.serve();
    const ready = performance.now();
    await until('the new replica to have flashblocks', async () => {
      const { headers } = await sendNoting(replica.url, { method: 'eth_blockNumber' });
      return pointOf(headers).point.index;
    });
    tell(
      `a replica that joins has the block under way, ${parts.length} flashblocks, ${seconds(ready)} after it is ready`,
    );
  } finally {
    joined.abort();
    rig.events = events;
    await making;
  }
  await fleet.quiet();
});

it(`resumes logs at another replica: none lost, none twice (seed ${seed})`, async () => {
  const { rig } = fleet;
  const from = rig.sequencer.head.number + 1;
  const address = random.pick(await truth(0)).address;
  const clientsOf = (filter: object): readonly ResumingLogs[] =>
    (['logs', 'pendingLogs'] as const).map((kind) => {
      // Never where it was before.
      const where = (): string => random.pick(urls().filter((url) => url !== client.places.at(-1)));
      const client: ResumingLogs = new ResumingLogs(kind, { filter, from, where });
      return client;
    });
  const [all, some] = [clientsOf({}), clientsOf({ address })];
  const clients = [...all, ...some];
  await Promise.all(clients.map((client) => client.begin()));
  fleet.produce({ isFaulty: true });
  for (let round = 0; round < 7; round += 1) {
    await blocks(1);
    await pause(random.below(400));
    for (const client of clients) if (random.chance(0.7)) client.cut();
    if (round === 3) await random.pick(fleet.replicas).kill();
  }
  await fleet.quiet();
  const counts = [await expectAll(all, from, {}), await expectAll(some, from, { address })];
  await Promise.all(clients.map((client) => client.end()));
  const sum = (of: (client: ResumingLogs) => number): number =>
    clients.reduce((total, each) => total + of(each), 0);
  const moves = sum(({ places }) => places.length - 1);
  tell(
    `${counts[0]} logs (${counts[1]} of one address), ${sum(({ messages }) => messages)} messages, ${moves} resumes at another replica, ` +
      `${sum(({ resumedAfterLog }) => resumedAfterLog)} right after a log, ${sum(({ closes }) => closes.filter((code) => code === 1006).length)} without a word`,
  );
  expect(moves).toBeGreaterThan(10);
});

it('says of a filter that another replica keeps that it is not known here', async () => {
  const [own = '', ...others] = urls();
  const from = fleet.rig.sequencer.head.number + 1;
  const id = await request<Hex>(own, 'eth_newFilter', [{}]);
  fleet.produce();
  await blocks(2);
  await fleet.quiet();
  for (const other of others) {
    for (const method of ['eth_getFilterChanges', 'eth_getFilterLogs'])
      expect(await send(other, { method, params: [id] })).toEqual({
        error: { code: -32000, message: 'filter not found: it has ended, or was made at another node' },
      });
    expect(await send(other, { method: 'eth_uninstallFilter', params: [id] })).toEqual({ result: false });
  }
  // Without stickiness: the right changes, or the error.
  const told: SentLog[] = [];
  let refused = 0;
  for (let asked = 0; asked < 2 * urls().length; asked += 1) {
    const answer = await send(fleet.balancer.url, { method: 'eth_getFilterChanges', params: [id] });
    if ('result' in answer) told.push(...(answer.result as SentLog[]));
    else refused += 1;
  }
  const logs = await truth(from);
  expect(told.map((log) => exact(sorted(log)))).toEqual(logs.map((log) => exact(sorted(log))));
  expect(refused).toBe(2 * others.length);
  tell(
    `a filter: ${logs.length} logs at the replica that made it, ${refused} of ${2 * urls().length} polls refused by others`,
  );
});

/** Signs the wallet's next transaction, and has a block take it in once it was sent. */
async function signNext(nonce: number): Promise<{ readonly hash: Hex; readonly raw: Hex }> {
  const raw = await wallet.signTransaction({ ...fees, to: wallet.address, value: 1n, nonce });
  const sent = { hash: keccak256(raw), raw };
  fleet.sent.push(sent);
  return sent;
}

it('gives the receipt of what was sent through any replica, which any other can then read', async () => {
  fleet.produce();
  const SENDS = 4;
  const took: number[] = [];
  const receipts = new Map<Hex, unknown>();
  for (let nonce = 0; nonce < SENDS; nonce += 1) {
    const { hash, raw } = await signNext(nonce);
    const began = performance.now();
    const call = { method: 'eth_sendRawTransactionSync', params: [raw, 8_000] };
    const { answer, headers } = await sendNoting(fleet.balancer.url, call);
    took.push(performance.now() - began);
    expect(answer).toMatchObject({ result: { transactionHash: hash, status: '0x1' } });
    receipts.set(hash, answer);
    const atLeast = textOf(pointOf(headers).point);
    const calls: Call[] = [
      { method: 'eth_getTransactionReceipt', params: [hash] },
      { method: 'eth_getTransactionCount', params: [wallet.address, 'pending'] },
    ];
    for (const url of random.shuffle(urls())) {
      const read = await sendBatchNoting(url, calls, { 'x-chain-at-least': atLeast });
      expect(read.answers).toMatchObject([
        { result: { transactionHash: hash } },
        { result: toHex(nonce + 1) },
      ]);
    }
  }
  await fleet.quiet();
  for (const [hash] of receipts) {
    const wanted = await request(fleet.rig.node.url, 'eth_getTransactionReceipt', [hash]);
    expect(await request(anyReplica(), 'eth_getTransactionReceipt', [hash])).toMatchObject(wanted as object);
  }
  tell(`${SENDS} sends: receipt after ${took.map((ms) => ms.toFixed(0)).join(', ')} ms`);
});

it('upgrades one process after another without a failed request, and nothing is read backwards', async () => {
  const { rig, balancer } = fleet;
  const reads = newReads();
  const stop = new AbortController();
  const paces = { confirmed: new Pace(), preconfirmed: new Pace() };
  const from = rig.sequencer.head.number + 1;
  const logs = (['logs', 'pendingLogs'] as const).map(
    (kind) => new ResumingLogs(kind, { from, where: () => balancer.url, keepsAll: true }),
  );
  await Promise.all(logs.map((client) => client.begin()));
  // Blocks of 2 s, as Base has them.
  fleet.produce({ flashblocks: 9 });
  await blocks(2);
  const clients = Array.from({ length: 4 }, (_, at) =>
    readCarrying(
      new Random(seed, 100 + at),
      {
        ...{ where: () => balancer.url, reads, published: fleet.published },
        senders: rig.workload.senders.map(({ address }) => address),
        truthUrl: rig.oracle.url,
        onPoint: (point, head) => {
          paces.confirmed.reach(head);
          paces.preconfirmed.reach(point.number + (point.index ?? 50) / 100);
        },
      },
      stop.signal,
    ),
  );
  const step = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const [before, failedBefore] = [reads.count, reads.failed.length];
    for (const pace of Object.values(paces)) pace.restart();
    const began = performance.now();
    await work();
    const { number } = rig.sequencer.head;
    await until(`block ${number + 1} to be served`, () => paces.confirmed.newest > number || undefined);
    tell(
      `${what}: ${seconds(began)}, ${reads.count - before} reads, ${reads.failed.length - failedBefore} failed, ` +
        `longest without a new block ${paces.confirmed.longest} ms, without a new flashblock ${paces.preconfirmed.longest} ms`,
    );
  };
  await step('nothing', () => blocks(1));
  for (const replica of [...fleet.replicas])
    await step('a replica', async () => {
      replica.running.signal('SIGTERM');
      await Promise.all([replica.running.exited, fleet.serve()]);
      expect(await replica.running.exited).toBe(0);
    });
  const writer = fleet.ingesters.find((each) => each.output().includes('this ingester writes'));
  const waiting = fleet.ingesters.find((each) => each !== writer);
  for (const [what, ingester] of [
    ['the waiting ingester', waiting],
    ['the writing ingester', writer],
  ] as const)
    await step(what, async () => {
      ingester?.signal('SIGTERM');
      expect(await ingester?.exited).toBe(0);
      await fleet.ingest();
    });
  await blocks(2);
  stop.abort();
  await Promise.all(clients);
  await fleet.quiet();
  const count = await expectAll(logs, from, {});
  await Promise.all(logs.map((client) => client.end()));
  tell(
    `${reads.count} reads (${reads.preconfirmed} of flashblocks), ${reads.compared} compared, ${reads.failed.length} failed, ${reads.wrong.length} wrong, ` +
      `the longest took ${reads.longestMs.toFixed(0)} ms; ${count} logs by subscription, closed ${logs.map(({ closes }) => closes.join(' ')).join(' and ')}`,
  );
  // Not one message of confirmed logs was sent twice: the cursor is the last log, wherever that came from.
  expect(logs[0]?.messages).toBe(count);
  expect(reads.wrong).toEqual([]);
  expect(reads.failed).toEqual([]);
  expect(reads.preconfirmed).toBeGreaterThan(50);
  // Those that were replaced, and those that took their places.
  expect(balancer.passed.size).toBeGreaterThanOrEqual(4);
});

/** Notes how long nothing new was read. */
class Pace {
  newest = 0;
  #at = performance.now();
  #longest = 0;

  reach(position: number): void {
    if (position <= this.newest) return;
    this.newest = position;
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - this.#at);
    this.#at = now;
  }

  restart(): void {
    this.#longest = 0;
    this.#at = performance.now();
  }

  get longest(): string {
    return Math.max(this.#longest, performance.now() - this.#at).toFixed(0);
  }
}

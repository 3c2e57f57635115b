import { join } from 'node:path';
import { encodeFunctionData, type Hex } from 'viem';
import { brief, type Scene, say } from '../../support/checks.ts';
import type { Lie } from '../../support/lies/lies.ts';
import { type LyingProxy, startLyingProxy } from '../../support/lies/proxy.ts';
import { boundAddresses } from '../../support/servers/node.ts';
import {
  type FollowingNode,
  launch,
  metric,
  readiness,
  untilHead,
  whereItListens,
  writes,
} from '../../support/servers/our-node.ts';
import { tempDir, until } from '../../support/servers/process.ts';
import { type Answer, type Call, send } from '../../support/servers/rpc-client.ts';
import { workloadContracts } from '../../support/workload/contracts.ts';
import { LiveChain } from '../live-chain.ts';

interface Falsehood {
  readonly name: string;
  readonly lie: Lie;
  /** When it is told: while the copy begins, with each block, while it catches up, or for what a request needs. */
  readonly told: 'anchor' | 'block' | 'catch-up' | 'request';
  /** The metric's label. */
  readonly part: string;
  readonly more?: readonly string[];
  /** Told in long runs only: another one stands for it. */
  readonly isLong?: true;
}

const PROVEN = ['--verify-state'] as const;

const FALSEHOODS: readonly Falsehood[] = [
  { name: 'a byte of a receipt', lie: { about: 'receipt' }, told: 'anchor', part: 'receipts' },
  {
    name: 'a byte of a log',
    lie: { about: 'log', field: 'address' },
    told: 'anchor',
    part: 'receipts',
    isLong: true,
  },
  { name: 'the count of logs', lie: { about: 'log count' }, told: 'anchor', part: 'receipts' },
  { name: 'a byte of a transaction', lie: { about: 'transaction' }, told: 'block', part: 'transactions' },
  { name: 'a byte of a header', lie: { about: 'header' }, told: 'block', part: 'header' },
  { name: 'the order of blocks', lie: { about: 'block order' }, told: 'catch-up', part: 'order' },
  { name: 'a storage value', lie: { about: 'storage' }, told: 'request', part: 'proof', more: PROVEN },
  { name: 'a balance', lie: { about: 'balance' }, told: 'request', part: 'proof', more: PROVEN },
  { name: 'a nonce', lie: { about: 'nonce' }, told: 'request', part: 'proof', more: PROVEN, isLong: true },
  { name: 'a code', lie: { about: 'code' }, told: 'request', part: 'code', more: PROVEN },
];

/** Requests that read every kind of state, none of it touched by blocks since the anchor. */
function readsOf(chain: LiveChain): readonly Call[] {
  const { workload } = chain;
  const workshop = workload.addressOf('Workshop');
  const counter = workload.addressOf('Counter');
  const data = encodeFunctionData({
    abi: workloadContracts().Workshop.abi,
    functionName: 'view_',
    args: [1n],
  });
  const [sender] = workload.senders;
  return [
    { method: 'eth_getStorageAt', params: [counter, '0x0', 'latest'] },
    { method: 'eth_getTransactionCount', params: [sender?.address, 'latest'] },
    { method: 'eth_call', params: [{ to: workshop, data }, 'latest'] },
  ];
}

const answersOf = (url: string, calls: readonly Call[]): Promise<readonly Answer[]> =>
  Promise.all(calls.map((call) => send(url, call)));

/** Upstreams that change one byte: each lie is found out, named and survived. */
export async function lies({ checks, seed, full }: Scene): Promise<void> {
  await using chain = await LiveChain.start(seed, 12);
  // The anchor's receipts must have logs to lie about.
  const counter = chain.workload.addressOf('Counter');
  for (const falsehood of FALSEHOODS.filter(({ isLong }) => full || isLong === undefined)) {
    for (const alone of [false, true]) {
      await sealWithLogs(chain, counter);
      const what = `${falsehood.name}, ${alone ? 'alone' : 'beside an honest one'}`;
      try {
        const told = await tell(chain, falsehood, alone, (text, holds, detail) =>
          checks.check(`${what}: ${text}`, holds, detail),
        );
        say(`${what}: ${told}`);
      } catch (error) {
        checks.check(`${what}: runs to its end`, false, error instanceof Error ? error.stack : error);
      }
    }
  }
}

/** A block with a log, made by one signed transaction. */
export async function sealWithLogs(chain: LiveChain, counter: Hex): Promise<void> {
  const { funder, chainId } = chain.workload.traits;
  const nonce = await send(chain.node.url, {
    method: 'eth_getTransactionCount',
    params: [funder.address, 'latest'],
  });
  const data = encodeFunctionData({ abi: workloadContracts().Counter.abi, functionName: 'bump', args: [1n] });
  const signed = await funder.signTransaction({
    ...{ type: 'eip1559', chainId, to: counter, data, gas: 200_000n },
    ...{ maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1n },
    nonce: Number('result' in nonce ? nonce.result : 0),
  });
  await chain.seal({ transactions: [signed] });
}

type Check = (text: string, holds: boolean, detail?: unknown) => void;

async function tell(
  chain: LiveChain,
  { lie, told, part, more = [] }: Falsehood,
  alone: boolean,
  check: Check,
): Promise<string> {
  await using liar = await startLyingProxy(chain.node.url);
  await using honest = await startLyingProxy(chain.node.url);
  // The better of two is asked first: that must be the liar.
  honest.delayMs = 150;
  await using data = await tempDir('lies');
  await using ports = await tempDir('ports');
  const portFile = join(ports.path, 'ports.json');
  const upstreams = alone ? [liar.url] : [liar.url, honest.url];
  const waits = ['--upstream-demotion-ms', '1000', '--ready-upstream-ms', '500', '--log-level', 'info'];
  if (told === 'anchor') liar.lie = lie;
  await using running = launch(
    { dataDir: data.path, upstreams, rules: chain.node.genesisFile, more: [...waits, ...more] },
    portFile,
  );
  const isNamed = (): boolean => running.output().includes('an upstream lied');
  if (told === 'anchor' && alone) {
    await until('the lie to be found out', () => (isNamed() ? true : undefined), 20_000);
    check('it does not begin on a lie', !running.output().includes('"serving"'));
    liar.lie = undefined;
  }
  const node = whereItListens(running, await boundAddresses(running, portFile));
  const calls = readsOf(chain);
  if (told === 'block' || told === 'request') {
    await untilHead(node, chain.head.hash);
    liar.lie = lie;
  }
  if (told === 'block') await chain.growEmpty(1);
  if (told === 'catch-up') {
    await untilHead(node, chain.head.hash);
    await Promise.all([liar.down(), honest.down()]);
    await chain.growEmpty(5);
    liar.lie = lie;
    await Promise.all([liar.up(), honest.up()]);
  }
  // Asked at once: what a client hears while the lie is new must be true or an error.
  const early = told === 'request' ? await answersOf(node.url, calls) : [];
  const lied = await untilLied(node, liar, part);
  check('it is named in the log', await writes(running, 'an upstream lied'), running.output().slice(-1500));
  check(`it is counted as ${part}`, lied.has(part), [...lied]);
  const truth = await answersOf(chain.node.url, calls);
  if (alone) {
    if (told !== 'anchor') {
      check(
        'answers are errors or true',
        early.every((answer, at) => 'error' in answer || same(answer, truth[at])),
        early,
      );
      check(
        'some answer was refused',
        told !== 'request' || early.some((answer) => 'error' in answer),
        early,
      );
      const state = await until(
        '/readyz to say 503',
        async () => {
          const now = await readiness(node);
          return now.status === 503 ? now : undefined;
        },
        5_000,
      ).catch(() => undefined);
      check(
        '/readyz says why',
        state !== undefined && /l(ying|ie)/.test(brief(state.reasons)),
        state ?? (await readiness(node)),
      );
    }
    liar.lie = undefined;
    await chain.growEmpty(1);
    const started = performance.now();
    await untilHead(node, chain.head.hash, 30_000);
    await until(
      'our node to be ready',
      async () => ((await readiness(node)).ready ? true : undefined),
      20_000,
    );
    const after = await answersOf(node.url, calls);
    check('it recovers by itself', same(after, await answersOf(chain.node.url, calls)), after);
    return `found out as ${[...lied].join()}, ${liar.told} times; back ${((performance.now() - started) / 1000).toFixed(1)} s after the truth`;
  }
  check(
    'answers at once are true',
    early.every((answer, at) => same(answer, truth[at])),
    early,
  );
  await chain.growEmpty(1);
  await untilHead(node, chain.head.hash, 20_000);
  const after = await answersOf(node.url, calls);
  check('it goes on with the honest one', same(after, await answersOf(chain.node.url, calls)), after);
  return `found out as ${[...lied].join()}, ${liar.told} times`;
}

async function untilLied(node: FollowingNode, liar: LyingProxy, part: string): Promise<ReadonlySet<string>> {
  const { host } = new URL(liar.url);
  const read = async (): Promise<Set<string>> => {
    const samples = await metric(node, 'chain_query_upstream_lies_total');
    const mine = [...samples].filter(([labels, count]) => count > 0 && labels.includes(host));
    return new Set(mine.map(([labels]) => /part="([^"]*)"/.exec(labels)?.[1] ?? ''));
  };
  return until(
    'the lie to be counted',
    async () => {
      const parts = await read();
      return parts.has(part) ? parts : undefined;
    },
    10_000,
  ).catch(() => read());
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

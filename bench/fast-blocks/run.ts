import { ms, quantile } from '../preconfirmed/clock.ts';
import { markdown, type Section } from '../report.ts';
import { measureCatchUp } from './catch-up.ts';
import { FastChain } from './chain.ts';
import { blockMs, followChain, type Measured, measureLive, readsPerSecond, type Variant } from './live.ts';

/** Times the aim: a machine that does other things as well is slower, but not by this much. */
const gross = 10;
const leastShareOfReads = 0.5;
/** One a block, the slots read ahead and the looks at what is final; a new way to ask once more for each block is above it. */
const mostRequests = 1.5;

/** Canonical blocks every 200 ms: how fresh, at what cost for the upstream, and how fast many are caught up with. */
export async function fastBlocks({ quick }: { readonly quick: boolean }): Promise<Section> {
  const blocks = quick ? 40 : 150;
  const variants: readonly Variant[] = [
    { transactions: 20, blocks, over: 'WebSocket', aimMs: 40 },
    { transactions: 100, blocks, over: 'WebSocket', aimMs: 80 },
    { transactions: 20, blocks: quick ? 25 : 75, over: 'HTTP', aimMs: undefined },
  ];
  const measured: Measured[] = [];
  {
    await using chain = await FastChain.start();
    for (const over of ['WebSocket', 'HTTP'] as const) {
      await using ours = await followChain(chain, over);
      for (const variant of variants.filter((one) => one.over === over)) {
        console.log(`${variant.blocks} blocks of ${nameOf(variant)}`);
        measured.push(await measureLive(chain, ours, variant));
      }
    }
  }
  const live = [freshness(measured), meanwhile(measured)];
  console.log(`${live.join('\n\n')}\ncatching up`);
  const caughtUp = await measureCatchUp(quick);
  return {
    name: 'fast-blocks',
    facts: [
      `A block of token transfers every ${blockMs} ms, all state known; beside them ${readsPerSecond.toLocaleString('en-US')} reads/s of \`latest\` (nonces, slots, calls, logs) at a fixed rate from another process.`,
      'From when a WebSocket client at the upstream, in a process of its own, has its `newHeads` message, to the last byte of the last of 16 answers that show the block (a balance after it, a log of it), over as many connections to both serving threads. The questions wait at the node (`x-chain-at-least`).',
      'op-geth, the upstream, executes the blocks on the same cores; they were built beforehand. Requests are all that our node sends to it, with the slots read ahead and the looks at what is final.',
      `Over HTTP our node looks for a new head every ${blockMs} ms.`,
      'Catching up: our node knows the state, is stopped, and is started again that many blocks later, over WebSocket; timed from when it answers.',
    ],
    tables: [...live, caughtUp.table],
    failures: [...measured.flatMap(faultsOf), ...caughtUp.failures],
  };
}

const nameOf = ({ transactions, over }: Variant): string =>
  `${transactions} transactions${over === 'HTTP' ? ', over HTTP' : ''}`;

function freshness(all: readonly Measured[]): string {
  const rows = all.map(({ variant, seen: { lags }, requests, calls }) => [
    nameOf(variant),
    String(lags.length),
    ...[0.5, 0.99, 1].map((share) => ms(quantile(lags, share))),
    variant.aimMs === undefined ? '' : `< ${variant.aimMs}`,
    requests.toFixed(2),
    calls.toFixed(2),
  ]);
  const headings = ['named to readable everywhere, ms', 'blocks', 'p50', 'p99', 'max', 'aim for p99'];
  return markdown([...headings, 'requests a block', 'calls a block'], rows);
}

function meanwhile(all: readonly Measured[]): string {
  const rows = all.map(({ variant, executionMs, rounds, reads, loadAverage }) => [
    ...[nameOf(variant), ms(executionMs), rounds.toFixed(2)],
    ...[Math.round(reads.perSecond).toLocaleString('en-US'), ms(reads.p50), ms(reads.p99)],
    loadAverage.toFixed(1),
  ]);
  const headings = ['meanwhile', 'executing, ms', 'rounds', 'reads/s', 'reads p50', 'reads p99'];
  return markdown([...headings, 'load average'], rows);
}

function faultsOf({ variant, seen, reads, requests }: Measured): readonly string[] {
  const name = nameOf(variant);
  const faults = seen.wrong.slice(0, 3).map((what) => `${name}: ${what}`);
  const p50 = quantile(seen.lags, 0.5);
  if (variant.aimMs !== undefined && !(p50 < gross * variant.aimMs)) {
    faults.push(`${name}: p50 is ${ms(p50)} ms, more than ${gross} times what is aimed at for p99`);
  }
  // Nothing is readable before it is fetched: a figure like that would be of a clock that is wrong.
  if (!(p50 > 0)) faults.push(`${name}: blocks were readable before they were named`);
  if (variant.over === 'WebSocket' && !(requests < mostRequests)) {
    faults.push(`${name}: ${requests.toFixed(2)} requests a block`);
  }
  if (reads.failed > 0) faults.push(`${name}: ${reads.failed} reads failed`);
  if (reads.perSecond < leastShareOfReads * readsPerSecond) {
    faults.push(`${name}: ${Math.round(reads.perSecond)} reads/s only`);
  }
  return faults;
}

import { tempDir } from '../../test/support/servers/process.ts';
import { markdown, type Section } from '../report.ts';
import { prepareWrk } from '../wrk.ts';
import { FlashblockChain } from './chain.ts';
import { ms, quantile } from './clock.ts';
import { Freshness, type Freshnesses, readsPerSecond, type Variant } from './freshness.ts';
import { overlayCost } from './overlay.ts';

/** A figure this many times worse than what is aimed at is a failure on any machine. */
const gross = 30;
const grossRatio = 1.5;
const leastShareOfReads = 0.5;
const warmUp: Variant = { transactions: 20, known: true, blocks: 1, aimMs: undefined };
const allFive = 'all five methods';

/** How fresh pre-confirmed answers are, and what the size of pre-confirmed state costs. */
export async function preconfirmed({ quick }: { readonly quick: boolean }): Promise<Section> {
  await using chain = await FlashblockChain.start(1);
  const freshness = new Freshness(chain);
  const variants: readonly Variant[] = [
    { transactions: 20, known: true, blocks: quick ? 5 : 20, aimMs: 10 },
    { transactions: 200, known: true, blocks: quick ? 5 : 20, aimMs: 50 },
    { transactions: 20, known: false, blocks: quick ? 2 : 10, aimMs: undefined },
  ];
  await chain.follow();
  // Our node knows their balances then, and has executed a few flashblocks before the first that counts.
  await chain.replay([await freshness.pay(), ...(await freshness.build(warmUp))], {});
  await chain.settle();
  const failures: string[] = [];
  const tables: string[] = [];
  const measured: Freshnesses[] = [];
  for (const variant of variants) {
    console.log(`building ${variant.blocks} blocks in flashblocks of ${nameOf(variant)}`);
    const blocks = await freshness.build(variant);
    const result = await freshness.measure(variant, blocks);
    await chain.settle();
    measured.push(result);
    tables.push(tableOf(result));
    failures.push(...faultsOf(result));
    console.log(`${result.samples.length} flashblocks measured`);
  }
  await using scratch = await tempDir('wrk');
  const overlay = await overlayCost(chain, await prepareWrk(scratch), quick ? 4 : 7, quick ? 1 : 2);
  if (overlay.worst > grossRatio)
    failures.push(`a call takes ${overlay.worst.toFixed(2)} times the CPU time on a large overlay`);
  return {
    name: 'preconfirmed',
    facts: [
      'From when the stream begins to write the flashblock to its socket, to the last byte of the answer. The request waits at the node (`x-chain-at-least`) before the flashblock is published. So it is: reading and decoding the message, executing, telling the serving threads, answering, and what the observer takes.',
      'eth_getLogs asks for one log of the flashblock; eth_getBlockReceipts for all receipts of the block so far. *pendingLogs*: until the last log of the flashblock came.',
      `Flashblocks of token transfers every 200 ms, ten a block (index 0 not counted); beside them ${readsPerSecond.toLocaleString('en-US')} reads/s of the five methods, half \`pending\`, half \`latest\`, at a fixed rate from another process.`,
      '*Sealing*: those on their way while the upstream had sealed a block that our node had not yet made its head. They are among the others too; one a block is published at just that time.',
      'op-geth, the upstream, executes and seals on the same cores.',
    ],
    tables: [...tables, nodesOwn(measured), overlay.table],
    failures,
  };
}

const nameOf = ({ transactions, known }: Variant): string =>
  `${transactions} transactions${known ? '' : ', state unknown'}`;

/** Lags of one thing that shows a flashblock; `sealing`, of those that a sealed block came in the way of. */
function lags({ samples, seals }: Freshnesses, name: string, sealing = false): readonly number[] {
  return samples.flatMap(({ publishedAt, lags: all }) => {
    const methods = [...all].filter(([key]) => key.startsWith('eth_')).map(([, lag]) => lag);
    const lag = name === allFive ? Math.max(...methods) : (all.get(name) ?? Number.NaN);
    const meets = seals.some(({ at, confirmedAt }) => publishedAt < confirmedAt && publishedAt + lag > at);
    return sealing && !meets ? [] : [lag];
  });
}

function tableOf(result: Freshnesses): string {
  const { samples, variant } = result;
  const names = [...(samples[0]?.lags.keys() ?? []), allFive];
  const rows = names.map((name) => {
    const [all, sealing] = [lags(result, name), lags(result, name, true)];
    return [
      name,
      ...[0.5, 0.99, 1].map((share) => ms(quantile(all, share))),
      ...[0.5, 1].map((share) => ms(quantile(sealing, share))),
    ];
  });
  const title = `${samples.length} flashblocks of ${nameOf(variant)}, ms`;
  return markdown([title, 'p50', 'p99', 'max', 'sealing p50', 'sealing max'], rows);
}

/** What the node says of the same flashblocks, and what else went on. */
function nodesOwn(all: readonly Freshnesses[]): string {
  const rows = all.map(({ variant, executionMs, rounds, seals, reads, loadAverage }) => [
    nameOf(variant),
    ms(executionMs),
    rounds.toFixed(2),
    ...[0.5, 1].map((share) =>
      ms(
        quantile(
          seals.map(({ at, confirmedAt }) => confirmedAt - at),
          share,
        ),
      ),
    ),
    Math.round(reads.perSecond).toLocaleString('en-US'),
    ms(reads.p50),
    ms(reads.p99),
    loadAverage.toFixed(1),
  ]);
  const headings = [
    ...['meanwhile', 'executing, ms', 'rounds'],
    ...['sealed to confirmed p50', 'max'],
    ...['reads/s', 'reads p50', 'reads p99', 'load average'],
  ];
  return markdown(headings, rows);
}

function faultsOf(result: Freshnesses): readonly string[] {
  const { variant, reads } = result;
  const faults: string[] = [];
  const name = nameOf(variant);
  const p99 = quantile(lags(result, allFive), 0.99);
  if (variant.aimMs !== undefined && !(p99 < gross * variant.aimMs)) {
    faults.push(`${name}: p99 is ${ms(p99)} ms, more than ${gross} times what is aimed at`);
  }
  if (reads.failed > 0) faults.push(`${name}: ${reads.failed} reads failed`);
  if (reads.perSecond < leastShareOfReads * readsPerSecond) {
    faults.push(`${name}: ${Math.round(reads.perSecond)} reads/s only`);
  }
  return faults;
}

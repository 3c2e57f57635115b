// Whether memory stays: blocks with flashblocks, subscribers and readers, caches that are full before the measuring begins.
// The last line is `N passed, N failed`. `--full` is what docs/memory.md shows.
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Asker } from '../preconfirmed/scenarios/asking.ts';
import { Metrics } from '../preconfirmed/scenarios/effects.ts';
import type { ServedNode } from '../preconfirmed/served-node.ts';
import { memoryOf } from '../subscriptions/show.ts';
import { Checks } from '../support/checks.ts';
import { untilHead } from '../support/servers/our-node.ts';
import { tempDir } from '../support/servers/process.ts';
import { Audience } from './audience.ts';
import { known, type MemorySample, sample, slope } from './memory.ts';
import { Readers } from './readers.ts';
import { SoakedChain } from './soaked-chain.ts';
import { codeCacheBytes, hotStateEntries, startSoaked } from './soaked-node.ts';

const { values } = parseArgs({
  options: {
    /** 2,000 blocks and the bounds that are promised. */
    full: { type: 'boolean', default: false },
    /** Another number of blocks. */
    blocks: { type: 'string' },
    seed: { type: 'string' },
    /** The `main.ts` of another checkout, to see what it does. */
    program: { type: 'string' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const kilobyte = 1_024;
const megabyte = 2 ** 20;

/** A collection more or less is some megabytes: over few blocks only a coarse bound means anything. */
const plan = values.full
  ? { blocks: 2_000, warmUp: 500, growthBytes: 20 * kilobyte }
  : { blocks: 240, warmUp: 90, growthBytes: 150 * kilobyte };
const wanted = values.blocks === undefined ? plan.blocks : Number(values.blocks);
/** What it may still grow by after a third of the warm-up. */
const growingBytes = 80 * megabyte;
const blocksPerSample = 5;
const samplesPerLine = values.full ? 20 : 4;
const unexplainedShare = 0.15;
const outputShown = 3_000;

const mb = (bytes: number): string => (bytes / megabyte).toFixed(0);

/** Waits until our node has all there is, so that each sample is of the same work done. */
async function caughtUp(asker: Asker, { rig }: SoakedChain): Promise<void> {
  const { number } = rig.sequencer.head;
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}';
  const { named } = await asker.ask(body, `${number}`);
  if (Number(named.head.split(';')[0]) < number) throw new Error(`our node is at ${named.head}`);
}

function lineOf(one: MemorySample): string {
  const rest = one.resident - known(one);
  return (
    `  block ${one.block}: ${mb(one.resident)} MB resident: heap pages ${mb(one.pages)} (V8 says ${mb(one.heaps)}, in use ` +
    `${mb(one.heapsUsed)}), C heaps ${mb(one.used)} in use (native core ${mb(one.live)}) and ${mb(one.free)} free, ` +
    `code ${mb(one.code)}, the rest ${mb(rest)}`
  );
}

async function soak(chain: SoakedChain, node: ServedNode): Promise<readonly MemorySample[]> {
  using asker = new Asker(node.url);
  const samples: MemorySample[] = [];
  while (chain.blocks < wanted) {
    await chain.grow();
    if (chain.blocks % blocksPerSample !== 0) continue;
    await caughtUp(asker, chain);
    const one = await sample(node, chain.blocks);
    samples.push(one);
    if (samples.length % samplesPerLine === 0) console.log(lineOf(one));
  }
  return samples;
}

/** That the caches were full when it began, as far as our node says. */
async function checkFull(node: ServedNode, checks: Checks): Promise<void> {
  const metrics = await Metrics.of(node);
  const [slots, code] = [metrics.sum('hot_slots'), metrics.sum('hot_code_bytes')];
  console.log(`  ${slots} slots and ${code} bytes of code in memory`);
  const isFull = slots > 0.8 * hotStateEntries && code > 0.8 * codeCacheBytes;
  checks.check('caches are full', isFull, { slots, code });
}

function judge(samples: readonly MemorySample[], checks: Checks): void {
  const measured = samples.filter(({ block }) => block > plan.warmUp);
  const kb = (figure?: (one: MemorySample) => number): string =>
    (slope(measured, figure) / kilobyte).toFixed(1);
  console.log(
    `  from block ${plan.warmUp} to ${wanted}, KB a block: resident ${kb()}, heap pages ${kb(({ pages }) => pages)}, C heaps ` +
      `${kb(({ used, free }) => used + free)} (in use ${kb(({ used }) => used)}, native core ${kb(({ live }) => live)})`,
  );
  checks.check('memory stays', slope(measured) < plan.growthBytes, `${kb()} KB a block`);
  const early = samples.find(({ block }) => block >= plan.warmUp / 3)?.resident ?? 0;
  const late = Math.max(...samples.map(({ resident }) => resident));
  const grown = late - early;
  console.log(`  ${mb(early)} MB resident after a third of the warm-up, ${mb(late)} at most`);
  checks.check('it is soon as large as it gets', grown < growingBytes, `it grew by ${mb(grown)} MB`);
  const mean = (of: (one: MemorySample) => number): number =>
    measured.reduce((sum, one) => sum + of(one), 0) / measured.length;
  const [resident, named] = [mean((one) => one.resident), mean(known)];
  const share = Math.abs(resident - named) / resident;
  console.log(
    `  ${mb(named)} of ${mb(resident)} MB are known by name (${((named / resident) * 100).toFixed(0)} %)`,
  );
  checks.check('what is resident is known by name', share < unexplainedShare, share);
  const isCounted = measured.every(({ live, used }) => live > 0 && live < used);
  checks.check('the native core counts what it holds', isCounted);
}

async function main(checks: Checks): Promise<void> {
  await using chain = await SoakedChain.start(seed);
  const { rig } = chain;
  await using data = await tempDir('soak');
  await using node = await startSoaked(rig, data.path, values.program && resolve(values.program));
  const began = performance.now();
  try {
    await rig.listenedTo();
    await untilHead(node, rig.sequencer.head.hash);
    using audience = await Audience.start(node, rig);
    await using readers = new Readers(rig, node, seed);
    console.log(`  ${mb(memoryOf(node))} MB resident at the start`);
    const samples = await soak(chain, node);
    await checkFull(node, checks);
    judge(samples, checks);
    const { size, left, messages } = audience;
    checks.check('every client was told to the end', left === 0, `${left} of ${size} were not`);
    checks.check('every read was answered', readers.errors === 0, [readers.errors, ...readers.problems]);
    const seconds = (performance.now() - began) / 1_000;
    console.log(
      `  ${chain.blocks} blocks in ${chain.flashblocks} flashblocks with ${chain.transactions} transactions, ${size} clients ` +
        `(${messages} messages), ${readers.answers} answers, ${seconds.toFixed(0)} s`,
    );
  } catch (error) {
    const said = node.running.output().slice(-outputShown);
    checks.check(`--seed ${seed} runs to its end`, false, `${(error as Error).stack}\n${said}`);
  }
}

console.log(`seed ${seed}`);
const checks = new Checks();
await main(checks);
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;

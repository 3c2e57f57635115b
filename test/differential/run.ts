import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startArchiveGeth } from '../support/servers/geth.ts';
import { startOurNode } from '../support/servers/node.ts';
import { officialChain, opGethBinary } from '../support/servers/paths.ts';
import { firstDifference } from './compare.ts';
import { type Corpus, readCorpus } from './corpus.ts';
import {
  checkDocument,
  judgeBatch,
  type Mode,
  modesOn,
  type Urls,
  undetected,
  type Verdict,
} from './judge.ts';
import { all, makeRequest } from './requests.ts';

const batchSize = 100;
const batchesAtOnce = 4;
const differencesShown = 40;

/** One block of the chain holds 21 MB of logs: batches full of it say nothing about time on a busy machine. */
const patient = ['--logs-time-limit-ms', '600000'];

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string', default: '20000' },
    replay: { type: 'string' },
    /** Only methods whose name begins so. */
    only: { type: 'string', default: '' },
    /** A running server to hold against geth in place of ours. */
    url: { type: 'string' },
    /** With `url`: allow nothing; geth against geth must then be equal. */
    strict: { type: 'boolean', default: false },
    compat: { type: 'boolean', default: false },
  },
});

const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const indexes =
  values.replay === undefined
    ? Array.from({ length: Number(values.count) }, (_, at) => at)
    : [Number(values.replay)];

const mix = all.filter(([, method]) => method.startsWith(values.only));

let passed = 0;
let failed = 0;

function show({ index, request, asked, geth, ours }: Verdict): void {
  console.log(`\ndifference at --seed ${seed} --replay ${index}`);
  console.log(`  request ${JSON.stringify(request)}`);
  if (asked !== request) console.log(`  geth was asked ${JSON.stringify(asked)}`);
  console.log(`  geth ${JSON.stringify(geth)}`);
  console.log(`  ours ${JSON.stringify(ours)}`);
  console.log(`  first at ${firstDifference(geth, ours)}`);
}

async function pass(urls: Urls, corpus: Corpus, mode: Mode): Promise<void> {
  const started = performance.now();
  const uses = new Map<string, number>(mode.deviations.map(({ id }) => [id, 0]));
  const missed: Verdict[] = [];
  let differences = 0;
  let results = 0;
  const batches: number[][] = [];
  for (let at = 0; at < indexes.length; at += batchSize) batches.push(indexes.slice(at, at + batchSize));
  const work = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      const requests = await Promise.all(
        batch.map(async (index) => ({ index, request: await makeRequest(seed, index, corpus, mix) })),
      );
      const verdicts = await judgeBatch(urls, requests, mode);
      missed.push(...undetected(verdicts, mode));
      for (const verdict of verdicts) {
        for (const id of verdict.used) uses.set(id, (uses.get(id) ?? 0) + 1);
        if ('result' in verdict.geth) results += 1;
        if (verdict.passed) passed += 1;
        else {
          failed += 1;
          differences += 1;
          if (differences <= differencesShown) show(verdict);
        }
        if (values.replay !== undefined && verdict.passed) show(verdict);
      }
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, work));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `\n${mode.name}: ${indexes.length} requests in ${seconds} s, ${results} with a result; ${differences} differences`,
  );
  if (differences > differencesShown) console.log(`  only the first ${differencesShown} are shown`);
  for (const [id, count] of uses)
    console.log(`  ${id.padEnd(18)} ${count}${count === 0 ? '  never used' : ''}`);
  for (const verdict of missed.slice(0, 5)) {
    console.log('  the comparison would have let a spoilt answer through:');
    show(verdict);
  }
  failed += missed.length;
}

console.log(`seed ${seed}`);
await using stack = new AsyncDisposableStack();
const [{ url: geth }, { url: simulating }] = await Promise.all([
  startArchiveGeth().then((server) => stack.use(server)),
  // op-geth is a geth 1.17.2 where the chain is not of the OP stack.
  startArchiveGeth(officialChain, opGethBinary()).then((server) => stack.use(server)),
]);
const corpus = await readCorpus(geth);
const modes = modesOn(corpus);
await checkDocument(modes.contract);
console.log(
  `chain: ${corpus.head + 1} blocks, ${corpus.addresses.length} accounts, ${corpus.contracts.length} contracts, ` +
    `${corpus.slots.length} slots, ${corpus.topics.length} topics`,
);
if (values.url !== undefined) {
  const mode = values.strict ? modes.strict : values.compat ? modes.compat : modes.contract;
  await pass({ geth, simulating, ours: values.url === 'geth' ? geth : values.url }, corpus, mode);
} else {
  if (!values.compat) {
    await using node = await startOurNode(patient);
    await pass({ geth, simulating, ours: node.dedicatedUrl }, corpus, modes.contract);
  }
  await using node = await startOurNode(['--compat', 'execution-apis', ...patient]);
  await pass({ geth, simulating, ours: node.dedicatedUrl }, corpus, modes.compat);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

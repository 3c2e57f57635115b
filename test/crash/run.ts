import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { type ChainFiles, importArguments, serve, startCli } from '../support/servers/node.ts';
import { type TempDir, tempDir } from '../support/servers/process.ts';
import { type Answer, sendBatch } from '../support/servers/rpc-client.ts';
import { makeTokenChain, owner } from '../support/workload/token.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    kills: { type: 'string', default: '30' },
    blocks: { type: 'string', default: '300' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const kills = Number(values.kills);
const random = new Random(seed, 0);
console.log(`seed ${seed}`);

/** What `import` and `verify` print at their end. */
interface Report {
  readonly blocks: number;
  readonly head: string;
  readonly number: number;
}

function parseReport(output: string): Report {
  const match = /(?:imported|verified) (\d+) blocks, head (\d+) (0x[0-9a-f]{64})/.exec(output);
  if (match === null) throw new Error(`no report in:\n${output}`);
  return { blocks: Number(match[1]), number: Number(match[2]), head: String(match[3]) };
}

async function finish(args: readonly string[]): Promise<Report> {
  const running = startCli(args);
  const code = await running.exited;
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}:\n${running.output()}`);
  return parseReport(running.output());
}

/** The answers that an interrupted import must give too: every block's receipts, logs, and state across the chain. */
async function answersOf(
  dataDir: string,
  chain: { token: string; last: number },
): Promise<readonly Answer[]> {
  await using node = await serve(dataDir);
  const everyBlock = Array.from({ length: chain.last + 1 }, (_, number) => `0x${number.toString(16)}`);
  const calls = everyBlock.flatMap((block) => [
    { method: 'eth_getBlockReceipts', params: [block] },
    { method: 'eth_getLogs', params: [{ fromBlock: block, toBlock: block }] },
    { method: 'eth_getTransactionCount', params: [owner.address, block] },
    {
      method: 'eth_call',
      params: [{ to: chain.token, data: `0x70a08231${owner.address.slice(2).padStart(64, '0')}` }, block],
    },
  ]);
  const answers: Answer[] = [];
  for (let at = 0; at < calls.length; at += 100) {
    answers.push(...(await sendBatch(node.dedicatedUrl, calls.slice(at, at + 100))));
  }
  return answers;
}

/** True once the import has written anything: before that there is no store to verify. */
async function hasStore(dataDir: string): Promise<boolean> {
  return (await readdir(dataDir)).length > 0;
}

class Crashes {
  passed = 0;
  failed = 0;

  check(what: string, holds: boolean): void {
    if (holds) this.passed += 1;
    else {
      this.failed += 1;
      console.log(`  FAIL ${what}`);
    }
  }
}

console.log('making a chain');
await using chain = await makeTokenChain(Number(values.blocks), 30);
const files: ChainFiles = chain.files;
// Small commits make many moments at which a commit is under way.
const importing = (dataDir: string): readonly string[] => [
  ...importArguments(dataDir, files),
  ...['--import-batch', '4'],
];
const last = chain.token.blocks.at(-1) ?? 0;
const asked = { token: chain.token.address, last };

await using whole = await tempDir('crash-whole');
const started = performance.now();
const expected = await finish(importing(whole.path));
const duration = performance.now() - started;
const expectedAnswers = await answersOf(whole.path, asked);
console.log(
  `an import without a crash: ${expected.number} blocks in ${duration.toFixed(0)} ms, head ${expected.head}`,
);

const crashes = new Crashes();
let dir: TempDir | undefined;
let height = 0;
let midway = 0;
try {
  for (let kill = 1; kill <= kills; ) {
    dir ??= await tempDir('crash');
    // Spread over what is left to import; a quarter of the time is what starting costs, whatever is left.
    const left = 0.25 + 0.75 * (1 - height / expected.number);
    const moment = random.below(Math.ceil(duration * left));
    const running = startCli(importing(dir.path));
    // The random moment is the test itself, not a way to wait for something.
    const ended = await Promise.race([running.exited, pause(moment, 'killed' as const)]);
    if (ended === 'killed') {
      running.signal('SIGKILL');
      await running.exited;
      if (await hasStore(dir.path)) {
        const report = await finish(['verify', '--data', dir.path]);
        console.log(
          `kill ${kill} after ${moment} ms: verified up to block ${report.number} (from ${height})`,
        );
        crashes.check('a crash takes nothing back', report.number >= height);
        height = report.number;
        if (height > 0 && height < expected.number) midway += 1;
      } else console.log(`kill ${kill} after ${moment} ms: nothing was written yet`);
      kill += 1;
      if (kill <= kills && height < expected.number) continue;
    } else crashes.check(`the import ends by itself (${ended})`, ended === 0);
    // The chain is whole, or the kills are used up: let it finish and compare.
    const resumed = await finish(importing(dir.path));
    crashes.check(
      `goes on where it stood: ${resumed.blocks} blocks imported from ${height}`,
      ended !== 'killed' || resumed.blocks === expected.number - height,
    );
    crashes.check('the head is the same', resumed.head === expected.head);
    crashes.check(
      'the whole store verifies',
      (await finish(['verify', '--data', dir.path])).head === expected.head,
    );
    crashes.check(
      'the answers are the same',
      isDeepStrictEqual(await answersOf(dir.path, asked), expectedAnswers),
    );
    console.log(`whole again at block ${resumed.number}`);
    await dir[Symbol.asyncDispose]();
    dir = undefined;
    height = 0;
  }
} finally {
  await dir?.[Symbol.asyncDispose]();
}
crashes.check(`${midway} of ${kills} kills hit a chain half imported`, midway * 3 >= kills);
console.log(`${crashes.passed} passed, ${crashes.failed} failed`);
process.exitCode = crashes.failed === 0 ? 0 : 1;

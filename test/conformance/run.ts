import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { startArchiveGeth } from '../support/servers/geth.ts';
import { startOurNode } from '../support/servers/node.ts';
import { Client } from './client.ts';
import { matches } from './compare.ts';
import { documentedDeviations, documentPath } from './deviations.ts';
import { startOfficialFleet } from './fleet.ts';
import { loadExchanges, loadVectors, type Vector } from './vectors.ts';

interface Verdict {
  readonly vector: Vector;
  readonly passed: boolean;
  readonly answers: readonly unknown[];
}

async function runVectors(url: () => string, vectors: readonly Vector[]): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const vector of vectors) {
    const answers = await replay(url(), vector);
    const passed = vector.exchanges.every(({ response }, at) =>
      matches(response, answers[at], vector.shapeOnly),
    );
    verdicts.push({ vector, passed, answers });
  }
  return verdicts;
}

/** Asks what a vector asks. Where only shapes are prescribed, ids that it was given once are those that it is given now. */
async function replay(url: string, { exchanges, shapeOnly }: Vector): Promise<readonly unknown[]> {
  await using client = new Client(url);
  const answers: unknown[] = [];
  const ids = new Map<string, string>();
  for (const { request, response } of exchanges) {
    const answer = await client.ask(request.replaceAll(/"0x[0-9a-f]+"/g, (id) => ids.get(id) ?? id));
    answers.push(answer);
    const [was, is] = [response, answer].map((one) => JSON.stringify((one as { result?: unknown }).result));
    if (shapeOnly && was?.startsWith('"0x') && is !== undefined) ids.set(was, is);
  }
  return answers;
}

function show({ vector, answers }: Verdict): void {
  vector.exchanges.forEach(({ request, response }, at) => {
    console.log(`    asked    ${request}`);
    console.log(`    expected ${JSON.stringify(response)}`);
    console.log(`    got      ${JSON.stringify(answers[at])}`);
  });
}

function row(name: string, outcome: string, note = ''): void {
  console.log(`  ${name.padEnd(58)} ${outcome.padEnd(8)} ${note}`.trimEnd());
}

class Tally {
  passed = 0;
  failed = 0;

  /** Every vector must pass as its authors wrote it. */
  strict(verdicts: readonly Verdict[]): void {
    for (const verdict of verdicts) {
      row(verdict.vector.name, verdict.passed ? 'pass' : 'FAIL');
      if (!verdict.passed) show(verdict);
      this.count(verdict.passed);
    }
  }

  /** The documented deviations differ, in the documented way, and nothing else does. */
  async byContract(verdicts: readonly Verdict[]): Promise<void> {
    const documented = new Map((await documentedDeviations()).map((entry) => [entry.vector, entry]));
    for (const verdict of verdicts) {
      const entry = documented.get(verdict.vector.name);
      documented.delete(verdict.vector.name);
      if (entry === undefined) {
        row(
          verdict.vector.name,
          verdict.passed ? 'pass' : 'FAIL',
          verdict.passed ? '' : 'not a documented deviation',
        );
        if (!verdict.passed) show(verdict);
        this.count(verdict.passed);
        continue;
      }
      const error = (verdict.answers[0] as { error?: { code: number; message: string } }).error;
      const ours = error === undefined ? 'a result' : `${error.code} ${error.message}`;
      const asWritten = !verdict.passed && ours === entry.ours;
      row(verdict.vector.name, asWritten ? 'differs' : 'FAIL', `${entry.rule}: ${ours}`);
      if (!asWritten) {
        console.log(`    ${documentPath} says: ${entry.ours}`);
        show(verdict);
      }
      this.count(asWritten);
    }
    for (const name of documented.keys()) {
      row(name, 'FAIL', `listed in ${documentPath}, but there is no such vector`);
      this.count(false);
    }
  }

  private count(passed: boolean): void {
    if (passed) this.passed += 1;
    else this.failed += 1;
  }
}

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    /** Through a fleet, each vector to one of its replicas at random. */
    fleet: { type: 'boolean', default: false },
    seed: { type: 'string', default: process.env['TEST_SEED'] ?? String(randomInt(2 ** 31)) },
  },
});
const vectors = [...(await loadVectors()), ...(await loadExchanges())];
const tally = new Tally();
if (values.url !== undefined) {
  console.log(`${vectors.length} vectors against ${values.url}`);
  const { url } = values;
  tally.strict(await runVectors(() => url, vectors));
} else if (values.fleet) {
  await using geth = await startArchiveGeth();
  await using fleet = await startOfficialFleet(geth, ['--compat', 'execution-apis', '--send-to', geth.url]);
  const random = new Random(Number(values.seed), 0);
  console.log(
    `through ${fleet.urls.length} replicas, seed ${values.seed}: ${vectors.length} vectors, none may differ`,
  );
  tally.strict(await runVectors(() => random.pick(fleet.urls), vectors));
} else {
  // Whoever takes transactions has to hold the chain that they are of.
  await using geth = await startArchiveGeth();
  const sending = ['--send-to', geth.url];
  console.log(`with --compat execution-apis: ${vectors.length} vectors, none may differ`);
  {
    await using node = await startOurNode(['--compat', 'execution-apis', ...sending]);
    tally.strict(await runVectors(() => node.dedicatedUrl, vectors));
  }
  console.log(`by contract: ${vectors.length} vectors, exactly those listed in ${documentPath} differ`);
  {
    await using node = await startOurNode(sending);
    await tally.byContract(await runVectors(() => node.dedicatedUrl, vectors));
  }
}
console.log(`${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed === 0 ? 0 : 1;

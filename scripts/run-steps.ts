// Runs the steps of `npm run check` or, with `ci`, everything a change must pass: one after another, timed, counted.
// The last line is `N passed, N failed`. Names after the first argument select steps.
import { spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addTallies, failureLines, judgeStep, type Tally } from './tally.ts';

interface Step {
  readonly name: string;
  readonly command: string;
  /** Its output ends in a count of tests; otherwise the step itself counts as one. */
  readonly tests: boolean;
  /** Nothing after it makes sense if it fails. */
  readonly gate?: true;
}

// The gate repeats one seed, so that it only fails for what a change did; new ones are for whoever looks for more.
const SEED = process.env['TEST_SEED'] ?? '20261115';
const CARGO = '--manifest-path native/Cargo.toml --locked';
// Native tests replay real blocks, and share the compiled dependencies of the addon: hence --release.
const INSTALL: readonly Step[] = [
  { name: 'install', command: 'npm ci', tests: false, gate: true },
  { name: 'build', command: 'npm run -s build', tests: false, gate: true },
];
const CHECK: readonly Step[] = [
  { name: 'biome', command: 'biome check --error-on-warnings .', tests: false },
  {
    name: 'types',
    command: 'tsc --noEmit && tsc --noEmit -p web && tsc --noEmit -p packages/client',
    tests: false,
  },
  { name: 'oxlint', command: 'oxlint --type-aware --deny-warnings', tests: false },
  { name: 'knip', command: 'knip', tests: false },
  { name: 'docs', command: 'node scripts/generate-docs.ts --check', tests: false },
  { name: 'licences', command: 'node scripts/check-licences.ts', tests: false },
  { name: 'site', command: 'npm run -s docs:build', tests: true },
  { name: 'unit', command: 'npm run -s test', tests: true },
  { name: 'rustfmt', command: 'cargo fmt --manifest-path native/Cargo.toml --all --check', tests: false },
  {
    name: 'clippy',
    command: `cargo clippy ${CARGO} --release --workspace --all-targets -- -D warnings`,
    tests: false,
  },
  { name: 'cargo', command: `cargo test ${CARGO} --release --workspace`, tests: true },
];
const LONG: readonly Step[] = [
  { name: 'conformance', command: 'npm run -s test:conformance', tests: true },
  { name: 'scenarios', command: 'npm run -s test:scenarios', tests: true },
  { name: 'e2e', command: 'npm run -s test:e2e', tests: true },
  { name: 'edge', command: 'npm run -s test:edge', tests: true },
  { name: 'clients', command: 'npm run -s test:clients', tests: true },
  { name: 'first-run', command: 'npm run -s test:first-run', tests: true },
  { name: 'deploy', command: 'npm run -s test:deploy', tests: true },
  { name: 'fleet', command: 'npm run -s test:fleet', tests: true },
  { name: 'fleet-vectors', command: 'npm run -s test:conformance -- --fleet', tests: true },
  // A part of the runs, for the gate's time; the full forms (without options) are for whoever looks for more.
  {
    name: 'differential',
    command: `npm run -s test:differential -- --count 14000 --seed ${SEED}`,
    tests: true,
  },
  { name: 'fuzz', command: `npm run -s test:fuzz -- --bodies 45000 --http 6000 --seed ${SEED}`, tests: true },
  { name: 'front', command: `npm run -s test:front -- --streams 14000 --seed ${SEED}`, tests: true },
  { name: 'crash', command: 'npm run -s test:crash -- --kills 10', tests: true },
  {
    name: 'replica',
    command: `npm run -s test:replica -- --blocks 150 --requests 2600 --seed ${SEED}`,
    tests: true,
  },
  {
    name: 'replica-unknown-fork',
    command: 'npm run -s test:replica -- --unknown-fork --blocks 40 --requests 400 --seed 20261116',
    tests: true,
  },
  {
    name: 'replica-native',
    command: `npm run -s test:replica -- --native --blocks 60 --requests 600 --seed ${SEED}`,
    tests: true,
  },
  {
    name: 'replica-via-node',
    command: `npm run -s test:replica -- --via-node --chain op-geth --blocks 60 --requests 600 --seed ${SEED}`,
    tests: true,
  },
  {
    name: 'replica-fleet',
    command: `npm run -s test:replica -- --fleet --chain op-geth --blocks 70 --requests 600 --seed ${SEED}`,
    tests: true,
  },
  {
    name: 'two-nodes',
    command: `npm run -s test:two-nodes -- --form allZero --flashblocks 24 --paced 3 --seed ${SEED}`,
    tests: true,
  },
  { name: 'following', command: `npm run -s test:following -- --seed ${SEED}`, tests: true },
  {
    name: 'preconfirmed',
    command: `npm run -s test:preconfirmed -- --seed ${SEED} --flashblocks 260`,
    tests: true,
  },
  // Each fault and pair of faults once.
  {
    name: 'faults',
    command: `npm run -s test:preconfirmed-faults -- --seed ${SEED} --runs 136`,
    tests: true,
  },
  {
    name: 'subscriptions',
    command: `npm run -s test:subscriptions -- --blocks 150 --seed ${SEED}`,
    tests: true,
  },
  {
    name: 'client-logs',
    command: `npm run -s test:subscriptions -- --client package --blocks 60 --seed ${SEED}`,
    tests: true,
  },
  { name: 'attacks', command: `npm run -s test:attacks -- --seed ${SEED} --part 4`, tests: true },
  { name: 'dashboard', command: 'npm run -s test:dashboard -- --seconds 5', tests: true },
  { name: 'soak', command: `npm run -s test:soak -- --seed ${SEED}`, tests: true },
  { name: 'scale', command: 'npm run -s test:scale', tests: true },
  { name: 'bench', command: 'npm run -s bench -- --quick', tests: true },
  { name: 'execution', command: 'npm run -s bench -- --part execution --quick', tests: true },
  { name: 'freshness', command: 'npm run -s bench -- --part preconfirmed --quick', tests: true },
  { name: 'fast-blocks', command: 'npm run -s bench -- --part fast-blocks --quick', tests: true },
  { name: 'websocket', command: 'npm run -s bench -- --part websocket --quick', tests: true },
];
const PLANS: Readonly<Record<string, readonly Step[]>> = {
  check: CHECK,
  ci: [...INSTALL, ...CHECK, ...LONG],
};

/** Well above what any step needs: a hang must fail the run while there is time to report it. */
const STEP_LIMIT_MS = 20 * 60_000;
const root = fileURLToPath(new URL('..', import.meta.url));

interface Ended {
  readonly ok: boolean;
  readonly output: string;
  readonly note: string;
}

function runStep(step: Step): Promise<Ended> {
  const path = [`${root}node_modules/.bin`, process.env['PATH']].join(delimiter);
  // A group of its own, so that a step that hangs is ended with everything it started.
  const child = spawn(step.command, {
    cwd: root,
    shell: true,
    detached: true,
    env: { ...process.env, PATH: path, TEST_SEED: SEED },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const [stream, sink] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      sink.write(chunk);
    });
  }
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, STEP_LIMIT_MS);
  return new Promise((resolve) => {
    const end = (ok: boolean, note: string): void => {
      clearTimeout(timer);
      resolve({ ok, output: Buffer.concat(chunks).toString('utf8'), note });
    };
    child.on('error', (error) => end(false, error.message));
    child.on('close', (code, signal) =>
      end(code === 0, late ? 'over its time limit' : (signal ?? `exit code ${code}`)),
    );
  });
}

function selectSteps(plan: string | undefined, names: readonly string[]): readonly Step[] {
  const steps = PLANS[plan ?? ''];
  if (steps === undefined) throw new Error(`usage: run-steps.ts ${Object.keys(PLANS).join('|')} [step...]`);
  const unknown = names.find((name) => !steps.some((step) => step.name === name));
  if (unknown !== undefined)
    throw new Error(`no step ${unknown}; there are ${steps.map(({ name }) => name).join(', ')}`);
  return names.length === 0 ? steps : steps.filter(({ name }) => names.includes(name));
}

/** Milliseconds that all cores have worked: what a step left idle is time that another could have used. */
function workedMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

const [plan, ...names] = process.argv.slice(2);
const lines: string[] = [];
const failures: string[] = [];
let total: Tally = { passed: 0, failed: 0 };
for (const step of selectSteps(plan, names)) {
  console.log(`\n== ${step.name}: ${step.command}`);
  const started = performance.now();
  const worked = workedMs();
  const ended = await runStep(step);
  const tally = judgeStep({ ...step, ...ended });
  total = addTallies(total, tally);
  const ms = performance.now() - started;
  const seconds = (ms / 1000).toFixed(1);
  const cores = ((workedMs() - worked) / ms).toFixed(1);
  const passed = ended.ok && tally.failed === 0;
  const verdict = passed ? 'ok' : `FAILED (${ended.note})`;
  // The log of a whole run is long, and where it is kept only its end may be: what failed is said there again.
  if (!passed) failures.push(`\n-- ${step.name}`, ...failureLines(ended.output));
  lines.push(
    `${step.name.padEnd(14)}${seconds.padStart(8)} s ${cores} cores  ${tally.passed} passed, ${tally.failed} failed  ${verdict}`,
  );
  console.log(`== ${lines.at(-1)}`);
  if (step.gate && !ended.ok) break;
}
if (failures.length > 0) console.log(`\n== what failed${failures.join('\n')}`);
console.log(`\n${lines.join('\n')}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

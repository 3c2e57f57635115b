import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checks } from '../support/checks.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { until } from '../support/servers/process.ts';
import { expectDefaultPorts, type Machine } from './machine.ts';
import { type Command, isAsPrinted, type Step, stepsOf } from './page.ts';
import { type Job, Shell } from './shell.ts';

/** What says that a command that stays up can be used: the log's word, or the last line of a guide. */
const READY = /"msg":"(?:serving|ingesting)"|\bserving\b.*\d+\.\d+\.\d+\.\d+:\d+|Ctrl-C|Listening on/;
const READY_MS = 180_000;

const { devDependencies, version } = JSON.parse(readFileSync(join(repoRoot, 'package.json'), 'utf8')) as {
  readonly devDependencies: { readonly viem: string };
  readonly version: string;
};
/** What programs of pages import: viem as other tests use it (docs/dependencies.md says why not the newest). */
const IMPORTED = { viem: devDependencies.viem, '@chain-query/client': version };

/** Whether bash takes this as a whole command. A here-document without its end is only warned of. */
function isWhole(text: string): boolean {
  const { status, stderr } = spawnSync('bash', ['-n', '-c', text], { encoding: 'utf8' });
  return status === 0 && !stderr.includes('here-document');
}

/** The steps of a page of this repository. */
export function readSteps(page: string): readonly Step[] {
  return stepsOf(readFileSync(join(repoRoot, page), 'utf8'), isWhole);
}

/** Waits until a command that stays up can be used. */
export async function untilReady(job: Job): Promise<void> {
  await until(
    'its ready line',
    () => {
      if (READY.test(job.output())) return true;
      return job.lives ? undefined : 'ended';
    },
    READY_MS,
  ).then(
    (how) => {
      if (how === 'ended') throw new Error(`it ended:\n${job.output().slice(-4_000)}`);
    },
    (error: unknown) => {
      throw new Error(`${(error as Error).message}; it printed:\n${job.output().slice(-4_000)}`);
    },
  );
}

/** Runs a page as its reader would, in an empty folder. After a step that fails, those that follow would say nothing. */
export async function runPage(page: string, machine: Machine, checks: Checks): Promise<void> {
  const steps = readSteps(page);
  checks.check(`${page} has commands`, steps.length > 0);
  await expectDefaultPorts();
  const name = page.replaceAll('/', ' ');
  const [cwd, own] = [await machine.folder(name), await machine.folder(`${name} output`)];
  await using shell = new Shell(cwd, machine.env, own);
  let up: Job | undefined;
  try {
    for (const step of steps) {
      console.log(`  ${page}:${step.line} ${step.text.split('\n', 1)[0]?.slice(0, 100)}`);
      if (step.kind === 'command' && step.stays) {
        await up?.stop();
        up = await shell.start(step.text);
        await untilReady(up);
      } else if (step.kind === 'command') await runCommand(step, shell);
      else await runTypeScript(step, cwd, shell);
      checks.check(`${page}:${step.line}`, true);
    }
  } catch (error) {
    const after = up === undefined ? '' : `\nwhat stayed up had printed:\n${up.output().slice(-2_000)}`;
    checks.check(page, false, `${(error as Error).message}${after}`);
  }
  await up?.stop().catch((error: unknown) => checks.check(`${page} ends`, false, (error as Error).message));
}

async function runCommand({ line, text, expected }: Command, shell: Shell): Promise<void> {
  const { code, stdout, stderr } = await shell.run(text);
  const what = `line ${line}: ${text}`;
  if (code !== 0) throw new Error(`${what}\nended with ${code}, and printed:\n${stdout}${stderr}`);
  if (expected !== undefined && !isAsPrinted(expected, stdout))
    throw new Error(`${what}\nprinted:\n${stdout.trim()}\nand not:\n${expected}`);
}

/** Node runs TypeScript as it is; what it imports is installed in the folder. */
async function runTypeScript(
  { line, text }: { readonly line: number; readonly text: string },
  cwd: string,
  shell: Shell,
): Promise<void> {
  const file = join(cwd, `line-${line}.mts`);
  writeFileSync(file, text);
  const packages = Object.entries(IMPORTED).filter(([name]) => text.includes(`'${name}`));
  const wanted = packages.map(([name, release]) => `${name}@${release}`).join(' ');
  const install = wanted === '' ? '' : `npm install --loglevel error --no-fund ${wanted} && `;
  await runCommand(
    {
      kind: 'command',
      line,
      text: `(cd '${cwd}' && ${install}node '${file}')`,
      expected: undefined,
      stays: false,
    },
    shell,
  );
}

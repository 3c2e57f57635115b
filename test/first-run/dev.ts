import { type Checks, say, seconds } from '../support/checks.ts';
import { expectDefaultPorts, type Machine, megabytes } from './machine.ts';
import { untilReady } from './run-page.ts';
import { Shell } from './shell.ts';

const AIM_MS = 20_000;
const MAX_DEV_MEGABYTES = 110;
/** A line of what `dev` prints to be pasted. */
const PASTED = /^(?:sleep [\d.]+; )?curl .*$/gm;

/** `npx chain-query dev` in an empty folder, to a pre-confirmed answer by the lines that it prints. */
export async function devToFirstAnswer(machine: Machine, checks: Checks): Promise<void> {
  await expectDefaultPorts();
  const [cwd, own] = [await machine.folder('an empty folder'), await machine.folder('output')];
  await using shell = new Shell(cwd, machine.env, own);
  const installing = performance.now();
  // It installs, as the first run of anything would; how long that takes is the network's doing.
  const { stdout: version } = await shell.run('npx --yes chain-query --version');
  const installed = seconds(installing);
  checks.check('npx installs and says the version', /^\d+\.\d+\.\d+$/.test(version.trim()), version);
  const size = await megabytes(machine.npxFolder);
  checks.check(`dev takes less than ${MAX_DEV_MEGABYTES} MB`, size < MAX_DEV_MEGABYTES, size);

  const started = performance.now();
  const dev = await shell.start('npx --yes chain-query dev');
  try {
    await untilReady(dev);
    const ready = seconds(started);
    const lines = dev.output().match(PASTED) ?? [];
    checks.check('dev prints three lines to paste', lines.length === 3, dev.output());
    const { stdout } = await shell.run(lines.join('\n'));
    const tookMs = performance.now() - started;
    const result = (id: number): string | undefined =>
      new RegExp(`"id":${id},"result":"0x0*([0-9a-f]*)"`).exec(stdout)?.[1];
    checks.check('the counter is 0', result(1) === '', stdout);
    checks.check('it is 1 in pending', result(3) === '1', stdout);
    checks.check('and still 0 in latest', result(4) === '', stdout);
    checks.check(`the answer is there within ${AIM_MS / 1_000} s`, tookMs < AIM_MS, tookMs);
    say(
      `installed in ${installed}, ${size.toFixed(1)} MB; ready after ${ready}, pre-confirmed answer after ${(tookMs / 1_000).toFixed(2)} s`,
    );
  } finally {
    await dev.stop();
  }
}

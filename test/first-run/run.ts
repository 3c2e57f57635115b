// What a new user meets, from the packed tarballs and an empty folder: `npm run test:first-run [-- --pages README.md,…]`.
// Nothing of a checkout, no Rust, no Go and no chain client is within reach.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Checks, seconds } from '../support/checks.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { tempDir } from '../support/servers/process.ts';
import { devToFirstAnswer } from './dev.ts';
import { newMachine } from './machine.ts';
import { runProgram } from './programs.ts';
import { startRegistry } from './registry.ts';
import { runPage } from './run-page.ts';
import { globalInstall, smallServer } from './server.ts';

/** Pages whose commands are run as they are printed. */
const PAGES = ['README.md', 'docs/getting-started.md'];

const { values } = parseArgs({ options: { pages: { type: 'string' } } });
const checks = new Checks();
await using folder = await tempDir('first run');
const tarballs = join(folder.path, 'tarballs');
const began = performance.now();
await runProgram('node', [join(repoRoot, 'scripts/pack-release.ts'), '--out', tarballs]);
console.log(`packed in ${seconds(began)}`);
await using registry = await startRegistry(tarballs);
const machine = await newMachine(folder.path, registry.url);

const scenarios: readonly (readonly [string, () => Promise<void>])[] = [
  ['npx chain-query dev', () => devToFirstAnswer(machine, checks)],
  ['a small server', () => smallServer(machine, checks)],
  ['a global install', () => globalInstall(machine, checks)],
];
const pages = values.pages?.split(',') ?? PAGES;
const ofPages = pages.map((page) => [page, () => runPage(page, machine, checks)] as const);
for (const [name, run] of [...(values.pages === undefined ? scenarios : []), ...ofPages]) {
  const started = performance.now();
  console.log(`== ${name}`);
  try {
    await run();
  } catch (error) {
    checks.check(name, false, (error as Error).stack ?? String(error));
  }
  console.log(`  ${seconds(started)}`);
}
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { addonPackage, PLATFORMS, platformName } from '../../native/platforms.js';
import { type Checks, say, seconds } from '../support/checks.ts';
import { officialChain } from '../support/servers/paths.ts';
import { until } from '../support/servers/process.ts';
import { type Machine, megabytes } from './machine.ts';
import { untilReady } from './run-page.ts';
import { Shell } from './shell.ts';

const MAX_SERVER_MEGABYTES = 45;
/** The last block of the chain that is imported. */
const HEAD = '0x36';
const OWN_PLATFORM = platformName(process);
/** Somebody else may have the ports that are printed. */
const ANY_PORT = '--public 127.0.0.1:0 --dedicated 127.0.0.1:0 --admin 127.0.0.1:0';

/** The smallest install that serves: its size, an answer of it, and what it says without what it lacks. */
export async function smallServer(machine: Machine, checks: Checks): Promise<void> {
  const [cwd, own] = [await machine.folder('a small server'), await machine.folder('server output')];
  await using shell = new Shell(cwd, machine.env, own);
  const installing = performance.now();
  const install = `npm install --omit=optional --ignore-scripts chain-query ${addonPackage(OWN_PLATFORM)}`;
  const { code, stderr } = await shell.run(install);
  checks.check(install, code === 0, stderr);
  const size = await megabytes(join(cwd, 'node_modules'));
  checks.check(`serve takes less than ${MAX_SERVER_MEGABYTES} MB`, size < MAX_SERVER_MEGABYTES, size);
  say(`installed in ${seconds(installing)}, ${size.toFixed(1)} MB`);
  await serveImported(shell, { program: 'npx chain-query', own, checks });
  await missingPeers(shell, checks);
  await missingAddon(shell, cwd, checks);
}

/** The program installed for everybody, run from a folder that has nothing to do with it. */
export async function globalInstall(machine: Machine, checks: Checks): Promise<void> {
  const [cwd, own] = [await machine.folder('elsewhere'), await machine.folder('global output')];
  const prefix = await machine.folder('a prefix');
  await using shell = new Shell(cwd, machine.env, own);
  const install = `npm install -g --prefix '${prefix}' chain-query`;
  const { code, stderr } = await shell.run(install);
  checks.check(install, code === 0, stderr);
  await serveImported(shell, { program: `'${join(prefix, 'bin/chain-query')}'`, own, checks });
}

interface Installed {
  readonly program: string;
  readonly own: string;
  readonly checks: Checks;
}

/** Imports a chain, serves it and asks it. */
async function serveImported(shell: Shell, { program, own, checks }: Installed): Promise<void> {
  const { genesis, blocks } = officialChain;
  const imported = await shell.run(
    `${program} import --data data --genesis '${genesis}' --blocks '${blocks}'`,
  );
  checks.check('a chain is imported', imported.code === 0, `${imported.stdout}${imported.stderr}`);
  const ports = join(own, 'ports.json');
  const serving = await shell.start(`${program} serve --data data ${ANY_PORT} --listen-port-file '${ports}'`);
  try {
    await untilReady(serving);
    const addresses = await until(
      'the file with the ports',
      () => JSON.parse(readFileSync(ports, 'utf8')) as { readonly public: string },
    );
    const { stdout } = await shell.run(
      `curl -s http://${addresses.public} -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'`,
    );
    checks.check('it answers', stdout.includes(`"result":"${HEAD}"`), stdout);
  } finally {
    await serving.stop();
  }
}

/** What is loaded on use is asked for in one line, with a command that helps. */
async function missingPeers(shell: Shell, checks: Checks): Promise<void> {
  const cql = '--store cql://127.0.0.1:1/chains';
  let command: string | undefined;
  for (const [flags, packages] of [
    [cql, ['cassandra-driver']],
    [
      `${cql} --feed nats://127.0.0.1:1`,
      ['cassandra-driver', '@nats-io/jetstream', '@nats-io/transport-node'],
    ],
    [`--data data --otlp http://127.0.0.1:1 ${ANY_PORT}`, ['@opentelemetry/sdk-trace']],
  ] as const) {
    const { code, stderr } = await shell.run(`node_modules/.bin/chain-query serve ${flags}`);
    const [line = ''] = stderr.split('\n');
    const said = /^chain-query: --.* run (npm install chain-query@\S+ .*)$/.exec(line)?.[1];
    command ??= said;
    const isWhole = said !== undefined && packages.every((name) => said.includes(` ${name}@`));
    checks.check(`serve ${flags} says what to install`, code === 2 && isWhole, { code, stderr });
  }
  if (command === undefined) return;
  // The first command, as it was said. What is missing then is a server, and no package.
  const { code, stderr } = await shell.run(`${command} --omit=optional --ignore-scripts`);
  checks.check(command, code === 0, stderr);
  const { stderr: then } = await shell.run(
    `node_modules/.bin/chain-query snapshot export ${cql} --snapshot snapshot`,
  );
  checks.check('the command was all that it took', then.includes('do not answer'), then);
}

/** Without the addon: what there is, and what to do. Help and version need none. */
async function missingAddon(shell: Shell, cwd: string, checks: Checks): Promise<void> {
  rmSync(join(cwd, 'node_modules', addonPackage(OWN_PLATFORM)), { recursive: true });
  const { code, stderr } = await shell.run(`node_modules/.bin/chain-query serve --data data ${ANY_PORT}`);
  const isSaid =
    stderr.includes(`this platform (${OWN_PLATFORM})`) &&
    Object.keys(PLATFORMS).every((platform) => stderr.includes(platform)) &&
    stderr.includes(`npm install ${addonPackage(OWN_PLATFORM)}@`);
  checks.check('without an addon, it says which platforms there are', code === 1 && isSaid, { code, stderr });
  checks.check('in one line', stderr.trim().split('\n').length === 1, stderr);
  for (const words of ['--version', '--help', 'serve --help']) {
    const { code: ended, stdout } = await shell.run(`node_modules/.bin/chain-query ${words}`);
    checks.check(`chain-query ${words} needs no addon`, ended === 0 && stdout.trim() !== '', stdout);
  }
}

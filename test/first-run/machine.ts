import { existsSync, readdirSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { runProgram } from './programs.ts';

/** What a new user may not have; and clients, so that the one that is installed is used. */
const ABSENT = ['cargo', 'rustc', 'go', 'geth', 'op-geth', 'anvil', 'chain-query'];
/** Where the program listens if nobody says otherwise. */
const DEFAULT_PORTS = [8545, 8546, 8547, 8555];

/** The machine of a new user: a home, programs and an npm that have nothing of this checkout. */
export interface Machine {
  readonly env: NodeJS.ProcessEnv;
  /** An empty folder. */
  folder(name: string): Promise<string>;
  /** Where `npx` installs to. */
  readonly npxFolder: string;
}

/** Makes one below an empty folder. */
export async function newMachine(below: string, registryUrl: string): Promise<Machine> {
  const home = join(below, 'home');
  const cache = join(below, 'npm-cache');
  await mkdir(home);
  // What a run of npm tells its scripts is not for the npm that is run here.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^node_options$|^chain_query_|^test_seed$/i.test(name),
  );
  const env = {
    ...Object.fromEntries(inherited),
    PATH: await pathWithout(ABSENT, below),
    HOME: home,
    npm_config_cache: cache,
    npm_config_registry: registryUrl,
    // A note that npm itself is old would be asked for and printed.
    npm_config_update_notifier: 'false',
  };
  return {
    env,
    npxFolder: join(cache, '_npx'),
    async folder(name) {
      const path = join(below, name);
      await mkdir(path);
      return path;
    },
  };
}

/** PATH without some programs: a folder that has one is replaced by one of links to all others of it. */
async function pathWithout(names: readonly string[], below: string): Promise<string> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => existsSync(folder));
  const allowed = [...new Set(folders)].map(async (folder, at) => {
    const inside = readdirSync(folder);
    if (!inside.some((name) => names.includes(name))) return folder;
    const links = join(below, `programs-${at}`);
    await mkdir(links);
    for (const name of inside.filter((one) => !names.includes(one)))
      await symlink(join(folder, name), join(links, name));
    return links;
  });
  return (await Promise.all(allowed)).join(delimiter);
}

/** Megabytes (of a million bytes) that a folder takes on disk, which is more than its files have. */
export async function megabytes(folder: string): Promise<number> {
  const { stdout } = await runProgram('du', ['-sk', folder]);
  return (Number(stdout.split('\t', 1)[0]) * 1.024) / 1_000;
}

/** Fails if one of the ports is taken that pages and `dev` use as they are printed. */
export async function expectDefaultPorts(): Promise<void> {
  for (const port of DEFAULT_PORTS) {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', () =>
        reject(new Error(`port ${port} is taken by another program: stop it first`)),
      );
      server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
    });
  }
}

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { endContainers, prepareFolder, runAsRoot, startContainer } from './container.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8');
/** With DEPLOY_FULL=1, packages and the addon are installed and built anew, as in the image: minutes. */
const FULL = process.env['DEPLOY_FULL'] === '1';

const folder = mkdtempSync(join(tmpdir(), 'chain-query-image-'));
const checkout = join(folder, 'checkout');
const app = join(folder, 'app');
const data = join(folder, 'data');

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const ended = spawnSync(file, args, { cwd: checkout, encoding: 'utf8', env: { ...process.env, ...env } });
  if (ended.status !== 0) throw new Error(`${file} ${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/** What the image is built from: the files of the checkout that .dockerignore lets through. */
function copySources(): void {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  });
  const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  for (const path of listed.stdout.split('\0')) {
    if (!taken.some((from) => path === from || path.startsWith(`${from}/`))) continue;
    if (path.endsWith('.test.ts') || !existsSync(join(root, path))) continue;
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  }
}

/** The words of an instruction in exec form. */
function execForm(instruction: string): readonly string[] {
  const list = new RegExp(`^${instruction}.*?(\\[.*\\])$`, 'm').exec(dockerfile)?.[1];
  return JSON.parse(list ?? 'null') as readonly string[];
}

/** The command of the image, with where the folder is. */
const inFolder = (words: readonly string[]): readonly string[] =>
  words.map((word) => word.replace(/^\/app/, app));
const ENTRYPOINT = inFolder(execForm('ENTRYPOINT'));
const ENV = {
  ...{ CHAIN_QUERY_DATA: data, CHAIN_QUERY_DEDICATED: 'off' },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function until(done: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`it never came: ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

beforeAll(() => {
  mkdirSync(checkout);
  copySources();
  if (FULL) run('deploy/docker/build.sh', ['install']);
  else symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const [built = ''] = globSync('node_modules/@chain-query/native/*.node', { cwd: root });
  run('deploy/docker/build.sh', ['compile'], FULL ? {} : { ADDON: join(root, built) });
  run('deploy/docker/build.sh', ['layout', app]);
  mkdirSync(data);
  const chain = join(root, 'test/data/conformance');
  run(process.execPath, [
    ...[join(app, 'dist/cli/main.js'), 'import', '--data', data],
    ...['--genesis', join(chain, 'genesis.json'), '--blocks', join(chain, 'chain.rlp')],
  ]);
  prepareFolder(folder);
}, 600_000);
afterEach(endContainers);
afterAll(() => runAsRoot(['rm', '-rf', folder]));

describe('the run folder', () => {
  it('has what a fleet and tracing load, and no tools', () => {
    for (const name of ['lmdb', 'cassandra-driver', '@nats-io/jetstream', '@opentelemetry/api'])
      expect(existsSync(join(app, 'node_modules', name)), name).toBe(true);
    for (const name of ['typescript', 'vitest', '@foundry-rs/anvil', 'viem'])
      expect(existsSync(join(app, 'node_modules', name)), name).toBe(false);
    expect(
      globSync('**/*.{test.js,test.ts,rs}', { cwd: app }).filter((path) => !path.includes('node_modules')),
    ).toEqual([]);
  });

  it('is at most 90 MiB', () => {
    const size = Number(run('du', ['-sm', app]).split('\t')[0]);
    console.log(`run folder: ${size} MiB`);
    expect(size).toBeLessThanOrEqual(90);
  });
});

describe('a container', () => {
  it('serves as a user without rights, from a root that cannot be written, and ends well', async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const env = {
      ...ENV,
      CHAIN_QUERY_PUBLIC: `127.0.0.1:${port}`,
      CHAIN_QUERY_ADMIN: `127.0.0.1:${adminPort}`,
    };
    const container = startContainer(folder, [...ENTRYPOINT, ...execForm('CMD(?! \\["node)')], env);
    const check = (path: string): string => {
      const asked = spawnSync(process.execPath, [join(app, 'healthcheck.js'), path], {
        env,
        encoding: 'utf8',
      });
      return `${asked.status} ${asked.stdout}`;
    };
    await until(() => container.output().includes('"msg":"serving"'), container.output);
    expect(check('/livez')).toBe('0 ok\n');
    expect(check('/readyz')).toMatch(/^0 \{"ready":true/);
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
    const url = `http://127.0.0.1:${port}`;
    const asked = run('curl', ['-sS', '-H', 'content-type: application/json', '-d', body, url]);
    expect(JSON.parse(asked)).toEqual({ jsonrpc: '2.0', id: 1, result: '0xc72dd9d5e883e' });
    const status = readFileSync(`/proc/${(await container.pid()).toString()}/status`, 'utf8');
    expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]).toBe('65532\t65532\t65532\t65532');
    expect(/^CapEff:\s+(.*)$/m.exec(status)?.[1]).toBe('0000000000000000');
    expect(await container.stop('SIGTERM')).toBe(0);
    expect(container.output()).toContain('"msg":"draining"');
    expect(check('/livez')).toMatch(/^1 the admin listener does not answer/);
  });

  it('cannot write its own folder', async () => {
    const program = `try { fs.writeFileSync('x', ''); } catch (error) { console.log(error.code); }`;
    const container = startContainer(folder, ['node', '-e', program]);
    expect(await container.ended).toBe(0);
    expect(container.output()).toBe('EROFS\n');
  });

  it.each([0, 50, 150, 300])('is stopped %i ms after its start', async (ms) => {
    const env = { ...ENV, CHAIN_QUERY_PUBLIC: '127.0.0.1:0', CHAIN_QUERY_ADMIN: '127.0.0.1:0' };
    const container = startContainer(folder, [...ENTRYPOINT, 'serve'], env);
    await container.initialised();
    await new Promise((resolve) => setTimeout(resolve, ms));
    // 143 where the signal came before there was anything that could end in order.
    expect([0, 143]).toContain(await container.stop('SIGTERM', 10_000));
  });

  it('serves where it sees nothing of the machine, as under the systemd unit', async () => {
    const env = { ...ENV, CHAIN_QUERY_PUBLIC: '127.0.0.1:0', CHAIN_QUERY_ADMIN: '127.0.0.1:0' };
    const proc = 'subset=pid,hidepid=invisible';
    const container = startContainer(folder, [...ENTRYPOINT, 'serve'], env, proc);
    await until(() => container.output().includes('"msg":"serving"'), container.output);
    expect(await container.stop('SIGTERM')).toBe(0);
  });

  it('says which port is taken, and ends', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const env = { ...ENV, CHAIN_QUERY_PUBLIC: `127.0.0.1:${port}`, CHAIN_QUERY_ADMIN: 'off' };
    const container = startContainer(folder, [...ENTRYPOINT, 'serve'], env);
    expect(await container.ended).toBe(1);
    server.close();
    expect(container.output()).toContain(`127.0.0.1:${port}`);
    expect(container.output()).toMatch(/EADDRINUSE|in use|taken/);
  });

  it('says that its volume is not its own', async () => {
    const env = {
      ...ENV,
      CHAIN_QUERY_DATA: join(folder, 'foreign'),
      CHAIN_QUERY_PUBLIC: '127.0.0.1:0',
      CHAIN_QUERY_ADMIN: 'off',
    };
    mkdirSync(join(folder, 'foreign'));
    const follow = { ...env, CHAIN_QUERY_UPSTREAM: 'http://127.0.0.1:1' };
    const container = startContainer(folder, [...ENTRYPOINT, 'serve'], follow);
    expect(await container.ended).toBe(1);
    expect(container.output()).toContain(`${join(folder, 'foreign')} cannot be written to`);
  });
});

describe('the Dockerfile', () => {
  it('pins its bases by version, runs as nobody, and listens on one port', () => {
    const bases = [...dockerfile.matchAll(/^ARG \w+_IMAGE=(.*)$/gm)].map(([, base]) => base);
    expect(bases).toEqual([
      expect.stringMatching(/^node:24\.\d+\.\d+-/),
      expect.stringMatching(/^rust:1\.\d+\.\d+-/),
    ]);
    // Whoever pins by digest looks it up: one that is written here was made up, or is old.
    expect(dockerfile).not.toMatch(/@sha256:/);
    expect([...dockerfile.matchAll(/^FROM \S\{(\w+)\}/gm)].map(([, base]) => base)).toEqual([
      ...['NODE_IMAGE', 'RUST_IMAGE', 'NODE_IMAGE'],
    ]);
    expect(dockerfile.match(/^USER .*$/gm)).toEqual(['USER 65532:65532']);
    expect(dockerfile.match(/^EXPOSE .*$/gm)).toEqual(['EXPOSE 8545']);
    expect(dockerfile).toMatch(/CHAIN_QUERY_DEDICATED=off/);
    expect(dockerfile).toMatch(/CHAIN_QUERY_ADMIN=127\.0\.0\.1:8547/);
    expect(ENTRYPOINT.slice(0, 3)).toEqual(['tini', '--', 'node']);
  });
});

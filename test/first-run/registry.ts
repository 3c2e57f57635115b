import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './programs.ts';

/** A registry on loopback. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
  /** Names of our packages. */
  readonly own: readonly string[];
}

interface Dist {
  readonly tarball: string;
  readonly integrity?: string;
  readonly shasum?: string;
}

interface Packument {
  readonly versions: Readonly<Record<string, { dist: Dist }>>;
}

const FETCH_MS = 120_000;
const MAX_BYTES = 2 ** 28;
/** Tarballs of others never change: kept, so that a run needs the network for little more than their lists of versions. */
const KEPT = join(homedir(), '.cache/chain-query/npm-tarballs');

/**
 * Serves the tarballs of a folder as packages that are published, and passes everything else on to the registry that npm is
 * configured with. Written for this test, for it is the only way to have npm do what it will do for users: `npm install x.tgz` takes
 * one package without the others that it names by version, so that neither the choice of a platform's package nor the sizes nor
 * `npx chain-query` would be what users get. A registry from npm for tests would be some hundred packages.
 */
export async function startRegistry(folder: string): Promise<Registry> {
  const upstream = (await runProgram('npm', ['config', 'get', 'registry'])).stdout
    .trim()
    .replace(/\/?$/, '/');
  const tarballs = new Map<string, () => Promise<Buffer>>();
  const packuments = new Map<string, Promise<string>>();
  const server = createServer((request, response) => {
    answer(request).then(
      (body) => send(response, body === undefined ? 404 : 200, body ?? '{}'),
      // Never with where it was asked: that is nobody's business who reads the output.
      (error: unknown) => send(response, 502, JSON.stringify({ error: (error as Error).name })),
    );
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  const own: string[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.tgz'))) {
    const bytes = await readFile(join(folder, file));
    const { stdout } = await runProgram('tar', ['xzOf', join(folder, file), 'package/package.json']);
    const manifest = JSON.parse(stdout) as { readonly name: string; readonly version: string };
    const { name, version } = manifest;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    tarballs.set(`/-/own/${file}`, async () => bytes);
    const versions = { [version]: { ...manifest, dist: { tarball: `${url}-/own/${file}`, integrity } } };
    const packument = JSON.stringify({ name, 'dist-tags': { latest: version }, versions });
    packuments.set(name, Promise.resolve(packument));
    own.push(name);
  }

  async function answer({ method, url: path = '/' }: IncomingMessage): Promise<string | Buffer | undefined> {
    // What npm asks beside packages: whether they are known to be vulnerable.
    if (method !== 'GET') return '{}';
    const tarball = tarballs.get(path);
    if (tarball !== undefined) return tarball();
    const name = decodeURIComponent(path.slice(1));
    if (!/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name)) return undefined;
    const known = packuments.get(name) ?? passOn(name);
    packuments.set(name, known);
    return known.catch((error: unknown) => {
      packuments.delete(name);
      if (error instanceof NotFound) return undefined;
      throw error;
    });
  }

  async function passOn(name: string): Promise<string> {
    // Packages of ours that are not packed here, such as those of other platforms, are nowhere.
    if (name.startsWith('@chain-query/')) throw new NotFound(name);
    const bytes = await fetchBytes(`${upstream}${name.replace('/', '%2f')}`, {
      accept: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8',
    });
    const packument = JSON.parse(bytes.toString('utf8')) as Packument;
    for (const [version, entry] of Object.entries(packument.versions)) {
      const { dist } = entry;
      const path = `/-/others/${encodeURIComponent(name)}/${version}.tgz`;
      tarballs.set(path, () => keptTarball(dist));
      entry.dist = { ...dist, tarball: `${url.slice(0, -1)}${path}` };
    }
    return JSON.stringify(packument);
  }

  return {
    url,
    own,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class NotFound extends Error {}

async function fetchBytes(url: string, headers: Record<string, string>): Promise<Buffer> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(FETCH_MS) });
  if (response.status === 404) throw new NotFound('not found');
  if (!response.ok) throw new Error(`the registry answers ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (bytes.length > MAX_BYTES) throw new Error('the registry answers too much');
  return bytes;
}

/** Kept under the hash that npm will hold it against. */
async function keptTarball({ tarball, integrity, shasum }: Dist): Promise<Buffer> {
  const key = Buffer.from(integrity ?? shasum ?? tarball).toString('hex');
  const file = join(KEPT, createHash('sha256').update(key).digest('hex'));
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const bytes = await fetchBytes(tarball, {});
  await mkdir(KEPT, { recursive: true });
  await writeFile(`${file}.${process.pid}`, bytes);
  await rename(`${file}.${process.pid}`, file);
  return bytes;
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

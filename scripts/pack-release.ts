// Packs what a release publishes, as tarballs: `npm run -s pack:release -- --out DIR [--addons DIR] [--all]`.
//
// Four kinds of packages: the program, the loader of the addon, one package a platform with the addon built for it, and the
// client. Platform packages are made of the `chain-query.<platform>.node` files in `--addons` (default: native/); with
// `--all`, one that is missing is an error. Manifests are written here: what a checkout needs (scripts, workspaces, development
// packages) is nobody's who installs, and the loader's platform packages exist only once they are released.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addonFile, addonPackage, PLATFORMS } from '../native/platforms.js';

/** What a package.json may say, as far as it is looked at. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** A package to be packed: its manifest, and its files by where they come from. */
interface Packed {
  readonly manifest: Manifest;
  readonly files: Readonly<Record<string, string>>;
}

/** What `npm pack --json` says of one. */
interface PackedByNpm {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
/** Fields that only a checkout needs. */
const OF_A_CHECKOUT = ['scripts', 'workspaces', 'devDependencies', 'allowScripts'];

/** Reads a manifest without what only a checkout needs. */
function published(folder: string, addition: Readonly<Record<string, unknown>> = {}): Manifest {
  const read = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
  const kept = Object.entries(read).filter(([field]) => !OF_A_CHECKOUT.includes(field));
  return { ...(Object.fromEntries(kept) as Manifest), ...addition, ...repository() };
}

/** Where the code is, which npm holds against the provenance of what it is given; only a workflow knows. */
function repository(): Readonly<Record<string, unknown>> {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = process.env;
  if (server === undefined || name === undefined) return {};
  return { repository: { type: 'git', url: `git+${server}/${name}.git` } };
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, error, stdout } = spawnSync(command, args, {
    ...{ cwd, encoding: 'utf8', maxBuffer: 2 ** 24 },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stdout.trim()}`);
}

/** Compiles the program and the client, anew, so that nothing of an older build is packed. */
function compile(stage: string): { readonly program: string; readonly client: string } {
  const [program, client] = [join(stage, 'compiled'), join(stage, 'compiled-client')];
  const tsc = join(root, 'node_modules/.bin/tsc');
  run(tsc, ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', program], root);
  run(tsc, ['-p', 'packages/client', '--outDir', client, '--sourceMap', 'false'], root);
  run('npm', ['run', '--silent', '--if-present', 'build:web'], root);
  const web = join(root, 'dist/web');
  if (existsSync(web)) cpSync(web, join(program, 'web'), { recursive: true });
  return { program, client };
}

/**
 * The native library of the store for a platform. Of the four in lmdb's own package only one fits; that package is fetched where it is
 * of another platform.
 */
function storeLibrary(platform: string, stage: string): string {
  const { os, cpu, libc } = PLATFORMS[platform] ?? {};
  const version = published('.').dependencies?.['lmdb'];
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`lmdb has to be an exact version, since its library is packed: ${version}`);
  const name = `@lmdb/lmdb-${os}-${cpu}`;
  const file = libc === undefined ? 'node.napi.node' : `node.napi.${libc}.node`;
  const installed = join(root, 'node_modules', name, file);
  if (existsSync(installed)) return installed;
  const folder = join(stage, `lmdb-${platform}`);
  mkdirSync(folder);
  run('npm', ['pack', '--silent', `${name}@${version}`], folder);
  run('tar', ['xzf', `lmdb-lmdb-${os}-${cpu}-${version}.tgz`], folder);
  return join(folder, 'package', file);
}

/** The package of one platform: the addon, and the library of the store, so that nothing optional has to be installed beside it. */
function platformPackage(platform: string, addon: string, stage: string): Packed {
  const { os, cpu, libc } = PLATFORMS[platform] ?? {};
  const { license, engines, version } = published('.');
  const file = addonFile(platform);
  const library = storeLibrary(platform, stage);
  const lmdb = join(root, 'node_modules/lmdb');
  return {
    manifest: {
      name: addonPackage(platform),
      version,
      description: `The EVM core of chain-query, and the library of its store, for ${platform}.`,
      license: `${license ?? ''} AND MIT AND OLDAP-2.8`,
      engines,
      os: [os],
      cpu: [cpu],
      ...(libc !== undefined && { libc: [libc] }),
      main: file,
      files: [file, 'prebuilds', 'LICENSE*'],
      ...repository(),
    },
    files: {
      [file]: addon,
      [`prebuilds/${os}-${cpu}/${basename(library)}`]: library,
      'LICENSE-lmdb-js': join(lmdb, 'LICENSE'),
      'LICENSE-lmdb': join(lmdb, 'dependencies/lmdb/libraries/liblmdb/LICENSE'),
    },
  };
}

/** All packages of a release, those that others depend on first: the order in which they are published. */
function packages(stage: string, addons: string, needsAll: boolean): readonly Packed[] {
  const { name, version } = published('.');
  for (const folder of ['native', 'packages/client']) {
    const other = published(folder);
    if (other.version !== version)
      throw new Error(
        `${other.name} is ${other.version}, and ${name} is ${version}: they are released together`,
      );
  }
  const built = Object.keys(PLATFORMS).filter((platform) => existsSync(join(addons, addonFile(platform))));
  const missing = Object.keys(PLATFORMS).filter((platform) => !built.includes(platform));
  if (built.length === 0) throw new Error(`no addon is in ${addons}: run npm run build:native`);
  if (needsAll && missing.length > 0) throw new Error(`no addon is in ${addons} for ${missing.join(', ')}`);
  const { program, client } = compile(stage);
  const native = (file: string): [string, string] => [file, join(root, 'native', file)];
  const loader = published('native');
  return [
    ...built.map((platform) => platformPackage(platform, join(addons, addonFile(platform)), stage)),
    {
      manifest: {
        ...loader,
        optionalDependencies: Object.fromEntries(
          Object.keys(PLATFORMS).map((platform) => [addonPackage(platform), version]),
        ),
      },
      files: Object.fromEntries((loader.files ?? []).map(native)),
    },
    {
      manifest: published('.'),
      files: { dist: program, 'README.md': join(root, 'README.md') },
    },
    {
      manifest: published('packages/client'),
      files: { dist: client, 'README.md': join(root, 'packages/client/README.md') },
    },
  ];
}

/** Packs one, and says where. Fails if a file is not in it: npm leaves out what it does not like, links among it, without a word. */
function pack({ manifest, files }: Packed, stage: string, out: string): string {
  const folder = join(stage, manifest.name.replace('/', '+'));
  mkdirSync(folder);
  for (const [file, from] of Object.entries({ ...files, LICENSE: join(root, 'LICENSE') }))
    cpSync(from, join(folder, file), { recursive: true, dereference: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const args = ['pack', '--silent', '--json', '--ignore-scripts', '--pack-destination', out];
  const [packed] = JSON.parse(run('npm', args, folder)) as readonly PackedByNpm[];
  if (packed === undefined) throw new Error(`npm pack made nothing of ${manifest.name}`);
  const inside = new Set(packed.files.map(({ path }) => path));
  const lacking = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll(sep, '/'))
    .filter((path) => !inside.has(path));
  if (lacking.length > 0) throw new Error(`the tarball of ${manifest.name} lacks ${lacking.join(', ')}`);
  return packed.filename;
}

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    addons: { type: 'string', default: join(root, 'native') },
    all: { type: 'boolean', default: false },
  },
});
if (values.out === undefined) throw new Error('usage: pack-release.ts --out DIR [--addons DIR] [--all]');
const out = resolve(values.out);
const stage = mkdtempSync(join(tmpdir(), 'chain-query-pack-'));
try {
  mkdirSync(out, { recursive: true });
  for (const each of packages(stage, resolve(values.addons), values.all)) console.log(pack(each, stage, out));
} finally {
  rmSync(stage, { recursive: true });
}

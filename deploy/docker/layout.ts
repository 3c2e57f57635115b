// Lays out the run folder of the image: the compiled program, the addon, and the packages that they load.
// Not `npm prune --omit=dev`: what a fleet and tracing need are optional peers, which npm leaves out and an image must have.
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Our own, copied from the checkout: in node_modules it is a link. */
const ADDON = '@chain-query/native';
/** The chain of `dev`: 60 MB that a node never uses. */
const LEFT_OUT: readonly string[] = ['@foundry-rs/anvil'];

const root = join(fileURLToPath(import.meta.url), '../../..');
const modules = join(root, 'node_modules');

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Where a package finds another one, as Node looks for it: below it, then further up, as far as the checkout. */
function folderOf(name: string, from: string): string | undefined {
  for (let at = from; at === root || at.startsWith(`${root}/`); at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return folder;
  }
  return undefined;
}

/** Every package that the program may load, by its folder. Of optional ones and peers, those that are installed. */
function packagesOf(folder: string, found: Map<string, Manifest> = new Map()): Map<string, Manifest> {
  const manifest = manifestOf(folder);
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest;
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
    if (name === ADDON || name.startsWith(`${ADDON}-`) || LEFT_OUT.includes(name)) continue;
    const needed = folderOf(name, folder);
    if (needed === undefined) {
      if (Object.hasOwn(dependencies, name) && !Object.hasOwn(optionalDependencies, name))
        throw new Error(`${name}, which ${relative(root, folder) || 'the program'} needs, is not installed`);
      continue;
    }
    if (found.has(needed)) continue;
    found.set(needed, manifestOf(needed));
    packagesOf(needed, found);
  }
  return found;
}

function copy(path: string, target: string): void {
  // Packages below a package are found and copied by themselves, if anything needs them.
  const filter = (source: string): boolean => relative(join(root, path), source) !== 'node_modules';
  cpSync(join(root, path), join(target, path), { recursive: true, dereference: true, filter });
}

const [target = ''] = process.argv.slice(2);
mkdirSync(target, { recursive: true });
if (readdirSync(target).length > 0) throw new Error(`${target} is not empty`);
for (const path of ['package.json', 'LICENSE', 'dist']) copy(path, target);
cpSync(join(root, 'deploy/docker/healthcheck.js'), join(target, 'healthcheck.js'));

const addons = globSync('native/*.node', { cwd: root });
if (addons.length === 0) throw new Error('the addon is not built: run build.sh compile');
for (const path of ['native/package.json', ...globSync('native/*.js', { cwd: root }), ...addons])
  if (!path.endsWith('.test.js')) copy(path, target);
mkdirSync(join(target, 'node_modules', dirname(ADDON)), { recursive: true });
symlinkSync('../../native', join(target, 'node_modules', ADDON));

const packages = [...packagesOf(root).keys()].map((folder) => relative(root, folder)).toSorted();
for (const path of packages) copy(path, target);
console.log(`${packages.length} packages below ${relative(root, modules)}, ${addons.length} addon`);

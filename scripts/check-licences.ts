// Holds the licences of all dependencies, of npm and of cargo, for every platform, against those that are allowed (licences.ts).
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type Licensed, refused } from './licences.ts';

interface Locked {
  readonly license?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

type Lock = Readonly<Record<string, Locked>>;

const root = new URL('../', import.meta.url);
const MODULES = 'node_modules/';

/** Where a package finds another one that it names, as Node looks for it. */
function resolveIn(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf(MODULES) - 1, 0))) {
    const path = `${folder === '' ? '' : `${folder}/`}${MODULES}${name}`;
    if (lock[path] !== undefined) return path;
    if (folder === '') return undefined;
  }
}

/** What users get: all that the program depends on, what it loads on use included. */
function shipped(lock: Lock): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [''];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const { dependencies, optionalDependencies, peerDependencies } = lock[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const next = resolveIn(lock, path, name);
      if (next === undefined || found.has(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}

function npmDependencies(): readonly Licensed[] {
  const text = readFileSync(new URL('package-lock.json', root), 'utf8');
  const { packages: lock } = JSON.parse(text) as { readonly packages: Lock };
  const ships = shipped(lock);
  // Packages of other platforms are in the lock by name only: each is released with the one that names it.
  const parents = new Map(
    Object.values(lock).flatMap(({ license, optionalDependencies }) =>
      Object.keys(optionalDependencies ?? {}).map((name) => [name, license] as const),
    ),
  );
  return Object.entries(lock)
    .filter(([path, { link }]) => path.includes(MODULES) && link !== true)
    .map(([path, { license }]) => {
      const name = path.slice(path.lastIndexOf(MODULES) + MODULES.length);
      return { name, licence: license ?? parents.get(name), ships: ships.has(path) };
    });
}

/** What is compiled for any platform, and what that needs to be built; tests of crates aside. */
function crates(kinds: string): ReadonlyMap<string, string> {
  const args = [
    'tree',
    '--locked',
    '--workspace',
    '--target',
    'all',
    '-e',
    kinds,
    '--prefix',
    'none',
    '--format',
    '{p}\t{l}',
  ];
  const { status, stdout, stderr, error } = spawnSync('cargo', args, {
    cwd: new URL('native/', root),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`cargo tree failed: ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line.includes('\t'));
  return new Map(
    lines.map((line) => {
      const [name = '', licence = ''] = line
        .replaceAll(' (*)', '')
        .replaceAll(' (proc-macro)', '')
        .split('\t');
      return [name, licence.trim()];
    }),
  );
}

function crateDependencies(): readonly Licensed[] {
  const compiled = crates('normal,build');
  return [...crates('all')].map(([name, licence]) => ({
    name,
    licence: licence === '' ? undefined : licence,
    ships: compiled.has(name),
  }));
}

const [npm, cargo] = [npmDependencies(), crateDependencies()];
const problems = refused([...npm, ...cargo]);
for (const problem of problems) console.error(problem);
const shipping = [...npm, ...cargo].filter(({ ships }) => ships).length;
console.log(`${npm.length} packages and ${cargo.length} crates, ${shipping} of which users get`);
process.exitCode = problems.length === 0 ? 0 : 1;

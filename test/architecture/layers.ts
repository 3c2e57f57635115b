import { MAX_FILES, MAX_LINES, ROOMS, type Room, SUITES } from './table.ts';

/** Source files by their path below the root of the repository. */
export type SourceFiles = ReadonlyMap<string, string>;

/** One broken rule, in words. */
export type Violation = string;

type Rooms = Readonly<Record<string, Room>>;

const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** Paths below the root, and packages, that a file imports. */
function importsOf(
  path: string,
  source: string,
): readonly { readonly from: string; readonly internal: boolean }[] {
  // Statements only: the keyword opens a line, so text in comments and strings does not count.
  const statement = /^\s*(?:import|export)\b(?:[^'";]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
  const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g;
  const worker = /new URL\(\s*['"](\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url/g;
  return [statement, dynamic, worker]
    .flatMap((pattern) => [...source.matchAll(pattern)])
    .map((match) => match[1] ?? '')
    .map((specifier) =>
      specifier.startsWith('.')
        ? { from: new URL(specifier, `file:///${path}`).pathname.slice(1), internal: true }
        : { from: specifier, internal: false },
    );
}

/** The room of a path below src: the longest row that begins it. */
function roomOf(path: string, rooms: Rooms): string | undefined {
  // A test stands where its subject does.
  const inside = path.replace(/^src\//, '').replace(/\.test\.ts$/, '.ts');
  return Object.keys(rooms)
    .filter((row) => inside === row || inside.startsWith(`${row}/`))
    .reduce<string | undefined>(
      (longest, row) => (row.length > (longest?.length ?? 0) ? row : longest),
      undefined,
    );
}

/** Imports of `src` that point up, sideways without being listed, out of `src`, or at the addon from a wrong place. */
export function findLayerViolations(files: SourceFiles, rooms: Rooms = ROOMS): readonly Violation[] {
  const order = Object.keys(rooms);
  const folderOf = (room: string): string => room.split('/', 1)[0] ?? room;
  const isAbove = (target: string, own: string): boolean =>
    order.indexOf(target) > order.indexOf(own) && folderOf(target) !== folderOf(own);
  const violations: Violation[] = [];
  for (const [path, source] of files) {
    if (!path.startsWith('src/')) continue;
    const own = roomOf(path, rooms);
    if (own === undefined) {
      violations.push(`${path}: no row of the table of rooms has it`);
      continue;
    }
    for (const { from, internal } of importsOf(path, source)) {
      if (!internal) {
        if (from.startsWith('@chain-query/native') && own !== 'executor') {
          violations.push(`${path}: only executor may import @chain-query/native`);
        }
        continue;
      }
      if (isTest(path) && from.startsWith('test/support/')) continue;
      const target = files.has(from) ? roomOf(from, rooms) : undefined;
      if (target === own) continue;
      if (target === undefined) violations.push(`${path}: imports ${from}, which is not in src`);
      // A test may build its subject from anything below it and beside it; code that ships needs the table.
      else if (isTest(path) ? isAbove(target, own) : !rooms[own]?.imports.includes(target))
        violations.push(`${path}: ${own} may not import ${target}`);
    }
  }
  return violations;
}

/** What a package may import beside its own files. */
const PEER = /^viem(?:\/|$)/;

/** Imports of `packages` that leave the package, or name a dependency that its users do not have. */
export function findPackageViolations(files: SourceFiles): readonly Violation[] {
  const folderOf = (path: string): string | undefined => /^packages\/[^/]+\//.exec(path)?.[0];
  return [...files].flatMap(([path, source]) => {
    const own = folderOf(path);
    if (own === undefined) return [];
    return importsOf(path, source)
      .filter(({ from, internal }) => (internal ? !from.startsWith(own) : !isTest(path) && !PEER.test(from)))
      .map(({ from }) => `${path}: a package may not import ${from}`);
  });
}

/** Rows of the table that contradict its order, or list what no file of the room imports. */
export function findTableErrors(files: SourceFiles, rooms: Rooms = ROOMS): readonly Violation[] {
  const used = new Set<string>();
  for (const [path, source] of files) {
    if (isTest(path) || !path.startsWith('src/')) continue;
    const own = roomOf(path, rooms);
    for (const { from, internal } of importsOf(path, source)) {
      if (internal) used.add(`${own} → ${roomOf(from, rooms)}`);
    }
  }
  const order = Object.keys(rooms);
  return Object.entries(rooms).flatMap(([name, { imports }]) =>
    imports.flatMap((target) => {
      if (!order.slice(0, order.indexOf(name)).includes(target))
        return [`${name} lists ${target}, which does not stand before it`];
      return used.has(`${name} → ${target}`) ? [] : [`${name} lists ${target}, which it does not import`];
    }),
  );
}

/** Imports of tests from other suites that are not listed, and of test support from any suite. */
export function findSuiteViolations(files: SourceFiles): readonly Violation[] {
  const suiteOf = (path: string): string | undefined => /^test\/([^/]+)\//.exec(path)?.[1];
  const used = new Set<string>();
  const violations: Violation[] = [];
  for (const [path, source] of files) {
    const own = suiteOf(path);
    if (own === undefined) continue;
    const allowed = own === 'support' ? [] : SUITES[own];
    if (allowed === undefined) {
      violations.push(`${path}: ${own} is not in the table of suites`);
      continue;
    }
    for (const { from, internal } of importsOf(path, source)) {
      const target = internal ? suiteOf(from) : undefined;
      if (target === undefined || target === own || target === 'support' || !files.has(from)) continue;
      used.add(`${own} → ${target}`);
      if (!allowed.includes(target)) violations.push(`${path}: ${own} may not use ${target}`);
    }
  }
  for (const [suite, others] of Object.entries(SUITES)) {
    for (const other of others) {
      if (!used.has(`${suite} → ${other}`)) violations.push(`${suite} lists ${other}, which it does not use`);
    }
  }
  return violations;
}

/** Import cycles between files, each reported once as a path. */
export function findCycles(files: SourceFiles): readonly Violation[] {
  return cyclesOf(files.keys(), (path) =>
    importsOf(path, files.get(path) ?? '')
      .filter(({ from, internal }) => internal && files.has(from))
      .map(({ from }) => from),
  );
}

/** Cycles of a graph of files, each reported once as a path. */
export function cyclesOf(
  paths: Iterable<string>,
  targetsOf: (path: string) => readonly string[],
): readonly Violation[] {
  const cycles: Violation[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    if (done.has(path)) return;
    const start = trail.indexOf(path);
    if (start >= 0) {
      cycles.push([...trail.slice(start), path].join(' → '));
      return;
    }
    trail.push(path);
    for (const target of targetsOf(path)) visit(target);
    trail.pop();
    done.add(path);
  };
  for (const path of paths) visit(path);
  return cycles;
}

/** Files longer than `MAX_LINES`. */
export function findLongFiles(files: SourceFiles): readonly Violation[] {
  return [...files]
    .map(([path, source]) => ({ path, lines: source.split('\n').length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines, at most ${MAX_LINES}`);
}

/** Folders with more source files than `MAX_FILES`, tests and rooms not counted. */
export function findLargeFolders(files: SourceFiles): readonly Violation[] {
  const folders = Map.groupBy(
    [...files.keys()].filter((path) => !isTest(path)),
    (path) => path.slice(0, path.lastIndexOf('/')),
  );
  return [...folders]
    .filter(([, { length }]) => length > MAX_FILES)
    .map(([folder, { length }]) => `${folder}: ${length} files, at most ${MAX_FILES}`);
}

/** Support for tests, by its name, that stands where it would ship. */
export function findShippedSupport(files: SourceFiles): readonly Violation[] {
  return [...files.keys()]
    .filter((path) => path.startsWith('src/') && !isTest(path))
    .filter((path) => /\/(?:fixture|test|mock|fake)s?(?:-[^/]*)?\.ts$/.test(path))
    .map((path) => `${path}: support for tests belongs in test/support`);
}

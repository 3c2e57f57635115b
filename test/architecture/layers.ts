/** A folder (or file) of src, the height it stands at, and what it may import. */
interface Layer {
  readonly height: number;
  readonly imports: readonly string[];
}

const FOUNDATION = ['primitives', 'chain', 'telemetry', 'config'] as const;
const STAGES = ['source', 'executor', 'store', 'feed'] as const;

/** The layout of src. Imports point down; a sideways one must be listed here. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  primitives: { height: 0, imports: [] },
  chain: { height: 1, imports: ['primitives'] },
  telemetry: { height: 1, imports: ['primitives'] },
  config: { height: 1, imports: ['primitives'] },
  source: { height: 2, imports: FOUNDATION },
  executor: { height: 2, imports: FOUNDATION },
  store: { height: 2, imports: FOUNDATION },
  feed: { height: 2, imports: FOUNDATION },
  dev: { height: 3, imports: FOUNDATION },
  ingest: { height: 3, imports: [...FOUNDATION, ...STAGES] },
  head: { height: 3, imports: [...FOUNDATION, 'executor', 'store', 'feed'] },
  methods: { height: 4, imports: [...FOUNDATION, 'executor', 'store', 'head'] },
  subscriptions: { height: 5, imports: [...FOUNDATION, 'store', 'feed', 'head', 'methods'] },
  rpc: { height: 6, imports: [...FOUNDATION, 'head', 'methods', 'subscriptions'] },
  'serving-thread-messages.ts': { height: 3, imports: [...FOUNDATION, 'feed'] },
  'thread-state.ts': {
    height: 4,
    imports: [...FOUNDATION, 'executor', 'store', 'ingest', 'serving-thread-messages.ts'],
  },
  'serving-thread.ts': {
    height: 7,
    imports: [
      ...FOUNDATION,
      ...STAGES,
      'head',
      'methods',
      'subscriptions',
      'rpc',
      'serving-thread-messages.ts',
      'thread-state.ts',
    ],
  },
  'thread-questions.ts': {
    height: 4,
    imports: [...FOUNDATION, 'executor', 'serving-thread-messages.ts'],
  },
  'serving-threads.ts': {
    height: 8,
    imports: [
      ...FOUNDATION,
      'executor',
      'feed',
      'serving-thread-messages.ts',
      'serving-thread.ts',
      'thread-questions.ts',
    ],
  },
  'node.ts': {
    height: 9,
    imports: [...FOUNDATION, ...STAGES, 'ingest', 'rpc', 'serving-thread-messages.ts', 'serving-threads.ts'],
  },
  cli: { height: 10, imports: [...FOUNDATION, ...STAGES, 'dev', 'ingest', 'node.ts'] },
};

/** The longest file that needs no second thought about its shape. */
export const MAX_LINES = 400;

/** Source files by their path below src. */
export type SourceFiles = ReadonlyMap<string, string>;

/** One broken rule, in words. */
export type Violation = string;

/** Paths below src, and packages, that a file imports. */
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

/** A test may build its subject from anything below it; code that ships needs the table. */
function isAllowed(path: string, layer: Layer, target: string): boolean {
  if (layer.imports.includes(target)) return true;
  return path.endsWith('.test.ts') && (LAYERS[target]?.height ?? Number.POSITIVE_INFINITY) < layer.height;
}

/** The layer a path stands in: its first folder, or the file itself at the top, whose test stands beside it. */
function layerOf(path: string): string {
  return (path.split('/')[0] ?? path).replace(/\.test\.ts$/, '.ts');
}

/** Imports that point up, sideways without being listed, out of src, or at the addon from a wrong place. */
export function findLayerViolations(files: SourceFiles): readonly Violation[] {
  const violations: Violation[] = [];
  for (const [path, source] of files) {
    const own = layerOf(path);
    const layer = LAYERS[own];
    if (layer === undefined) {
      violations.push(`${path}: ${own} is not in the table of layers`);
      continue;
    }
    for (const { from, internal } of importsOf(path, source)) {
      if (!internal) {
        if (from.startsWith('@chain-query/native') && own !== 'executor') {
          violations.push(`${path}: only executor may import @chain-query/native`);
        }
        continue;
      }
      const target = layerOf(from);
      if (target === own) continue;
      if (!files.has(from)) violations.push(`${path}: imports ${from}, which is not in src`);
      else if (!isAllowed(path, layer, target)) violations.push(`${path}: ${own} may not import ${target}`);
    }
  }
  return violations;
}

/** Import cycles between files, each reported once as a path. */
export function findCycles(files: SourceFiles): readonly Violation[] {
  const cycles: Violation[] = [];
  const done = new Set<string>();
  const trail: string[] = [];

  function visit(path: string): void {
    if (done.has(path)) return;
    const start = trail.indexOf(path);
    if (start >= 0) {
      cycles.push([...trail.slice(start), path].join(' → '));
      return;
    }
    trail.push(path);
    for (const { from, internal } of importsOf(path, files.get(path) ?? '')) {
      if (internal && files.has(from)) visit(from);
    }
    trail.pop();
    done.add(path);
  }

  for (const path of files.keys()) visit(path);
  return cycles;
}

/** Files longer than `MAX_LINES`. */
export function findLongFiles(files: SourceFiles): readonly Violation[] {
  return [...files]
    .map(([path, source]) => ({ path, lines: source.split('\n').length - 1 }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines, at most ${MAX_LINES}`);
}

/** Rows of the table that contradict their heights. */
export function findTableErrors(): readonly Violation[] {
  return Object.entries(LAYERS).flatMap(([name, { height, imports }]) =>
    imports
      .filter((target) => (LAYERS[target]?.height ?? Number.POSITIVE_INFINITY) >= height)
      .map((target) => `${name} (${height}) lists ${target}, which does not stand below it`),
  );
}

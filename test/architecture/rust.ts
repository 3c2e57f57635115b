import { cyclesOf, type SourceFiles, type Violation } from './layers.ts';
import { CRATE, MODULES } from './table.ts';

/** The module of a file of the core: the first folder, or the file itself; undefined for `lib.rs`, which only lists them. */
function moduleOf(path: string): string | undefined {
  const inside = path.slice(CRATE.length);
  return inside === 'lib.rs' ? undefined : inside.split('/')[0]?.replace(/(?:_tests)?\.rs$/, '');
}

/** The modules that a file names by `crate::`. */
function namedBy(source: string): ReadonlySet<string> {
  const code = source.replaceAll(/\/\/.*$/gm, '');
  const single = [...code.matchAll(/\bcrate::(\w+)/g)].map((match) => match[1] ?? '');
  const listed = [...code.matchAll(/\bcrate::\{([^;]*)\};/g)].flatMap((match) =>
    [...(match[1] ?? '').matchAll(/(?:^|,)\s*(\w+)/g)].map((item) => item[1] ?? ''),
  );
  return new Set([...single, ...listed]);
}

/** Uses of modules that stand below, or that the table does not list; and rows that list what is not used. */
export function findModuleViolations(
  files: SourceFiles,
  modules: Readonly<Record<string, readonly string[]>> = MODULES,
): readonly Violation[] {
  const order = Object.keys(modules);
  const used = new Set<string>();
  const violations: Violation[] = [];
  for (const [path, source] of files) {
    const own = path.startsWith(CRATE) ? moduleOf(path) : undefined;
    if (own === undefined) continue;
    if (!order.includes(own)) {
      violations.push(`${path}: ${own} is not in the table of modules`);
      continue;
    }
    for (const target of namedBy(source)) {
      // Random numbers for tests inside the crate.
      if (target === own || target === 'random') continue;
      used.add(`${own} → ${target}`);
      if (!modules[own]?.includes(target)) violations.push(`${path}: ${own} may not use ${target}`);
    }
  }
  for (const [name, uses] of Object.entries(modules)) {
    for (const target of uses) {
      if (order.indexOf(target) >= order.indexOf(name) || !order.includes(target))
        violations.push(`${name} lists ${target}, which does not stand before it`);
      else if (!used.has(`${name} → ${target}`))
        violations.push(`${name} lists ${target}, which it does not use`);
    }
  }
  return violations;
}

/** Files of one module that use each other in a circle, each reported once as a path. */
export function findRustCycles(files: SourceFiles): readonly Violation[] {
  const byModule = new Map(
    [...files.keys()].filter((path) => path.startsWith(CRATE)).map((path) => [keyOf(path), path]),
  );
  const codeOf = (path: string): string => (files.get(path) ?? '').replaceAll(/\/\/.*$/gm, '');
  const targets = (path: string): string[] =>
    [...codeOf(path).matchAll(/\b(crate|super)::((?:\w+::)*\w+)/g)].flatMap((match) => {
      const above = match[1] === 'super' ? keyOf(path).split('::').slice(0, -1) : [];
      const parts = [...above, ...(match[2] ?? '').split('::')];
      for (let length = parts.length; length > 0; length--) {
        const found = byModule.get(parts.slice(0, length).join('::'));
        if (found !== undefined && found !== path) return [found];
      }
      return [];
    });
  return cyclesOf(
    [...byModule.values()].filter((path) => !path.endsWith('_tests.rs')),
    targets,
  );
}

function keyOf(path: string): string {
  return path
    .slice(CRATE.length)
    .replace(/\/mod\.rs$/, '')
    .replace(/\.rs$/, '')
    .replaceAll('/', '::');
}

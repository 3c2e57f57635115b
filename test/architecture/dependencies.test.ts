import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/dependencies.md');

function npmDependencies(): readonly string[] {
  const manifest = JSON.parse(read('package.json')) as Record<string, object>;
  const lists = ['dependencies', 'optionalDependencies', 'peerDependencies', 'devDependencies'];
  return [...new Set(lists.flatMap((list) => Object.keys(manifest[list] ?? {})))];
}

/** Names of the `[…dependencies]` tables of every crate, our own crates left out. */
function crateDependencies(): readonly string[] {
  const names = globSync('native/crates/*/Cargo.toml', { cwd: root.pathname }).flatMap((path) =>
    read(path)
      .split(/^\[/m)
      .filter((table) => /^[\w-]*dependencies\]/.test(table))
      .flatMap((table) =>
        [...table.matchAll(/^([\w-]+)(?:\.workspace)? *=/gm)].map((match) => match[1] ?? ''),
      ),
  );
  return [...new Set(names)].filter((name) => !name.startsWith('chain-query-'));
}

it('reads both lists', () => {
  expect(npmDependencies()).toContain('lmdb');
  expect(crateDependencies()).toContain('revm');
});

it('finds a reason for every dependency in docs/dependencies.md', () => {
  const missing = [...npmDependencies(), ...crateDependencies()].filter(
    (name) => !page.includes(`\`${name}\``),
  );
  expect(missing).toEqual([]);
});

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const pages = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'test/data/*.md'], { cwd: root }).filter(
  (path) => path !== 'CHANGELOG.md',
);
const files = globSync('{src,packages,test,bench,scripts,native,web,docs/.vitepress}/**/*.{ts,tsx,mjs,rs}', {
  cwd: root,
  exclude: (path) => path.includes('node_modules') || path.includes('target'),
});

it('reads both', () => {
  expect(pages).toContain('ARCHITECTURE.md');
  expect(files).toContain('src/primitives/hex.ts');
});

it('has pages that only name files that are there', () => {
  const missing = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/`([\w./-]+\.(?:ts|mjs|rs))`/g)]
      .map(([, name = '']) => name)
      .filter((name) => !files.some((path) => path === name || path.endsWith(`/${name}`)))
      .map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

it('has links that lead somewhere', () => {
  const broken = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([\w./-]+)(?:#[\w-]+)?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !existsSync(join(root, dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});

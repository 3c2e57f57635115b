import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { siteLink } from '../../docs/.vitepress/links.ts';
import { PROJECT_PAGES } from '../../docs/.vitepress/project-pages.ts';
import { listedPages } from '../../docs/.vitepress/sidebar.ts';
import { slugOf } from '../../docs/.vitepress/slug.ts';

const root = new URL('../../', import.meta.url).pathname;
const pages = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'deploy/*.md'], { cwd: root });

/** The anchors of a page: of its headings, those that come again with a number. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = readFileSync(join(root, path), 'utf8').replaceAll(/^( *)```.*?^\1```/gms, '');
  const seen = new Map<string, number>();
  return new Set(
    Array.from(text.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) => {
      const slug = slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
      const count = seen.get(slug) ?? 0;
      seen.set(slug, count + 1);
      return count === 0 ? slug : `${slug}-${count}`;
    }),
  );
}

it('has anchors that lead to a heading', () => {
  const links = pages.flatMap((page) =>
    Array.from(
      readFileSync(join(root, page), 'utf8').matchAll(/\]\(([\w./-]*)#([^)\s]+)\)/g),
      ([, path = '', anchor = '']) => ({
        page,
        target: path === '' ? page : join(dirname(page), path),
        anchor,
      }),
    ),
  );
  expect(links.length).toBeGreaterThan(50);
  const broken = links.filter(
    ({ target, anchor }) => !existsSync(join(root, target)) || !anchorsOf(target).has(anchor),
  );
  expect(broken.map(({ page, target, anchor }) => `${page}: ${target}#${anchor}`)).toEqual([]);
});

it('lists every page in the sidebar', () => {
  const listed = listedPages();
  const own = globSync('docs/**/*.md', { cwd: root })
    .map((path) => path.slice('docs/'.length))
    .filter((path) => !path.includes('['));
  expect(own.filter((path) => !listed.has(path))).toEqual([]);
});

it('leads links of the repository to pages of the site', () => {
  expect(siteLink('following.md', 'endpoints.md#tls')).toEqual({ to: '/endpoints#tls' });
  expect(siteLink('recipes/indexer.md', '../../packages/client/README.md')).toEqual({
    to: '/project/client',
  });
  expect(siteLink('project/architecture.md', 'docs/feed.md')).toEqual({ to: '/feed' });
  expect(siteLink('project/client.md', '../../README.md')).toEqual({ to: '/' });
  expect(siteLink('project/architecture.md', 'test/data/README.md')).toBe('none');
  expect(siteLink('http.md', 'https://example.org/a')).toEqual({ to: 'https://example.org/a' });
  expect(() => siteLink('http.md', 'gone.md')).toThrow(
    'docs/http.md has a link to docs/gone.md, which is not there',
  );
  expect(Object.keys(PROJECT_PAGES)).toContain('architecture');
});

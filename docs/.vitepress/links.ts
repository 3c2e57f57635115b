import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MarkdownRenderer } from 'vitepress';
import { PROJECT_PAGES } from './project-pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Where files can be read that the site does not have, such as tests. Without it, their names are no links. */
const REPOSITORY = process.env['DOCS_REPOSITORY'];

type Link = { readonly to: string } | 'none';

/** Where a link of a page leads on the site; pages are written so that links work in the repository. */
export function siteLink(page: string, href: string): Link {
  if (/^[a-z]+:|^#|^\//.test(href)) return { to: href };
  const [path = '', anchor] = href.split('#');
  const [folder, name = ''] = page.split('/');
  const source = folder === 'project' ? PROJECT_PAGES[name.replace(/\.md$/, '')] : `docs/${page}`;
  if (source === undefined) throw new Error(`${page} is of no page of the repository`);
  const target = posix.join(posix.dirname(source), path);
  if (!existsSync(root + target)) throw new Error(`${source} has a link to ${target}, which is not there`);
  const end = anchor === undefined ? '' : `#${anchor}`;
  const project = Object.entries(PROJECT_PAGES).find(([, file]) => file === target);
  if (project !== undefined) return { to: `/project/${project[0]}${end}` };
  if (target === 'README.md' || target === 'docs/index.md') return { to: `/${end}` };
  if (target.startsWith('docs/'))
    return { to: `/${target.slice('docs/'.length).replace(/\.md$/, '')}${end}` };
  return REPOSITORY === undefined ? 'none' : { to: `${REPOSITORY}/blob/main/${target}${end}` };
}

/** Has links of all pages lead where they should on the site. */
export function linksOfTheRepository(md: MarkdownRenderer): void {
  md.core.ruler.push('links-of-the-repository', (state) => {
    const { relativePath: page } = state.env as { relativePath?: string };
    if (page === undefined) return;
    for (const { children } of state.tokens) {
      let isHidden = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const link = siteLink(page, token.attrGet('href') ?? '');
          isHidden = link === 'none';
          if (link !== 'none') token.attrSet('href', link.to);
        }
        if (isHidden && token.type.startsWith('link_')) {
          isHidden = token.type === 'link_open';
          token.type = 'text';
          token.content = '';
          token.tag = '';
          token.nesting = 0;
        }
      }
    }
  });
}

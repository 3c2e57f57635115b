import { defineConfig } from 'vitepress';
import { breakableNames } from './breakable-names.ts';
import { drawings } from './drawings.ts';
import { linksOfTheRepository } from './links.ts';
import { sidebar } from './sidebar.ts';
import { slugOf } from './slug.ts';

const WIDE = new Set(
  ['options', 'limits', 'errors', 'observability', 'chains', 'methods', 'differential', 'endpoints'].map(
    (name) => `${name}.md`,
  ),
);

// A site of files alone: no address of ours is called, nothing is counted, the search runs in the browser.
export default defineConfig({
  title: 'Chain Query',
  description:
    'A read node for Ethereum and OP-stack chains: executes, verifies, and answers, pre-confirmed state included.',
  base: process.env['DOCS_BASE'] ?? '/',
  lang: 'en',
  head: [
    ['link', { rel: 'icon', href: `${process.env['DOCS_BASE'] ?? '/'}icon.svg`, type: 'image/svg+xml' }],
  ],
  // Headings have the names that they have where the pages are read in the repository.
  markdown: {
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    config: (md) => {
      md.use(linksOfTheRepository);
      md.use(drawings);
      md.use(breakableNames);
    },
  },
  // Tables of a reference need the room that the outline would take.
  transformPageData: (page) => {
    if (WIDE.has(page.relativePath)) Object.assign(page.frontmatter, { aside: false, pageClass: 'wide' });
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/getting-started', activeMatch: '^/getting-started' },
      { text: 'Concepts', link: '/concepts/snapshots', activeMatch: '^/concepts/' },
      { text: 'Recipes', link: '/recipes/indexer', activeMatch: '^/recipes/' },
      { text: 'Methods', link: '/methods', activeMatch: '^/methods' },
      {
        text: 'Reference',
        link: '/options',
        activeMatch: '^/(options|limits|errors|alerts|observability|chains)',
      },
    ],
    sidebar: sidebar(),
    footer: { message: 'Apache-2.0' },
  },
  vite: {
    build: { chunkSizeWarningLimit: 4_000 },
  },
});

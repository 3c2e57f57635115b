import { defineConfig } from 'vitepress';
import { drawings } from './drawings.ts';
import { linksOfTheRepository } from './links.ts';
import { namesInCode, WIDE_PAGES } from './names-in-code.ts';
import { sidebar } from './sidebar.ts';
import { slugOf } from './slug.ts';

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
      md.use(namesInCode);
    },
  },
  transformPageData: (page) => {
    if (WIDE_PAGES.has(page.relativePath))
      Object.assign(page.frontmatter, { aside: false, pageClass: 'wide' });
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

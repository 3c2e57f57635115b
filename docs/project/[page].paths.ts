import { existsSync, readFileSync } from 'node:fs';
import { PROJECT_PAGES } from '../.vitepress/project-pages.ts';

const root = new URL('../../', import.meta.url);

// Pages that stand where people of a repository look for them.
export default {
  paths: () =>
    Object.entries(PROJECT_PAGES)
      .map(([page, path]) => ({ page, file: new URL(path, root) }))
      .filter(({ file }) => existsSync(file))
      .map(({ page, file }) => ({ params: { page }, content: readFileSync(file, 'utf8') })),
};

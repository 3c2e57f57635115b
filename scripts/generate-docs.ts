// Writes the pages that follow from code. With --check, writes nothing and fails if a page has drifted.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { renderOptionsPage } from '../src/config/render.ts';
import { renderMethodDocs } from '../src/methods/method-docs.ts';
import { createMethods } from '../src/methods/registry.ts';
import { SUBSCRIPTION_METHODS } from '../src/subscriptions/subscribe-methods.ts';

const PAGES = [
  { path: 'docs/options.md', render: renderOptionsPage },
  {
    path: 'docs/methods.md',
    render: () => renderMethodDocs(createMethods('', SUBSCRIPTION_METHODS).values()),
  },
];

const checkOnly = process.argv.includes('--check');
const root = new URL('../', import.meta.url);

function readIfPresent(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

mkdirSync(new URL('docs/', root), { recursive: true });
for (const { path, render } of PAGES) {
  const file = new URL(path, root);
  const content = render();
  if (readIfPresent(file) === content) continue;
  if (checkOnly) {
    console.error(`${path} has drifted; run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, content);
    console.log(`wrote ${path}`);
  }
}

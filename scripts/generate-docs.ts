// Writes the pages that follow from code. With --check, writes nothing and fails if a page has drifted.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { renderExitCodes } from '../src/cli/exit-codes.ts';
import { renderOptionsPage, renderProfileSettings } from '../src/config/render.ts';
import { filterMethods } from '../src/methods/filters/filter-methods.ts';
import { renderMethodDocs, renderMethodPage } from '../src/methods/method-docs.ts';
import { createMethods } from '../src/methods/registry.ts';
import { renderChainsPage } from '../src/rules/describe.ts';
import { SUBSCRIPTION_METHODS } from '../src/subscriptions/subscribe-methods.ts';
import { renderModules, renderRooms } from '../test/architecture/render.ts';
import { exampleOf } from './method-examples.ts';
import { renderAlerts } from './reference/alerts.ts';
import { renderErrors } from './reference/errors.ts';
import { renderLimits, renderProfileLimits } from './reference/limits.ts';

/** Only their documentation is read. */
const FILTER_METHODS = filterMethods({
  hasNothingNew: () => false,
  ask: () => Promise.reject(new Error('nobody keeps filters here')),
  tell: () => {},
});

const METHODS = [...createMethods('', [...SUBSCRIPTION_METHODS, ...FILTER_METHODS]).values()];
const root = new URL('../', import.meta.url);

const PAGES = [
  { path: 'docs/options.md', render: renderOptionsPage },
  partsOf('docs/endpoints.md', { settings: renderProfileSettings }),
  partsOf('docs/limits.md', { 'profile-limits': renderProfileLimits, limits: renderLimits }),
  partsOf('docs/errors.md', { errors: renderErrors }),
  partsOf('docs/alerts.md', { alerts: () => renderAlerts(read('deploy/prometheus/alerts.yml')) }),
  partsOf('docs/cli.md', { 'exit codes': renderExitCodes }),
  { path: 'docs/chains.md', render: renderChainsPage },
  { path: 'docs/methods.md', render: () => renderMethodDocs(METHODS) },
  ...METHODS.map((method) => ({
    path: `docs/methods/${method.name}.md`,
    render: async () => renderMethodPage(method, await exampleOf(method, root)),
  })),
  partsOf('ARCHITECTURE.md', { rooms: renderRooms, modules: renderModules }),
];

const checkOnly = process.argv.includes('--check');

function readIfPresent(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

/** A page that people write, but for parts of it that are made. */
function partsOf(path: string, parts: Readonly<Record<string, () => string>>) {
  const render = (): string =>
    Object.entries(parts).reduce((page, [name, made]) => replaceBetween(page, name, made()), read(path));
  return { path, render };
}

/** A page with something else between the comments `<!-- name -->` and `<!-- /name -->`. */
function replaceBetween(page: string, name: string, text: string): string {
  const [open, close] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(open), page.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`there is no part ${name}`);
  return `${page.slice(0, from + open.length)}${text}\n${page.slice(to)}`;
}

mkdirSync(new URL('docs/methods/', root), { recursive: true });
for (const { path, render } of PAGES) {
  const file = new URL(path, root);
  const content = await render();
  if (readIfPresent(file) === content) continue;
  if (checkOnly) {
    console.error(`${path} has drifted; run npm run docs`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, content);
    console.log(`wrote ${path}`);
  }
}

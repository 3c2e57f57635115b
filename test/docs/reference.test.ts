import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ERROR_CODES } from '../../scripts/reference/errors.ts';
import { isLimit } from '../../scripts/reference/limits.ts';
import { PROFILE_SETTINGS } from '../../src/config/profiles.ts';
import { flagOf, OPTION_ROWS, variableOf } from '../../src/config/rows.ts';
import { COMMANDS } from '../../src/config/spec.ts';
import { filterMethods } from '../../src/methods/filters/filter-methods.ts';
import { createMethods } from '../../src/methods/registry.ts';
import { CHAINS } from '../../src/rules/chains.ts';
import { SUBSCRIPTION_METHODS } from '../../src/subscriptions/subscribe-methods.ts';
import { REFUSALS } from '../../src/telemetry/refusal-counter.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const sources = globSync(['src/**/*.ts', 'native/crates/*/src/**/*.rs'], { cwd: root.pathname })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => [path, read(path)] as const);

/** All first groups of a pattern in sources whose paths begin so. */
function inSources(pattern: RegExp, begins = ''): readonly string[] {
  const found = sources
    .filter(([path]) => path.startsWith(begins))
    .flatMap(([, text]) => Array.from(text.matchAll(pattern), ([, group = '']) => group));
  return [...new Set(found)].sort();
}

/** What of a list a page does not have in code marks. */
function missingIn(page: string, names: Iterable<string>): readonly string[] {
  const text = read(page);
  return [...names].filter((name) => !text.includes(`\`${name}\``));
}

/** The first cells of the rows of tables below a heading, code marks left out. */
function firstCells(page: string, heading: string): readonly string[] {
  const part = read(page).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return Array.from(part.matchAll(/^\| ([^|]*) \|/gm), ([, cell = '']) => cell).flatMap((cell) =>
    Array.from(cell.matchAll(/`([^`]+)`|^(\d+)$/g), ([, code, number]) => code ?? number ?? ''),
  );
}

describe('options', () => {
  it('are all on their page, with variable and key', () => {
    expect(OPTION_ROWS.length).toBeGreaterThan(100);
    const page = read('docs/options.md');
    const missing = OPTION_ROWS.filter(
      ([name]) => !page.includes(`| \`${flagOf(name)}`) || !page.includes(`\`${variableOf(name)}\``),
    );
    expect(missing.map(([name]) => name)).toEqual([]);
  });

  it('of profiles are all on theirs', () => {
    expect(missingIn('docs/endpoints.md', Object.keys(PROFILE_SETTINGS))).toEqual([]);
  });

  it('that bound something are all among the limits', () => {
    const limits = OPTION_ROWS.filter(([name, spec]) => isLimit(name, spec));
    expect(limits.length).toBeGreaterThan(40);
    expect(
      missingIn(
        'docs/limits.md',
        limits.map(([name]) => flagOf(name)),
      ),
    ).toEqual([]);
  });

  it('that pages name are there', () => {
    const known = new Set(OPTION_ROWS.map(([name]) => flagOf(name)));
    const pages = globSync('{README.md,docs/**/*.md}', { cwd: root.pathname }).filter(
      // Those name options of other programs: of clients that are moved from, of tests, of tools.
      (path) =>
        !/docs\/(?:moving|adr)\/|docs\/(?:benchmarks|differential|native-core|memory|attacks|clients|dev)\.md/.test(
          path,
        ),
    );
    const named = pages.flatMap((path) =>
      Array.from(
        read(path).matchAll(/`(?:chain-query [a-z ]+)?(--[a-z][a-z-]+)[^`]*`/g),
        ([, flag = '']) => `${path}: ${flag}`,
      ),
    );
    expect(named.length).toBeGreaterThan(100);
    const others = new Set([
      '--help',
      '--version',
      '--max-old-space-size',
      '--project',
      '--full',
      '--seed',
      '--fleet',
      '--ignore-scripts',
      '--omit',
    ]);
    expect(
      [...new Set(named)].filter((line) => {
        const flag = line.split(': ')[1] ?? '';
        return !known.has(flag) && !others.has(flag);
      }),
    ).toEqual([]);
  });
});

it('commands are all in the README', () => {
  expect(Object.keys(COMMANDS).filter((name) => !read('README.md').includes(`\`${name}`))).toEqual([]);
});

it('methods are all in the table, and have a page each', () => {
  const filters = filterMethods({
    hasNothingNew: () => false,
    ask: () => Promise.reject(new Error('nobody keeps filters here')),
    tell: () => {},
  });
  const names = [...createMethods('', [...SUBSCRIPTION_METHODS, ...filters]).keys()];
  expect(names.length).toBeGreaterThan(50);
  const table = read('docs/methods.md');
  expect(names.filter((name) => !table.includes(`](methods/${name}.md)`))).toEqual([]);
  const pages = globSync('docs/methods/*.md', { cwd: root.pathname }).map((path) =>
    path.slice('docs/methods/'.length, -3),
  );
  expect(pages.sort()).toEqual([...names].sort());
});

it('chains are all on their page, by name and id', () => {
  const rows = read('docs/chains.md');
  expect(
    CHAINS.filter(({ name, config }) => !rows.includes(`| ${name} | ${config.chainId} |`)).map(
      ({ name }) => name,
    ),
  ).toEqual([]);
});

it('metrics of the source are those of their page', () => {
  const registered = [
    // A name with its help text, as the makers of metrics take them.
    ...inSources(/'((?:chain_query_)?[a-z][a-z_]+)',\s*(?:'|`)[A-Z1][^'`\n]*\.(?:'|`)/g),
    ...inSources(/(?:countersIn|gaugesIn|totalsIn)\(registry\)\(\s*'([a-z_]+)'/g),
    ...inSources(/(?:name:|NAME =) '(chain_query_\w+)'/g),
  ].map((name) => (name.startsWith('chain_query_') ? name : `chain_query_${name}`));
  expect(registered.length).toBeGreaterThan(100);
  expect(missingIn('docs/observability.md', registered)).toEqual([]);
  const listed = Array.from(
    read('docs/observability.md').matchAll(/^\| `(chain_query_\w+)` \|/gm),
    ([, name = '']) => name,
  );
  expect(listed.filter((name) => !registered.includes(name))).toEqual([]);
});

it('alerts of the rules have a part each, and no other has', () => {
  const { groups } = parse(read('deploy/prometheus/alerts.yml')) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  expect(alerts.length).toBeGreaterThan(10);
  expect(Array.from(read('docs/alerts.md').matchAll(/^## (\w+)$/gm), ([, name]) => name)).toEqual(alerts);
});

describe('errors', () => {
  it('are all in the table, by the name that they have in the source', () => {
    expect(ERROR_CODES.length).toBeGreaterThan(30);
    expect(missingIn('docs/errors.md', ERROR_CODES)).toEqual([]);
  });

  it('have no number in the source that the page leaves out', () => {
    const numbers = inSources(/code: (?:type\.standard \? 3 : )?(-3\d{4}|429|[345])\b/g, 'src/rpc');
    expect(numbers).toContain('-32002');
    expect(missingIn('docs/errors.md', numbers)).toEqual([]);
  });

  it('of simulations are those that the core gives', () => {
    const given = inSources(/(-38\d{3})/g, 'native/');
    expect(given.length).toBeGreaterThan(5);
    expect([...firstCells('docs/errors.md', 'eth_simulateV1')].sort()).toEqual(given);
  });

  it('of HTTP are those that the source has', () => {
    const given = inSources(
      /(?:status: |status: ready \? 200 : |HTTP\/1\.1 |answer\(|heads\.text\(|#refuse\(request, response, |#sendError\(response, )(4\d\d|503)\b/g,
      'src/rpc',
    );
    expect(given).toContain('405');
    const listed = firstCells('docs/errors.md', 'HTTP');
    expect(given.filter((status) => !listed.includes(status))).toEqual([]);
  });

  it('of WebSocket are those that connections are closed with', () => {
    const given = inSources(/code: ((?:10|40)\d\d),/g);
    expect(given).toContain('4009');
    const listed = firstCells('docs/errors.md', 'WebSocket');
    expect(given.filter((code) => !listed.includes(code))).toEqual([]);
  });

  it('of /readyz are the reasons that the source gives', () => {
    const given = [
      ...inSources(/reason: '(draining)'/g, 'src/node'),
      ...inSources(/reason: '(worker)'/g, 'src/telemetry'),
      ...inSources(/readonly reason: ('confirmed lag'[^;]*);/g).flatMap((union) =>
        Array.from(union.matchAll(/'([^']+)'/g), ([, word = '']) => word),
      ),
    ];
    expect([...firstCells('docs/errors.md', 'readyz')].sort()).toEqual(given.sort());
  });

  it('that were turned away have the reasons of the metric', () => {
    expect([...firstCells('docs/errors.md', 'What is turned away')].sort()).toEqual([...REFUSALS].sort());
  });
});

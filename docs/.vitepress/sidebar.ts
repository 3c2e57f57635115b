import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { DefaultTheme } from 'vitepress';
import { PROJECT_PAGES } from './project-pages.ts';

const docs = new URL('../', import.meta.url);

type Page = readonly [text: string, path: string];

/** Every page of the site, in the order in which it is read. */
const SECTIONS: readonly {
  readonly text: string;
  readonly isFolded?: true;
  readonly pages: readonly Page[];
}[] = [
  {
    text: 'Start',
    pages: [
      ['What it is', 'index'],
      ['Getting started', 'getting-started'],
      ['When not to use it', 'when-not'],
      ['A chain of your own', 'dev'],
      ['The command line', 'cli'],
      ['The dashboard', 'dashboard'],
    ],
  },
  {
    text: 'Concepts',
    pages: [
      ['Snapshots: one truth per request', 'concepts/snapshots'],
      ['Pre-confirmations', 'concepts/preconfirmations'],
      ['Anchors', 'concepts/anchors'],
      ['Verification', 'concepts/verification'],
      ['What is stored', 'concepts/storage'],
      ['One node, two nodes, a fleet', 'concepts/fleet'],
    ],
  },
  {
    text: 'Recipes',
    pages: [
      ['An indexer without gaps', 'recipes/indexer'],
      ['Reacting to pre-confirmations', 'recipes/preconfirmations-with-viem'],
      ['Ponder', 'recipes/ponder'],
      ['Behind a load balancer', 'recipes/load-balancer'],
      ['Two nodes without a cluster', 'recipes/two-nodes'],
      ['A fleet', 'recipes/fleet'],
    ],
  },
  {
    text: 'Moving here',
    pages: [
      ['From geth', 'moving/geth'],
      ['From reth', 'moving/reth'],
      ['From eRPC', 'moving/erpc'],
      ['From a provider', 'moving/provider'],
      ['Base: 200 ms blocks', 'base-200ms'],
    ],
  },
  {
    text: 'Reading the chain',
    pages: [
      ['Clients', 'clients'],
      ['@chain-query/client', 'project/client'],
      ['Subscriptions', 'subscriptions'],
      ['Logs in pages', 'log-pages'],
      ['Filters', 'filters'],
      ['Simulations', 'simulate'],
      ['Sending', 'sending'],
      ['HTTP: headers and health', 'http'],
    ],
  },
  {
    text: 'Running it',
    pages: [
      ['Following a chain', 'following'],
      ['Pre-confirmations in detail', 'preconfirmations'],
      ['Native contracts', 'native-contracts'],
      ['Endpoints', 'endpoints'],
      ['Security', 'security'],
      ['Deploying', 'deploying'],
      ['Upgrading', 'upgrading'],
      ['Backups: snapshots of a store', 'snapshots'],
      ['A fleet in detail', 'fleet'],
      ['The feed of a fleet', 'feed'],
      ['Planning', 'plan'],
      ['Alerts and the Grafana dashboard', 'project/watching'],
    ],
  },
  {
    text: 'Reference',
    pages: [
      ['Methods', 'methods'],
      ['Supported chains', 'chains'],
      ['Options', 'options'],
      ['Limits', 'limits'],
      ['Errors', 'errors'],
      ['Metrics, logs, traces', 'observability'],
      ['Alerts', 'alerts'],
      ['The contract', 'contract'],
      ['Against the official vectors', 'spec-compliance'],
      ['Against geth', 'differential'],
    ],
  },
  { text: 'Every method', isFolded: true, pages: methodPages() },
  {
    text: 'Inside',
    isFolded: true,
    pages: [
      ['Architecture', 'project/architecture'],
      ['The EVM core', 'native-core'],
      ['Memory', 'memory'],
      ['Scale', 'scale'],
      ['Benchmarks', 'benchmarks'],
      ['Logs at scale', 'logs-at-scale'],
      ['Attacks', 'attacks'],
      ['Dependencies', 'dependencies'],
      ['Contributing', 'project/contributing'],
      ['Reporting a weakness', 'project/security'],
      ['Changes', 'project/changelog'],
    ],
  },
  { text: 'Decisions', isFolded: true, pages: decisionPages() },
];

/** The sidebar. Pages that are not there yet are left out. */
export function sidebar(): DefaultTheme.SidebarItem[] {
  return SECTIONS.map(({ text, isFolded, pages }) => ({
    text,
    collapsed: isFolded ?? false,
    items: pages
      .filter(isThere)
      .map(([name, path]) => ({ text: name, link: path === 'index' ? '/' : `/${path}` })),
  }));
}

/** The pages that the sidebar leads to, as files of `docs`. */
export function listedPages(): ReadonlySet<string> {
  return new Set(SECTIONS.flatMap(({ pages }) => pages.filter(isThere).map(([, path]) => `${path}.md`)));
}

function isThere([, path]: Page): boolean {
  const [folder, name = ''] = path.split('/');
  const project = folder === 'project' ? PROJECT_PAGES[name] : undefined;
  return existsSync(project === undefined ? new URL(`${path}.md`, docs) : new URL(`../${project}`, docs));
}

function methodPages(): readonly Page[] {
  return namesIn('methods').map((name) => [name, `methods/${name}`]);
}

function decisionPages(): readonly Page[] {
  return namesIn('adr').map((name) => {
    const [title = name] = readFileSync(new URL(`adr/${name}.md`, docs), 'utf8').split('\n');
    return [title.replace(/^# /, ''), `adr/${name}`];
  });
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(new URL(`${folder}/`, docs))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    .sort((a, b) => a.localeCompare(b));
}

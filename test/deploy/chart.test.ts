import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { loadOptions } from '../../src/config/load.ts';
import { variableOf } from '../../src/config/rows.ts';
import { OPTIONS } from '../../src/config/table.ts';
import { CACHE, DEPLOY, run, tool } from './tools.ts';

interface Container {
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly resources: { readonly limits?: unknown; readonly requests?: unknown };
  readonly readinessProbe: { readonly httpGet: unknown };
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly replicas?: number;
    readonly type?: string;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly groups?: unknown;
    readonly template?: { readonly spec: PodSpec };
  };
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly securityContext: unknown;
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
}

const chart = join(DEPLOY, 'helm/chain-query');
const files = globSync('ci/*-values.yaml', { cwd: chart }).toSorted();
const folder = mkdtempSync(join(tmpdir(), 'chain-query-chart-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** What Secrets would give: each with a credential that must be in nothing that is rendered. */
const SECRETS: Readonly<Record<string, string>> = {
  CHAIN_QUERY_UPSTREAM: 'https://user:hidden@upstream.example,wss://two.example/hidden',
  CHAIN_QUERY_ARCHIVE: 'https://archive.example/hidden',
  CHAIN_QUERY_FLASHBLOCKS: 'wss://stream.example/hidden',
  CHAIN_QUERY_SEND_TO: 'https://sequencer.example/hidden',
  CHAIN_QUERY_FEED: 'nats://user:hidden@nats.example:4222',
  CHAIN_QUERY_OTLP: 'http://collector.example:4318/v1/traces',
};

// Built by `go install`, helm does not know the Kubernetes that it was made for.
const TEMPLATE = ['template', 'release', chart, '--kube-version', '1.30.0'];

function render(file: string, ...more: readonly string[]): readonly Resource[] {
  const text = run('helm', [...TEMPLATE, '-f', join(chart, file), ...more]);
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Resource | null)
    .filter((resource) => resource !== null);
}

/** What helm says of values that are wrong. */
function refusal(values: unknown, file = 'ci/single-values.yaml'): string {
  const path = join(folder, 'values.yaml');
  writeFileSync(path, stringify(values));
  const { status, stderr } = tool('helm', [...TEMPLATE, '-f', join(chart, file), '-f', path]);
  expect(status, 'helm takes it').not.toBe(0);
  return stderr;
}

const pods = (resources: readonly Resource[]): readonly PodSpec[] =>
  resources.map(({ spec }) => spec?.template?.spec).filter((spec) => spec !== undefined);

describe.each(files)('with %s', (file) => {
  const resources = render(file);

  it('is what helm lint and the schemas of Kubernetes allow', () => {
    expect(run('helm', ['lint', '--strict', chart, '-f', join(chart, file)])).toContain('0 chart(s) failed');
    const path = join(folder, basename(file));
    writeFileSync(path, resources.map((resource) => stringify(resource)).join('---\n'));
    run('kubectl-validate', [path, '--version', '1.30', '--local-crds', join(CACHE, 'schemas/crds')]);
  });

  it('has command lines that the program takes, with variables that are options', () => {
    for (const { containers } of pods(resources)) {
      const { args, env = [] } = containers[0];
      const [command, ...flags] = args;
      expect(['serve', 'ingest']).toContain(command);
      const known = Object.keys(OPTIONS).map((name) => variableOf(name as keyof typeof OPTIONS));
      for (const { name, value, valueFrom } of env) {
        expect(known).toContain(name);
        expect(value, `${name} in plain text`).toBeUndefined();
        expect(valueFrom).toHaveProperty('secretKeyRef.name');
      }
      const variables = Object.fromEntries(env.map(({ name }) => [name, SECRETS[name]]));
      const options = loadOptions(command === 'ingest' ? 'ingest' : 'serve', { args: flags, env: variables });
      expect(options.admin).toEqual({ host: '0.0.0.0', port: 8547 });
      expect(options.data ?? options.store).toBeDefined();
      if (command === 'ingest' || options.data !== undefined) expect(options.upstream).toHaveLength(2);
      if (options.dedicated !== 'off' && command === 'serve')
        expect(options.keys ?? options.jwks, 'dedicated without keys').toBeDefined();
    }
  });

  it('gives a pod no rights, and the time to drain', () => {
    for (const pod of pods(resources)) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const [container] = pod.containers;
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources).toHaveProperty('limits.memory');
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' });
      const [, ...flags] = container.args;
      const { drainDelayMs, shutdownTimeoutMs } = loadOptions('serve', { args: flags, env: {} });
      expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(
        drainDelayMs + shutdownTimeoutMs + 5_000,
      );
    }
  });

  it('shows the admin listener to the cluster alone, the dedicated one where it is enabled', () => {
    const services = resources.filter(({ kind }) => kind === 'Service');
    const ports = services.map(({ spec }) => spec.ports?.[0]?.targetPort);
    expect(ports).toEqual(file.includes('all') ? ['dedicated', 'public', 'admin'] : ['public', 'admin']);
    expect(services.at(-1)?.spec).toMatchObject({ clusterIP: 'None' });
    const ingress = JSON.stringify(resources.filter(({ kind }) => kind === 'Ingress'));
    expect(ingress).not.toMatch(/-(?:admin|dedicated)"/);
  });
});

describe('the chart', () => {
  it('is one node, or the roles of a fleet', () => {
    const kinds = (file: string): readonly string[] =>
      render(file).map(({ kind, metadata, spec }) =>
        `${kind} ${metadata.name} ${spec?.replicas ?? ''}`.trim(),
      );
    expect(kinds('ci/single-values.yaml')).toEqual(
      expect.arrayContaining(['StatefulSet release-chain-query 1', 'NetworkPolicy release-chain-query']),
    );
    const fleet = kinds('ci/fleet-values.yaml');
    expect(fleet).toEqual(
      expect.arrayContaining([
        'Deployment release-chain-query-ingester 2',
        'Deployment release-chain-query-replica 3',
        'PodDisruptionBudget release-chain-query-ingester',
        'PodDisruptionBudget release-chain-query-replica',
      ]),
    );
    // With an autoscaler, nobody else says how many.
    const all = kinds('ci/fleet-all-values.yaml');
    expect(all).toContain('Deployment release-chain-query-replica');
    expect(all).toContain('HorizontalPodAutoscaler release-chain-query-replica');
  });

  it('has the alerts of deploy/prometheus', () => {
    const text = readFileSync(join(DEPLOY, 'prometheus/alerts.yml'), 'utf8');
    expect(readFileSync(join(chart, 'files/alerts.yml'), 'utf8'), 'copy it to the chart').toBe(text);
    const rule = render('ci/fleet-all-values.yaml').find(({ kind }) => kind === 'PrometheusRule');
    expect(rule?.spec.groups).toEqual((parse(text) as { readonly groups: unknown }).groups);
  });

  it('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(DEPLOY, '../package.json'), 'utf8')) as {
      version: string;
    };
    const text = readFileSync(join(chart, 'Chart.yaml'), 'utf8');
    expect(text).toContain(`\nversion: ${version}\n`);
    expect(text).toContain(`\nappVersion: ${version}\n`);
  });

  it('keeps every option with a credential out of commands', () => {
    const secret = Object.entries(OPTIONS)
      .filter(([, spec]) => 'isSecret' in spec)
      .map(([name]) => name);
    expect(secret.toSorted()).toEqual(['archive', 'feed', 'flashblocks', 'otlp', 'sendTo', 'upstream']);
    for (const name of secret)
      expect(refusal({ options: { [name]: 'https://example.org/key' } })).toContain(name);
  });

  it.each([
    ['a mode that is none', { mode: 'flet' }, /'?\/?mode'?.*'?single'?, '?fleet'?/],
    ['a name that is none', { secretOption: {} }, /secretOption/],
    ['no upstream', { secretOptions: { upstream: null } }, /upstream/],
    ['no image', { image: { repository: '' } }, /repository/],
    ['a digest that is none', { image: { digest: 'latest' } }, /digest/],
    ['a port as text', { public: { port: '8545' } }, /port/],
    ['an option that the chart sets', { options: { admin: 'off' } }, /admin/],
    ['an option with a password', { options: { store2: 'cql://user:hidden@host/k' } }, /store2/],
    ['keys missing', { dedicated: { enabled: true } }, /dedicated/],
    ['an ingress without names', { ingress: { enabled: true } }, /hosts/],
    ['metrics that nobody may read', { serviceMonitor: { enabled: true } }, /networkPolicy\.adminFrom/],
  ])('refuses %s in words', (_, values, words) => {
    expect(refusal(values)).toMatch(words);
  });

  it.each([
    ['no store', { store: '' }, /store/],
    ['a store with a password', { store: 'cql://user:hidden@host/chains' }, /store/],
    ['no ingester', { ingester: { replicas: 0 } }, /replicas/],
    ['no replica', { replica: { replicas: 0 } }, /replicas/],
    ['a feed with a password', { feed: ['nats://user:hidden@host:4222'] }, /feed/],
  ])('refuses a fleet with %s', (_, fleet, words) => {
    expect(refusal({ fleet }, 'ci/fleet-values.yaml')).toMatch(words);
  });
});

import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadOptions } from '../../src/config/load.ts';
import { CACHE, DEPLOY, run } from './tools.ts';

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly networks: readonly string[];
}

const folder = join(DEPLOY, 'compose');
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const file = parse(read('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<'node' | 'prometheus' | 'grafana', Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
};
const services = Object.entries(file.services);

/** Text with `${NAME}`, `${NAME:-default}` and `${NAME:?words}` in it, as compose reads it. */
function interpolated(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, rest = '') => {
    const value = env[name] ?? '';
    if (value === '' && kind === '?') throw new Error(`${name}: ${rest}`);
    return value === '' ? rest : value;
  });
}

function optionsOfNode(env: Readonly<Record<string, string>>): ReturnType<typeof loadOptions<'serve'>> {
  const { command = [], environment = {} } = file.services.node;
  expect(command[0]).toBe('serve');
  const given = Object.entries(environment).map(([name, text]) => [name, interpolated(text, env)]);
  return loadOptions('serve', {
    args: [...command.slice(1), '--data=/data'],
    env: Object.fromEntries(given),
  });
}

it('is what the compose specification allows', () => {
  const schema = JSON.parse(readFileSync(join(CACHE, 'schemas/compose-spec.json'), 'utf8')) as object;
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    validateFormats: false,
    validateSchema: false,
  });
  const isValid = ajv.compile(schema);
  expect(isValid(file) ? [] : isValid.errors).toEqual([]);
  // The check has teeth.
  expect(isValid({ services: { node: { imag: 'x' } } })).toBe(false);
});

it('publishes on loopback alone, and neither the admin nor the dedicated listener', () => {
  for (const [name, { ports }] of services)
    for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:\$\{\w+:-\d+\}:\d+$/);
  expect(file.services.node.ports.map((port) => port.split(':').at(-1))).toEqual(['8545']);
  expect(file.networks['metrics']?.internal).toBe(true);
});

it('gives no container more than it needs', () => {
  for (const [name, service] of services) {
    expect(service, name).toMatchObject({
      ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      ...{ mem_limit: expect.stringMatching(/^\dg$/), pids_limit: expect.any(Number) },
      tmpfs: [expect.stringContaining('/tmp:size=')],
    });
    expect(service.image, name).toMatch(/:(?:v?\d+\.\d+\.\d+|local\})$/);
  }
});

it('sets options that the program takes, and asks for the upstream', () => {
  const upstream = 'https://user:hidden@upstream.example';
  const options = optionsOfNode({ CHAIN_QUERY_UPSTREAM: upstream, CHAIN_QUERY_CHAIN: 'base' });
  expect(options).toMatchObject({ chain: 'base', dedicated: 'off', public: { host: '0.0.0.0', port: 8545 } });
  expect(() => optionsOfNode({})).toThrow('CHAIN_QUERY_UPSTREAM: set it to the URL of a node of the chain');
});

it('mounts what is there', () => {
  const mounts = services.flatMap(([, { volumes }]) => volumes).filter((volume) => volume.startsWith('.'));
  expect(mounts).toHaveLength(5);
  for (const mount of mounts) {
    const [source = '', , mode] = mount.split(':');
    expect(existsSync(join(folder, source)), source).toBe(true);
    expect(mode).toBe('ro');
  }
});

it('has Prometheus ask the node, by the job and the alerts that are there', () => {
  const place = mkdtempSync(join(tmpdir(), 'chain-query-prometheus-'));
  try {
    copyFileSync(join(folder, 'prometheus.yml'), join(place, 'prometheus.yml'));
    copyFileSync(join(DEPLOY, 'prometheus/alerts.yml'), join(place, 'alerts.yml'));
    expect(run('promtool', ['check', 'config', join(place, 'prometheus.yml')])).toMatch(/\d+ rules found/);
  } finally {
    rmSync(place, { recursive: true });
  }
  expect(parse(read('prometheus.yml'))).toMatchObject({
    scrape_configs: [{ job_name: 'chain-query', static_configs: [{ targets: ['node:8547'] }] }],
  });
});

it('has Grafana show the dashboard, of that Prometheus', () => {
  expect(parse(read('grafana/datasources/prometheus.yml'))).toMatchObject({
    apiVersion: 1,
    datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }],
  });
  const provided = parse(read('grafana/dashboards/chain-query.yml')) as {
    readonly providers: readonly [{ readonly options: { readonly path: string } }];
  };
  const { path } = provided.providers[0].options;
  expect(file.services.grafana.volumes).toContain(`../grafana:${path}:ro`);
  const home = file.services.grafana.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'];
  expect(home).toBe(`${path}/chain-query.json`);
  expect(existsSync(join(DEPLOY, 'grafana/chain-query.json'))).toBe(true);
});

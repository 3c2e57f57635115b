import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { parse } from 'yaml';
import { startDevNode } from '../support/serve/dev-node.ts';
import { startOurNode } from '../support/servers/node.ts';
import { repoRoot } from '../support/servers/paths.ts';
import { type Running, runToEnd, until } from '../support/servers/process.ts';
import { call, curl } from './curl.ts';
import { type Exported, missingIn, readExported } from './promql.ts';

const DASHBOARD = 'deploy/grafana/chain-query.json';
const ALERTS = 'deploy/prometheus/alerts.yml';
const ALERT_TESTS = 'deploy/prometheus/alerts.test.yml';

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string };
    }[];
  }[];
}

interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string;
      readonly exp_alerts?: readonly unknown[];
    }[];
  }[];
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

const read = (file: string): Promise<string> => readFile(join(repoRoot, file), 'utf8');
const readRules = async (): Promise<Rules['groups'][number]['rules']> =>
  (parse(await read(ALERTS)) as Rules).groups.flatMap(({ rules }) => rules);

describe('what a node that follows a chain with pre-confirmations exports', () => {
  let running: Running | undefined;
  let text = '';
  let exported: Exported;

  beforeAll(async () => {
    const dev = await startDevNode();
    running = dev.running;
    const { url, dedicatedUrl, adminUrl } = dev.places;
    for (const place of [url, dedicatedUrl]) {
      await curl(place, { body: call('eth_chainId') });
      await curl(place, { body: call('eth_unknown') });
    }
    const socket = new WebSocket(url.replace('http', 'ws'));
    socket.on('open', () => socket.close());
    // Until something of each kind has happened: labels are known by samples.
    text = await until('samples', async () => {
      const now = await (await fetch(`${adminUrl}/metrics`)).text();
      const isThere =
        /^chain_query_preconfirmed_blocks_total\{/m.test(now) &&
        /^chain_query_websocket_closed_total\{/m.test(now);
      return isThere ? now : undefined;
    });
    exported = readExported(text);
  });
  afterAll(() => running?.stop());

  it('has every metric and label that the dashboard shows', async () => {
    const { panels } = JSON.parse(await read(DASHBOARD)) as Dashboard;
    const targets = panels.flatMap(({ targets: of = [] }) => of);
    expect(targets.length).toBeGreaterThan(30);
    expect(
      targets.flatMap(({ expr, legendFormat }) =>
        missingIn(exported, expr, labelsIn(legendFormat, /\{\{(\w+)\}\}/g)),
      ),
    ).toEqual([]);
  });

  it('has every metric and label that alerts go by', async () => {
    const rules = await readRules();
    expect(rules.length).toBeGreaterThan(10);
    expect(
      rules.flatMap(({ expr, annotations }) =>
        missingIn(exported, expr, labelsIn(annotations.summary, /\$labels\.(\w+)/g)),
      ),
    ).toEqual([]);
  });

  it('has no metric without a help text, and none that docs/observability.md leaves out', async () => {
    const page = await read('docs/observability.md');
    const helps = new Map(
      [...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]),
    );
    const names = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name);
    expect(names.filter((name) => (helps.get(name) ?? '') === '')).toEqual([]);
    // What prom-client measures of Node itself is described there as a whole.
    const ours = names.filter((name) => !/^chain_query_(?:nodejs|process)_/.test(name));
    expect(ours.length).toBeGreaterThan(80);
    expect(ours.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    // Those of a fleet are looked for where there is one (test/replica/fleet.ts).
    const [alone = '', rest = ''] = page.split('## In a fleet');
    const listed = `${alone}${rest.slice(rest.indexOf('\n## '))}`;
    const gone = Array.from(listed.matchAll(/^\| `(chain_query_\w+)` \|/gm), ([, name = '']) => name);
    expect(gone.filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('the alerts', () => {
  it('are rules that Prometheus takes', async () => {
    expect(await runToEnd('promtool', ['check', 'rules', join(repoRoot, ALERTS)])).toContain('SUCCESS');
  });

  it('fire when they should, each of them, and not on a node that is well', async () => {
    const { tests } = parse(await read(ALERT_TESTS)) as RuleTests;
    const expectations = tests.flatMap(({ alert_rule_test: of }) => of);
    const firing = new Set(
      expectations.filter(({ exp_alerts: fired }) => fired).map(({ alertname }) => alertname),
    );
    expect((await readRules()).map(({ alert }) => alert).filter((alert) => !firing.has(alert))).toEqual([]);
    expect(await runToEnd('promtool', ['test', 'rules', join(repoRoot, ALERT_TESTS)])).toContain('SUCCESS');
  });
});

describe('a slow call', () => {
  it('has a line in the log with the name that its client gave it, and nothing of its params', async () => {
    await using node = await startOurNode(['--slow-request-ms', '1', '--threads', '1']);
    const to = '0x00000000000000000000000000000000feedbeef';
    // Goes round until its gas is gone.
    const endless = call('eth_call', { to, gas: '0x1c9c380' }, 'latest', { [to]: { code: '0x5b600056' } });
    const { headers } = await curl(node.dedicatedUrl, {
      headers: ['x-request-id: the-slow-one'],
      body: endless,
    });
    expect(headers.get('x-request-id')).toBe('the-slow-one');
    const line = await until('the line', () => /^.*slow request.*$/m.exec(node.running.output())?.[0]);
    expect(JSON.parse(line)).toMatchObject({
      ...{ level: 'warn', method: 'eth_call', listener: 'dedicated', requestId: 'the-slow-one' },
      ...{ milliseconds: expect.any(Number), code: -32_000 },
    });
    expect(node.running.output()).not.toContain('feedbeef');
  });
});

describe('what is not exported', () => {
  const node = readExported(
    '# TYPE chain_query_a counter\nchain_query_a{b="c"} 1\n# TYPE chain_query_d gauge\nchain_query_d 1\n',
  );

  it.each([
    ['chain_query_a{b="c"} > 0', []],
    ['sum by (b, instance) (rate(chain_query_a{instance=~"$instance"}[5m]))', []],
    ['chain_query_x', ['chain_query_x']],
    ['chain_query_d{b="c"}', ['chain_query_d{b}', 'chain_query_d{b="c"}']],
    ['chain_query_a{b=~"c|e"}', ['chain_query_a{b="e"}']],
    ['chain_query_a{b!="e"}', []],
    ['sum by (x) (chain_query_a)', ['{x}']],
  ])('is found in %s', (expression, missing) => {
    expect(missingIn(node, expression)).toEqual(missing.map((what) => `${what} of ${expression}`));
  });

  it('is found in what is shown', () => {
    expect(missingIn(node, 'chain_query_a', ['b', 'y'])).toEqual(['{y} of chain_query_a']);
  });
});

function labelsIn(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, label = '']) => label);
}

import { parse } from 'yaml';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

/** What whoever is called should do, step by step. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  ChainQueryBlockRefused: [
    'Read `/readyz` and the log: they name the block and what of it does not fit.',
    '`ChainQueryRulesTooOld` as well, or soon: it is a fork. Install a newer version.',
    '`ChainQueryUpstreamLied` as well: an upstream gave false state. With another upstream the node goes on by itself.',
    'Neither: run `chain-query doctor`, and keep the log for a report.',
  ],
  ChainQueryUpstreamLied: [
    'Nothing is urgent: the answer was not used, the upstream is banned, others are asked.',
    'Find out what it is: `part` says what was false. A provider that mixes nodes of different heights does this now and then.',
    'Again and again: drop it from `--upstream`. Only one upstream: add a second, and consider `--verify-state`.',
  ],
  ChainQueryRulesTooOld: [
    '`/readyz` names the fork and its time. Blocks that were verified are served on; the head stands still, or will.',
    'Install a version that knows the fork; the copy goes on from where it is.',
    'Until there is one: `--unknown-fork follow-by-diffs` ([what is proven then](native-contracts.md#a-fork-whose-rules-are-not-known)), or a genesis file with the fork (`--chain FILE`).',
  ],
  ChainQueryDown: [
    'Is the process there? Its last log line says why it ended. Exit code 2 is a wrong option: `chain-query config check`.',
    'It is there: does Prometheus reach `--admin`? It listens on loopback unless told otherwise.',
    'Killed by the kernel: see [memory](memory.md), and give it more or bound its caches.',
  ],
  ChainQueryNotReady: [
    'Ask `/readyz`: each reason has a detail, and [errors](errors.md#readyz) says what to do for each.',
    'Take it out of the balancer if that does not look at `/readyz` itself.',
  ],
  ChainQueryTipOld: [
    'Compare with a block explorer. The chain stands still: nothing to do here.',
    'The chain moves: see `chain_query_confirmed_age_seconds` and `/readyz`. Usually all upstreams are behind: add another.',
  ],
  ChainQueryHeadUnconfirmed: [
    'No upstream answers, or those that do are on another fork. `chain-query doctor` asks each of them.',
    'Rate limits of a provider look like this: see `chain_query_upstream_failures_total{code="rateLimited"}`.',
  ],
  ChainQueryPreconfirmedOld: [
    'The stream is silent, or its blocks do not verify: see `chain_query_flashblock_messages_total` and `chain_query_flashblocks_refused_total`.',
    'Give a second `--flashblocks` source. Clients get `latest` for `pending` meanwhile, and `x-chain-pending: none`.',
  ],
  ChainQuerySlow: [
    'By method: `chain_query_request_seconds`. Calls on state that nobody has asked for wait for upstreams: `chain_query_request_rounds_total`.',
    'Long calls: `chain_query_pool_waiting_calls`. More `--threads` and cores, a lower `--call-time-limit-ms`, or a second node.',
  ],
  ChainQueryOverloaded: [
    '`chain_query_refused_total{reason}` says what is full; [limits](limits.md) says which option that is.',
    'One client: give it a rate. All of them: another node, or a [fleet](fleet.md).',
  ],
  ChainQueryRateLimited: [
    'Clients meet their rate. If they should not: raise `rate` of the [profile](endpoints.md), or give them keys.',
    'All behind one address: name the proxy in `--trusted-proxies`.',
  ],
  ChainQueryThreadSilent: [
    'A serving thread hangs. The others serve on; `/readyz` says `worker`.',
    'Restart the node. Keep the log, and the method that was slow before, for a report.',
  ],
  ChainQueryStoreUnwritable: [
    'The disk is full or read-only. What is held is served; nothing new comes in.',
    'Make room (`--history` deletes what is older). It goes on by itself.',
  ],
  ChainQueryStoreFull: [
    'Give the disk more room, or keep less: `--history 30d`. A file does not shrink: freed pages are used again.',
    'The file has come to `--store-map-size`: raise it and restart.',
  ],
  ChainQueryMemoryHigh: [
    '[Memory](memory.md) says what holds it. Bound the caches: `--hot-state-entries`, `--render-cache-bytes`, `--code-cache-bytes`.',
    'It grows with clients: `chain_query_client_bytes`, bounded by `--client-bytes`.',
  ],
};

/** The body of docs/alerts.md: each alert of the rules, with what to do. */
export function renderAlerts(rulesFile: string): string {
  const { groups } = parse(rulesFile) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const gone = Object.keys(ACTIONS).filter((name) => !rules.some(({ alert }) => alert === name));
  if (gone.length > 0) throw new Error(`there is no alert ${gone.join(', ')} any more`);
  return rules.map(renderAlert).join('\n\n');
}

function renderAlert({ alert, expr, labels, annotations, ...rule }: Rule): string {
  const actions = ACTIONS[alert];
  if (actions === undefined) throw new Error(`say in scripts/reference/alerts.ts what to do for ${alert}`);
  const held = rule.for === undefined ? 'at once' : `after ${rule.for}`;
  // What stands for a label in the rules is read as a template by the site.
  const summary = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '`$1`');
  return [
    `## ${alert}`,
    '',
    `**${labels.severity}**, ${held}. ${summary}`,
    '',
    '```text',
    expr.trim(),
    '```',
    '',
    ...actions.map((action, index) => `${index + 1}. ${action}`),
  ].join('\n');
}

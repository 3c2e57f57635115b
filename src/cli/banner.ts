import { setTimeout as delay } from 'node:timers/promises';
import type { CommandOptions } from '../config/table.ts';
import type { Node, NodeFacts, Role } from '../node/start.ts';
import { CHAINS } from '../rules/chains.ts';
import { parseEndpoints } from '../source/transport/endpoint.ts';
import { redactUrls } from '../telemetry/redact.ts';
import type { CommandContext } from './dispatch.ts';
import { printable } from './failure.ts';
import { type Paint, painter } from './print.ts';

type Options = CommandOptions<'serve'>;
type Context = Pick<CommandContext, 'version' | 'sources' | 'stderr' | 'signal'>;

/** How long a node may take to choose whom to follow, before it is shown without. */
const LEADER_MS = 2_000;
const LOOK_MS = 50;

/**
 * Shows a person what has started, on a terminal alone: a log that is kept stays a log. On stderr, where the log is:
 * stdout belongs to what a command gives.
 */
export async function showBanner(role: Role, node: Node, options: Options, context: Context): Promise<void> {
  const { stderr, version, sources, signal } = context;
  if (stderr.isTTY !== true) return;
  const end = AbortSignal.any([signal, node.failed]);
  const facts = await factsWithLeader(node, options, end);
  if (end.aborted) return;
  const paint = painter(stderr, sources.env);
  const now = Date.now() / 1_000;
  stderr.write(renderBanner({ role, version, facts, options, addresses: node.addresses, paint, now }));
}

async function factsWithLeader(node: Node, { upstream }: Options, end: AbortSignal): Promise<NodeFacts> {
  const deadline = performance.now() + LEADER_MS;
  for (;;) {
    const facts = await node.facts();
    if (upstream === undefined || facts.leader !== undefined || end.aborted) return facts;
    if (performance.now() > deadline) return facts;
    await delay(LOOK_MS, undefined, { signal: end }).catch(() => {});
  }
}

export interface Banner {
  readonly role: Role;
  readonly version: string;
  readonly facts: NodeFacts;
  readonly options: Pick<
    Options,
    'data' | 'store' | 'upstream' | 'flashblocks' | 'profile' | 'keys' | 'jwks' | 'feed'
  >;
  readonly addresses: Readonly<Record<string, string>>;
  readonly paint: Paint;
  /** Seconds since 1970. */
  readonly now: number;
}

/** What runs, of which chain, from whom, where it can be asked, and a line to paste. */
export function renderBanner(banner: Banner): string {
  const { role, version, options, addresses, paint } = banner;
  const rows: (readonly [string, string])[] = [
    ['chain', chainLine(banner.facts)],
    ['head', headLine(banner)],
    ...named('upstream', upstreamLines(banner)),
    ...named('flashblocks', (options.flashblocks ?? []).map(redactUrls)),
    ['store', storeLine(options)],
    ...named('feed', (options.feed ?? []).map(redactUrls)),
    ...Object.entries(addresses).map(
      ([name, address]) => [name, endpointLine(name, address, banner)] as const,
    ),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, text]) => `  ${paint('dim', name.padEnd(width))}  ${printable(text)}`);
  const reading = Object.keys(addresses).find((name) => name !== 'admin');
  const paste = reading === undefined ? [] : ['', curl(urlOf(reading, addresses[reading] ?? '', options))];
  const verb = role === 'ingest' ? 'ingests' : 'serves';
  return `${[
    '',
    `${paint('bold', `Chain Query ${version}`)} ${verb}. Ctrl-C stops it.`,
    ...lines,
    ...paste,
    '',
  ].join('\n')}\n`;
}

/** A name before the first of several. */
function named(name: string, lines: readonly string[]): readonly (readonly [string, string])[] {
  return lines.map((line, index) => [index === 0 ? name : '', line]);
}

function chainLine({ chainId }: NodeFacts): string {
  const row = CHAINS.find(({ config }) => BigInt(config.chainId) === chainId);
  if (row === undefined) return `id ${chainId}`;
  return `${row.name}, id ${chainId}, newest fork known ${row.newestFork.name}`;
}

function headLine({ facts, now }: Banner): string {
  const { head, headTime, lag = 0, issues } = facts;
  if (head === undefined) return 'no block yet';
  const age = headTime === undefined ? '' : `, ${ageOf(Math.max(0, now - headTime))} old`;
  const behind = lag > 0 ? `, ${lag} blocks behind` : '';
  const notReady = issues.length > 0 ? `; not ready: ${issues.map(({ reason }) => reason).join(', ')}` : '';
  return `${head.number} ${head.hash}, verified${age}${behind}${notReady}`;
}

function ageOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function upstreamLines({ options, facts }: Banner): readonly string[] {
  return parseEndpoints(options.upstream ?? []).map(({ name }) =>
    name === facts.leader ? `${name} (leads)` : name,
  );
}

function storeLine({ data, store }: Banner['options']): string {
  if (store === undefined) return data ?? '';
  return `cql://${store.contactPoints.join(',')}/${store.keyspace}, chain ${store.chain}`;
}

function endpointLine(name: string, address: string, { options }: Banner): string {
  const url = urlOf(name, address, options);
  if (name === 'admin') return `${url}/  dashboard; also /readyz, /livez, /metrics`;
  const auth = options.profile?.get(name)?.auth ?? (name === 'dedicated' ? 'keys' : 'none');
  if (auth === 'none') return `${url}  no key; all but what is for keys`;
  const open = options.keys === undefined && options.jwks === undefined;
  return `${url}  every method; ${open ? 'no key is set: for this machine alone' : 'asks for a key'}`;
}

function urlOf(name: string, address: string, { profile }: Banner['options']): string {
  const scheme = profile?.get(name)?.tlsCert === undefined ? 'http' : 'https';
  // All addresses of the machine is none that can be asked.
  return `${scheme}://${address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:')}`;
}

function curl(url: string): string {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
  return `curl -s ${url} -H 'content-type: application/json' -d '${body}'`;
}

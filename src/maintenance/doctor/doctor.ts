import type { CommandOptions } from '../../config/table.ts';
import { NativeExecutor } from '../../executor/native-executor.ts';
import { blockOptions } from '../../executor/options.ts';
import { readRules } from '../../follow/rules/chain-rules.ts';
import { nameOfChain } from '../../rules/chains.ts';
import { poolOptions } from '../../source/pool/options.ts';
import { Upstream } from '../../source/pool/upstream.ts';
import { parseEndpoints } from '../../source/transport/endpoint.ts';
import { examineHost } from './host.ts';
import { hashAt } from './reads.ts';
import { Section } from './report.ts';
import { examineStore, type StoreFacts } from './store.ts';
import { examineStreams } from './stream.ts';
import { examineUpstream, type UpstreamFacts } from './upstream.ts';

export interface DoctorModules {
  readonly signal: AbortSignal;
  /** Seconds since 1970; a test gives its own. */
  readonly now?: () => number;
}

/** Blocks below the lowest head at which upstreams must have one hash: above, they may be on their way to it. */
const AGREED_DEPTH = 3;

/** Examines all that a serve with these options would rely on. Changes nothing. */
export async function examine(
  options: CommandOptions<'doctor'>,
  { signal, now = () => Date.now() / 1_000 }: DoctorModules,
): Promise<readonly Section[]> {
  const store = options.data === undefined ? undefined : await examineStore(options.data, options);
  const endpoints = parseEndpoints(options.upstream ?? []);
  const upstreams = endpoints.map((endpoint) => new Upstream(endpoint, poolOptions(options)));
  const executors = new Map<string, NativeExecutor>();
  const rulesOf = (chainId: bigint): string | undefined => {
    const asked = options.chain === undefined ? undefined : readRules(options.chain);
    return asked ?? store?.rules ?? nameOfChain(chainId);
  };
  const executorOf = (chainId: bigint): NativeExecutor | undefined => {
    const rules = rulesOf(chainId);
    if (rules === undefined) return undefined;
    const made =
      executors.get(rules) ?? NativeExecutor.create(rules, blockOptions(options), { load: () => [] });
    executors.set(rules, made);
    return made;
  };
  try {
    const facts: UpstreamFacts[] = [];
    // One after another: they would slow each other down, and their times are compared.
    for (const upstream of upstreams) {
      facts.push(await examineUpstream(upstream, { settings: options, rulesOf, executorOf, now, signal }));
    }
    const together = facts.length > 0 ? [await compare(facts, store, { options, executorOf, signal })] : [];
    const sections = facts.map(({ section }) => section);
    const heads = facts.map(({ head }) => head?.number ?? -1);
    const head = heads.length === 0 ? undefined : Math.max(...heads);
    return [
      ...sections,
      ...together,
      ...(await examineStreams(options, head, signal)),
      ...(store === undefined ? [] : [store.section]),
      await examineHost(options),
    ];
  } finally {
    for (const upstream of upstreams) upstream.close();
  }
}

interface Comparison {
  readonly options: CommandOptions<'doctor'>;
  readonly executorOf: (chainId: bigint) => NativeExecutor | undefined;
  readonly signal: AbortSignal;
}

/** What upstreams and the store must have in common. */
async function compare(
  facts: readonly UpstreamFacts[],
  store: StoreFacts | undefined,
  { options, executorOf, signal }: Comparison,
): Promise<Section> {
  const section = new Section('upstreams together');
  const reachable = facts.filter(({ head, chainId }) => head !== undefined && chainId !== undefined);
  if (reachable.length === 0) {
    section.fail('upstreams', 'none can be used', 'name one that answers: --upstream URL');
    return section;
  }
  const ids = new Set(reachable.map(({ chainId }) => chainId));
  const [first] = ids;
  const executor = first === undefined ? undefined : executorOf(first);
  if (ids.size > 1) {
    section.fail(
      'chain',
      `they are of different chains: ${[...ids].join(', ')}`,
      'name upstreams of one chain',
    );
    return section;
  }
  if (executor !== undefined && executor.chainId !== first) {
    section.fail(
      'chain',
      `they are of chain ${first}, the rules are of chain ${executor.chainId}`,
      'name upstreams of the chain that the store (or --chain) is of',
    );
    return section;
  }
  const [leader] = reachable.toSorted(byHeight);
  if (reachable.length > 1) {
    await checkAgreement(reachable, section, signal);
    if (leader !== undefined) section.ok('leader', `${nameOf(leader)}: a new copy would follow its chain`);
  } else section.warn('number', 'there is only one', 'a second one takes over while the first is away');
  await checkLag(reachable, store, section, { options, signal });
  return section;
}

async function checkAgreement(
  facts: readonly UpstreamFacts[],
  section: Section,
  signal: AbortSignal,
): Promise<void> {
  const lowest = Math.min(...facts.map(({ head }) => head?.number ?? 0));
  const number = Math.max(0, lowest - AGREED_DEPTH);
  await section.attempt('agreement', async () => {
    const hashes = await Promise.all(facts.map(({ upstream }) => hashAt(upstream, number, signal)));
    const groups = Map.groupBy(facts, (_, index) => hashes[index] ?? 'no block');
    if (groups.size === 1) section.ok('agreement', `block ${number} is the same at all of them`);
    else {
      const said = [...groups].map(([hash, group]) => `${hash} (${group.map(nameOf).join(', ')})`);
      section.fail(
        'agreement',
        `block ${number} differs: ${said.join(' and ')}`,
        'leave out those of another fork',
      );
    }
  });
}

/** How far the store is behind, and whether it is of the upstreams' chain. */
async function checkLag(
  facts: readonly UpstreamFacts[],
  store: StoreFacts | undefined,
  section: Section,
  { options, signal }: { readonly options: CommandOptions<'doctor'>; readonly signal: AbortSignal },
): Promise<void> {
  const [best] = facts.toSorted(byHeight);
  const head = store?.marks?.head;
  if (best?.head === undefined || head === undefined) return;
  const lag = best.head.number - head.number;
  const behindMs = 1_000 * (best.head.timestamp - (store?.timestamp ?? 0));
  const { blocks, ms } = options.readyLag;
  if (lag > blocks && behindMs > ms) {
    section.warn('store', `${lag} blocks behind`, 'run serve --upstream, which catches up');
  } else section.ok('store', lag > 0 ? `${lag} blocks behind` : 'at the head');
  if (lag < 0) return;
  await section.attempt('store', async () => {
    const hash = await hashAt(best.upstream, head.number, signal);
    if (hash === head.hash) section.ok('same chain', `block ${head.number} of the store is theirs`);
    else {
      section.warn(
        'same chain',
        `block ${head.number} of the store is not theirs`,
        'a reorg that serve --upstream follows; if it stays so, the store is of another chain',
      );
    }
  });
}

/** The highest first, and the first in the list of those that are as high: so the leader is chosen. */
function byHeight(a: UpstreamFacts, b: UpstreamFacts): number {
  return (b.head?.number ?? 0) - (a.head?.number ?? 0);
}

function nameOf({ upstream }: UpstreamFacts): string {
  return upstream.name;
}

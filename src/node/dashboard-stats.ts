import type { Registry } from 'prom-client';
import type { Stats, StreamRow, UpstreamRow } from '../rpc/admin/state.ts';
import type { UpstreamStatus } from '../source/interface.ts';

type Labels = Readonly<Record<string, string | number | undefined>>;

interface Sample {
  readonly value: number;
  readonly labels: Labels;
  readonly metricName?: string;
}

/** What was measured, by name. */
export class Samples {
  readonly #byName: ReadonlyMap<string, readonly Sample[]>;

  private constructor(byName: ReadonlyMap<string, readonly Sample[]>) {
    this.#byName = byName;
  }

  static async of(registry: Registry): Promise<Samples> {
    const metrics = await registry.getMetricsAsJSON();
    return new Samples(
      new Map(
        metrics.map(({ name, values }) => [
          name.replace('chain_query_', ''),
          values as unknown as readonly Sample[],
        ]),
      ),
    );
  }

  all(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }

  /** The first value with these labels; undefined where there is none. */
  one(name: string, labels: Labels = {}): number | undefined {
    return this.all(name).find((sample) => fits(sample, labels))?.value;
  }

  sum(name: string, labels: Labels = {}): number {
    let sum = 0;
    for (const sample of this.all(name)) if (fits(sample, labels)) sum += sample.value;
    return sum;
  }
}

function fits({ labels }: Sample, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

type Measured = Omit<Stats, 'at' | 'reasons' | 'warnings' | 'lag' | 'upstreams'>;

/** What the dashboard shows of what was measured. */
export function measuredStats(samples: Samples): Measured {
  const blocks = (result: string): number => samples.sum('preconfirmed_blocks_total', { result });
  const transactions = (result: string): number => samples.sum('preconfirmed_transactions_total', { result });
  return {
    tipAge: samples.one('tip_age_seconds'),
    confirmedAge: samples.one('confirmed_age_seconds'),
    preconfirmedAge: samples.one('preconfirmed_age_seconds'),
    streams: streamsOf(samples),
    methods: methodsOf(samples),
    refused: refusedOf(samples),
    upstreamReads: samples.sum('request_rounds_total'),
    connections: samples.sum('websocket_connections'),
    subscriptions: samples.sum('subscriptions'),
    notifications: samples.sum('notifications_total'),
    executedBlocks: samples.sum('executed_blocks_total'),
    reorgs: samples.sum('reorganisations_total'),
    memory: {
      resident: samples.sum('resident_bytes', { kind: 'anonymous' }),
      files: samples.sum('resident_bytes', { kind: 'file' }),
      limit: samples.one('memory_limit_bytes'),
    },
    store: {
      bytes: samples.one('store_bytes'),
      room: samples.one('store_room_bytes'),
      leftDays: samples.one('store_left_days'),
      growthPerDay: samples.one('store_growth_bytes_per_day'),
      writable: samples.one('store_writable') !== 0,
    },
    accuracy: {
      ...{ equal: blocks('equal'), longer: blocks('longer'), different: blocks('different') },
      ...{ kept: transactions('kept'), changed: transactions('changed') },
    },
  };
}

/** Upstreams as the page shows them: names hold no credential. */
export function upstreamRows(
  status: readonly UpstreamStatus[],
  leader: string | undefined,
): readonly UpstreamRow[] {
  return status.map(({ name, latencyMs, errorRate, head, lag, lies, outForMs, otherChain }) => ({
    ...{ name, latencyMs, errorRate, head, lag, lies, outForMs },
    leads: name === leader,
    isOtherChain: otherChain !== undefined,
  }));
}

const TAKEN = new Set(['accept', 'start', 'rebuild']);

function streamsOf(samples: Samples): readonly StreamRow[] {
  const names = new Set<string>();
  for (const metric of ['flashblock_stream_connected', 'flashblock_messages_total'])
    for (const { labels } of samples.all(metric)) names.add(String(labels['stream']));
  return [...names].map((stream) => {
    let first = 0;
    for (const { labels, value } of samples.all('flashblock_decisions_total'))
      if (labels['stream'] === stream && TAKEN.has(String(labels['decision']))) first += value;
    return {
      name: stream,
      connected: samples.one('flashblock_stream_connected', { stream }) === 1,
      messages: samples.sum('flashblock_messages_total', { stream }),
      first,
      unverified: samples.one('flashblock_source_unverified', { source: stream }) === 1,
    };
  });
}

/** Buckets of Prometheus hold all below them, too; the page wants each alone. */
function methodsOf(samples: Samples): Stats['methods'] {
  const byMethod = new Map<string, { errors: number; counts: number[] }>();
  let before = 0;
  let at = 0;
  for (const { metricName, labels, value } of samples.all('request_seconds')) {
    if (metricName?.endsWith('_bucket') !== true) {
      [before, at] = [0, 0];
      continue;
    }
    const method = String(labels['method']);
    const row = byMethod.get(method) ?? { errors: 0, counts: [] };
    byMethod.set(method, row);
    row.counts[at] = (row.counts[at] ?? 0) + value - before;
    if (labels['outcome'] === 'error') row.errors += value - before;
    before = value;
    at++;
  }
  return [...byMethod].map(([method, row]) => ({ method, ...row }));
}

function refusedOf(samples: Samples): Stats['refused'] {
  const byReason = new Map<string, number>();
  for (const { labels, value } of samples.all('refused_total')) {
    const reason = String(labels['reason']);
    if (value > 0) byReason.set(reason, (byReason.get(reason) ?? 0) + value);
  }
  return Array.from(byReason, ([reason, count]) => ({ reason, count }));
}

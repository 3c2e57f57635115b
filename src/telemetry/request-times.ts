import { Histogram, type Registry } from 'prom-client';

/** Bounds in seconds. Most requests are in the first; the last is where clients give up. */
export const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const NAME = 'chain_query_request_seconds';
const HELP =
  'From a request having arrived to a call of it being answered, by method, listener and whether it was an error.';

type Outcome = 'ok' | 'error';

/** How many took how long, each in one bucket: those above the last bound have one of their own. */
class Times {
  readonly counts = new Float64Array(BUCKETS.length + 1);
  sum = 0;

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += seconds;
  }
}

interface Series {
  readonly listener: string;
  readonly outcome: Outcome;
  readonly byMethod: Map<string, Times>;
}

/**
 * How long calls took. The histogram of prom-client makes and hashes labels at each observation, which costs more than many
 * calls do: here that is an addition, and labels are made when the metrics are asked for.
 */
export class RequestTimes {
  readonly #series: Series[] = [];

  constructor(registry: Registry) {
    registry.registerMetric(new TimesHistogram(this.#series));
  }

  /** What to call for each call that a listener has answered. Names of methods must be few: they become labels. */
  of(listener: string): (method: string, code: number | undefined, seconds: number) => void {
    const add = (outcome: Outcome): Map<string, Times> => {
      const byMethod = new Map<string, Times>();
      this.#series.push({ listener, outcome, byMethod });
      return byMethod;
    };
    const [ok, error] = [add('ok'), add('error')];
    return (method, code, seconds) => {
      const byMethod = code === undefined ? ok : error;
      let times = byMethod.get(method);
      if (times === undefined) {
        times = new Times();
        byMethod.set(method, times);
      }
      times.add(seconds);
    };
  }
}

type Snapshot = Awaited<ReturnType<Histogram['get']>>;

/** A histogram to whoever reads it, with the values of others. */
class TimesHistogram extends Histogram {
  readonly #series: readonly Series[];

  constructor(series: readonly Series[]) {
    super({ name: NAME, help: HELP, registers: [] });
    this.#series = series;
  }

  override async get(): Promise<Snapshot> {
    const values: Snapshot['values'] = [];
    for (const { listener, outcome, byMethod } of this.#series) {
      for (const [method, { counts, sum }] of byMethod) {
        const labels = { method, listener, outcome };
        let total = 0;
        for (const [bucket, count] of counts.entries()) {
          total += count;
          const le = BUCKETS[bucket] ?? '+Inf';
          values.push({ metricName: `${NAME}_bucket`, labels: { le, ...labels }, value: total });
        }
        values.push({ metricName: `${NAME}_sum`, labels, value: sum });
        values.push({ metricName: `${NAME}_count`, labels, value: total });
      }
    }
    // The typings have a number for the type, where the code has this word.
    return { name: NAME, help: HELP, type: 'histogram', aggregator: 'sum', values } as unknown as Snapshot;
  }

  /** prom-client makes its text of this one. */
  getForPromString(): Promise<Snapshot> {
    return this.get();
  }
}

/** What is read of an expression: the metrics that it names, and the labels that it expects of them. */
export interface Named {
  readonly metrics: readonly string[];
  /** Labels that are chosen by: of which metric, and the values that it must have to be found. */
  readonly chosen: readonly {
    readonly metric: string;
    readonly label: string;
    readonly values: readonly string[];
  }[];
  /** Labels of any of the metrics. */
  readonly grouped: readonly string[];
}

const METRIC = /\b((?:chain_query_\w+)|up)\b(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g;
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;

/** Reads an expression of Prometheus, as far as alerts and dashboards of ours use the language. */
export function namedBy(expression: string): Named {
  const found = [...expression.matchAll(METRIC)].map(([, metric = '', matchers = '']) => ({
    metric,
    chosen: [...matchers.matchAll(MATCHER)].map(([, label = '', operator, text = '']) => {
      const isWanted = !operator?.startsWith('!') && !text.startsWith('$');
      return { metric, label, values: isWanted ? text.split('|') : [] };
    }),
  }));
  const grouped = [...expression.matchAll(GROUPING)].flatMap(([, list = '']) => list.split(','));
  return {
    metrics: found.map(({ metric }) => metric),
    chosen: found.flatMap(({ chosen }) => chosen),
    grouped: grouped.map((label) => label.trim()),
  };
}

/** The metrics of a node: their labels and the values of these, by their names. */
export type Exported = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Reads Prometheus' text format. A metric without a sample has no labels yet; a histogram is known by its parts, too. */
export function readExported(text: string): Exported {
  const exported = new Map<string, Map<string, Set<string>>>();
  const labelsOf = (name: string): Map<string, Set<string>> => {
    const known = exported.get(name) ?? new Map<string, Set<string>>();
    exported.set(name, known);
    return known;
  };
  for (const line of text.split('\n')) {
    const [, type] = /^# TYPE (\w+) /.exec(line) ?? [];
    if (type !== undefined) labelsOf(type);
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = labelsOf(name);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return exported;
}

/** Those that Prometheus gives every sample. */
const OF_PROMETHEUS = ['instance', 'job'];

/** What an expression, and texts that show labels of its result, name that a node does not export. */
export function missingIn(
  exported: Exported,
  expression: string,
  shown: readonly string[] = [],
): readonly string[] {
  const { metrics, chosen, grouped } = namedBy(expression);
  const ours = metrics.filter((metric) => metric !== 'up');
  const missing = ours.filter((metric) => !exported.has(metric));
  const known = new Set([
    ...OF_PROMETHEUS,
    ...ours.flatMap((metric) => [...(exported.get(metric)?.keys() ?? [])]),
  ]);
  for (const { metric, label, values } of chosen) {
    if (OF_PROMETHEUS.includes(label)) continue;
    const found = exported.get(metric)?.get(label);
    if (found === undefined) missing.push(`${metric}{${label}}`);
    missing.push(
      ...values.filter((value) => !found?.has(value)).map((value) => `${metric}{${label}="${value}"}`),
    );
  }
  missing.push(...[...grouped, ...shown].filter((label) => !known.has(label)).map((label) => `{${label}}`));
  return missing.map((what) => `${what} of ${expression}`);
}

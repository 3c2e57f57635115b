import type { FollowingNode } from '../../support/servers/our-node.ts';
import type { Kind } from './script.ts';

/** Our node's metrics at one time. */
export class Metrics {
  readonly #samples: ReadonlyMap<string, number>;

  private constructor(samples: ReadonlyMap<string, number>) {
    this.#samples = samples;
  }

  static async of(node: FollowingNode): Promise<Metrics> {
    const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
    const samples = text.split('\n').flatMap((line) => {
      const match = /^chain_query_([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line);
      return match?.[1] === undefined ? [] : [[match[1], Number(match[2])] as const];
    });
    return new Metrics(new Map(samples));
  }

  /** All samples of a metric that have a label. */
  sum(name: string, label = ''): number {
    let sum = 0;
    for (const [key, value] of this.#samples)
      if (key.split('{')[0] === name && key.includes(label)) sum += value;
    return sum;
  }

  /** By one label, of a metric. */
  by(name: string, label: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const [key, value] of this.#samples) {
      const [, labelled] = new RegExp(`${label}="([^"]*)"`).exec(key) ?? [];
      if (key.split('{')[0] !== name || labelled === undefined) continue;
      sums.set(labelled, (sums.get(labelled) ?? 0) + value);
    }
    return sums;
  }
}

/** What a run did, beside what our node says of it. */
export interface Played {
  readonly before: Metrics;
  readonly after: Metrics;
  /** Messages, each over all streams, and those repeated to keep streams alive. */
  readonly published: number;
  readonly beats: number;
  /** Connections that our node made. */
  readonly connected: number;
  /** Answers with several pre-confirmed blocks. */
  readonly stacked: number;
}

/** Whether a fault had its effect. */
const effects: Readonly<Record<Kind, (grown: Grown, played: Played) => boolean>> = {
  lose: (grown) => grown('preconfirmed_dropped_total', 'reason="gap"') > 0,
  // Each of both streams brings what the other has brought: what is more is from the fault.
  duplicate: (grown, { published, beats }) =>
    grown('flashblock_decisions_total', 'decision="duplicate"') > published + 2 * beats + 2,
  swap: (grown) => grown('flashblock_decisions_total', 'decision="gap"') > 0,
  delay: (grown) => grown('flashblock_decisions_total', 'decision="gap"') > 0,
  garble: (grown) => grown('flashblock_undecodable_total') > 0,
  twist: (grown) => grown('preconfirmed_dropped_total', 'reason="refused"') > 0,
  contradict: (grown) => grown('flashblock_contradictions_total') > 0,
  oneFaulty: (_, { before, after }) => {
    const [one, other] = [...after.by('flashblock_messages_total', 'stream')].map(
      ([stream, count]) => count - (before.by('flashblock_messages_total', 'stream').get(stream) ?? 0),
    );
    return one !== other;
  },
  rebuild: (grown) => grown('flashblock_decisions_total', 'decision="rebuild"') > 0,
  early: (grown, { stacked }) => stacked > 0 || grown('flashblock_decisions_total', 'decision="early"') > 0,
  silence: (grown) => grown('preconfirmed_dropped_total', 'reason="silence"') > 0,
  cut: (_, { connected }) => connected > 0,
  sealOther: isSealedOtherwise,
  loseLast: isSealedOtherwise,
  otherParent: isSealedOtherwise,
  reorganise: (grown) => grown('reorganisations_total') > 0,
};

type Grown = (name: string, label?: string) => number;

/** Found when the block is compared, or before that by its hash. */
function isSealedOtherwise(grown: Grown): boolean {
  const [different, longer] = ['different', 'longer'].map((result) =>
    grown('preconfirmed_blocks_total', `result="${result}"`),
  ) as [number, number];
  return different + longer + grown('preconfirmed_dropped_total', 'reason="sealedOtherwise"') > 0;
}

export function hadEffect(kind: Kind, played: Played): boolean {
  const { before, after } = played;
  const grown: Grown = (name, label) => after.sum(name, label) - before.sum(name, label);
  return effects[kind](grown, played);
}

import { hadEffect, type Metrics, type Played } from './effects.ts';
import { type Kind, kinds, type RunScript } from './script.ts';

/** Some faults show only if they befall the right message at the right time. */
const enoughTries = 5;

/** How often each fault was tried, and how often it had its effect. */
export class Tally {
  readonly #runs = new Map<Kind, number>(kinds.map((kind) => [kind, 0]));
  readonly #bites = new Map<Kind, number>(kinds.map((kind) => [kind, 0]));
  /** By the kinds of a run. */
  readonly #combinations = new Map<string, number>();

  count(script: RunScript, played: Played): void {
    add(this.#combinations, script.kinds.join(' + '));
    for (const kind of script.kinds) {
      add(this.#runs, kind);
      if (hadEffect(kind, played)) add(this.#bites, kind);
    }
  }

  /** Faults that were tried often enough and never had their effect: then nothing was tested. */
  get withoutEffect(): readonly Kind[] {
    return kinds.filter((kind) => (this.#runs.get(kind) ?? 0) >= enoughTries && this.#bites.get(kind) === 0);
  }

  show(metrics: Metrics): void {
    console.log('  fault          runs  had its effect');
    for (const kind of kinds) {
      const [runs, bites] = [this.#runs.get(kind), this.#bites.get(kind)].map(String);
      console.log(`  ${kind.padEnd(12)} ${runs?.padStart(6)} ${bites?.padStart(15)}`);
    }
    const times = [...this.#combinations.values()];
    console.log(
      `  ${times.length} faults and pairs of faults, each ${Math.min(...times)} to ${Math.max(...times)} times`,
    );
    for (const [name, label] of [
      ['preconfirmed_dropped_total', 'reason'],
      ['flashblock_decisions_total', 'decision'],
      ['preconfirmed_blocks_total', 'result'],
    ] as const) {
      const counts = [...metrics.by(name, label)].map(([value, sum]) => `${value} ${sum}`);
      console.log(`  ${name} by ${label}: ${counts.join(', ')}`);
    }
  }
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

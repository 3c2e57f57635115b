import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Checks, type Scene, seconds } from '../support/checks.ts';
import { crowding } from './faults/crowding.ts';
import { deepReorg } from './faults/deep-reorg.ts';
import { downtime } from './faults/downtime.ts';
import { finality } from './faults/finality.ts';
import { hopeless } from './faults/hopeless.ts';
import { kills } from './faults/kills.ts';
import { behind, forks, lateFork, otherChain } from './faults/leaders.ts';
import { lies } from './faults/lies.ts';
import { outage } from './faults/outage.ts';
import { reorgs } from './faults/reorgs.ts';
import { trust } from './faults/trust.ts';
import { upstreamCost } from './upstream-cost.ts';

const scenarios: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  reorgs,
  'deep-reorg': deepReorg,
  forks,
  behind,
  'late-fork': lateFork,
  'other-chain': otherChain,
  finality,
  hopeless,
  lies,
  trust,
  outage,
  kills,
  'upstream-cost': upstreamCost,
  crowding,
  downtime,
};

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    /** Names, with commas between them. */
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const names = values.only?.split(',') ?? Object.keys(scenarios);
console.log(`seed ${seed}`);
const checks = new Checks();
for (const name of names) {
  const scenario = scenarios[name];
  if (scenario === undefined)
    throw new Error(`no scenario ${name}; there are ${Object.keys(scenarios).join(', ')}`);
  console.log(`${name}:`);
  const started = performance.now();
  try {
    await scenario({ checks, seed, full: values.full });
  } catch (error) {
    checks.check(
      `${name} runs to its end`,
      false,
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  }
  console.log(`  took ${seconds(started)}`);
}
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;

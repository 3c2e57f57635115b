import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Checks, seconds } from '../support/checks.ts';
import { attackByClients } from './by-clients.ts';
import { heldAttacks } from './held.ts';
import { mixedLoad } from './mixed/mixed.ts';
import type { Scene } from './scene.ts';
import { attackByStreams, attackByUpstreams } from './upstreams/by-upstreams.ts';

const groups: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  clients: attackByClients,
  upstreams: attackByUpstreams,
  streams: attackByStreams,
  held: heldAttacks,
  mixed: mixedLoad,
};

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    /** Names of groups, with commas between them. */
    group: { type: 'string' },
    /** Names of attacks, with commas between them. */
    only: { type: 'string' },
    /** One of so many attacks, which ones by the seed. */
    part: { type: 'string', default: '1' },
  },
});
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const only = values.only === undefined ? undefined : new Set(values.only.split(','));
const part = Number(values.part);
const chooses = (name: string, place: number): boolean =>
  (only === undefined || only.has(name)) && place % part === seed % part;
console.log(`seed ${seed}`);
const checks = new Checks();
for (const name of values.group?.split(',') ?? Object.keys(groups)) {
  const group = groups[name];
  if (group === undefined) throw new Error(`no group ${name}; there are ${Object.keys(groups).join(', ')}`);
  console.log(`${name}:`);
  const started = performance.now();
  try {
    await group({ checks, seed, chooses, isWhole: part === 1 });
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    checks.check(`${name} runs to its end`, false, detail);
  }
  console.log(`  took ${seconds(started)}`);
}
console.log(`${checks.passed} passed, ${checks.failed} failed`);
process.exitCode = checks.failed === 0 ? 0 : 1;

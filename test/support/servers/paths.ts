import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';

export const repoRoot = resolve(import.meta.dirname, '../../..');

/** The official chain and vectors. */
export const conformanceDir = resolve(repoRoot, 'test/data/conformance');
/** Exchanges of the docs, recorded of our own node. */
export const exchangesDir = resolve(repoRoot, 'test/data/exchanges');

/** The official chain: `headfcu.json` holds the Engine API call that makes its last block head, safe and finalized. */
export const officialChain = {
  genesis: resolve(conformanceDir, 'genesis.json'),
  blocks: resolve(conformanceDir, 'chain.rlp'),
  forkchoice: resolve(conformanceDir, 'headfcu.json'),
  networkId: '3503995874084926',
} as const;

function firstExisting(what: string, candidates: readonly string[]): string {
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${what} not found; looked at ${candidates.join(', ')}`);
  return found;
}

const cache = resolve(homedir(), '.cache/chain-query');

/** Path of geth 1.16.7; `GETH` overrides it. */
export function gethBinary(): string {
  const override = process.env['GETH'];
  return firstExisting('geth', override === undefined ? [resolve(cache, 'bin/geth')] : [override]);
}

/** Path of the op-geth that `.ci/run` builds; `OP_GETH` overrides it. */
export function opGethBinary(): string {
  const override = process.env['OP_GETH'];
  return firstExisting('op-geth', override === undefined ? [resolve(cache, 'bin/op-geth')] : [override]);
}

/** Folder of the jars of Cassandra that `.ci/run` fetches. */
export function cassandraJars(): string {
  return firstExisting('Cassandra', [resolve(cache, 'cassandra-5.0.6/lib')]);
}

/** Path of the nats-server that `.ci/run` builds. */
export function natsBinary(): string {
  return firstExisting('nats-server', [resolve(cache, 'bin/nats-server')]);
}

export function anvilBinary(): string {
  return firstExisting('anvil', [
    resolve(repoRoot, 'node_modules/.bin/anvil'),
    resolve(cache, 'node24/node_modules/.bin/anvil'),
  ]);
}

import type { TestProject } from 'vitest/node';
import { startDevNode } from './dev-node.ts';
import { clientTools } from './tools.ts';

/** Where the one node listens that all tests of this suite ask. */
export interface DevPlaces {
  /** The public endpoint. */
  readonly url: string;
  readonly dedicatedUrl: string;
  /** The chain's own client. */
  readonly chainUrl: string;
  /** Where wallets send to. */
  readonly sendUrl: string;
  readonly flashblocksUrl: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    dev: DevPlaces;
  }
}

/** Starts `dev` once for all files, which run one after the other. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Here, where no test waits for it.
  await clientTools();
  const { running, places } = await startDevNode();
  project.provide('dev', places);
  return async () => {
    await running.stop();
  };
}

import type { TestProject } from 'vitest/node';
import { type DevPlaces, startDevNode } from './dev-node.ts';
import { clientTools } from './tools.ts';

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

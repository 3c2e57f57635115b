import type { TestProject } from 'vitest/node';
import { type DevPlaces, startDevNode } from '../support/serve/dev-node.ts';
import { makeParties, type Party, type PartyName } from './parties.ts';
import { clientTools } from './tools.ts';

declare module 'vitest' {
  interface ProvidedContext {
    dev: DevPlaces;
    parties: Record<PartyName, Party>;
  }
}

/** Starts `dev` once for all files, whichever project they are of. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if ('dev' in project.getProvidedContext()) return undefined;
  // Here, where no test waits for it.
  await clientTools();
  const { running, places } = await startDevNode();
  project.vitest.provide('dev', places);
  project.vitest.provide('parties', await makeParties(places.url));
  return async () => {
    await running.stop();
  };
}

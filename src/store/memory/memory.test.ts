import { describeStoreContract } from '../contract.ts';
import { createMemoryStore } from './index.ts';

describeStoreContract('memory', async (options) => ({
  store: createMemoryStore(options),
  dispose: async () => {},
}));

import { describeStoreContract } from '../../../test/support/store/contract.ts';
import { createMemoryStore } from './index.ts';

describeStoreContract('memory', async (options) => ({
  store: createMemoryStore(options),
  dispose: async () => {},
}));

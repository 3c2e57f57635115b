import type { CommandOptions } from '../config/table.ts';
import { NativeExecutor } from '../executor/native-executor.ts';
import { servingOptions } from '../executor/options.ts';
import { configText } from '../rules/chains.ts';
import { storeLoader } from '../store/state-loader.ts';
import type { ChainCopy, CopyModules } from './chain-copy.ts';
import { followChain } from './open.ts';
import { openPassing } from './passing/open-passing.ts';
import { rulesOfCopy } from './rules/chain-rules.ts';
import { restoreHotState } from './state/restore.ts';

/** Opens the copy that a store holds; with upstreams, one that follows its chain. */
export async function openCopy(options: CommandOptions<'serve'>, modules: CopyModules): Promise<ChainCopy> {
  const { upstream } = options;
  if (upstream === undefined) return openStill(options, modules);
  return followChain({ ...options, upstream }, modules);
}

/** A copy that stays as it is. */
async function openStill(
  options: CommandOptions<'serve'>,
  { store, registry }: CopyModules,
): Promise<ChainCopy> {
  const nothing = new Error(`${options.data} holds no chain: import one first`);
  const rules = await rulesOfCopy(store, nothing);
  const load = storeLoader(store);
  const executor = NativeExecutor.create(rules, servingOptions(options), { load });
  await restoreHotState(executor, store, options.hotWindow);
  const { passOn, canSend, close } = openPassing(options, { chainId: executor.chainId, registry });
  return {
    executor,
    load,
    chainConfig: configText(rules),
    passOn,
    canSend,
    condition: async () => ({ head: (await store.marks())?.head, lag: undefined, issues: [] }),
    start() {},
    async close() {
      close();
    },
  };
}

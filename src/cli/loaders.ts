import type { CommandLoaders } from './dispatch.ts';

/** The commands, each loaded when it runs. */
export const LOADERS: CommandLoaders = {
  import: () => import('./commands/import.ts'),
  serve: () => import('./commands/serve.ts'),
  ingest: () => import('./commands/ingest.ts'),
  backfill: () => import('./commands/backfill.ts'),
  verify: () => import('./commands/verify.ts'),
  snapshot: () => import('./commands/snapshot.ts'),
  plan: () => import('./commands/plan.ts'),
  doctor: () => import('./commands/doctor.ts'),
  chains: () => import('./commands/chains.ts'),
  dev: () => import('./commands/dev.ts'),
  keys: () => import('./commands/keys.ts'),
  config: () => import('./commands/config.ts'),
  completion: () => import('./commands/completion.ts'),
};

import { defineConfig } from 'vitest/config';

/** Tests that measure a thread: beside others, the machine is what would be measured. */
const TIMING = [
  'src/rpc/dispatch/{heavy-requests,served-calls,thread-turn}.test.ts',
  'src/rpc/limits/thread-load.test.ts',
  'src/executor/pool{,-priority}.test.ts',
];

export default defineConfig({
  test: {
    // A test that passes only on a second try is a bug report.
    retry: 0,
    projects: [
      {
        test: {
          name: 'unit',
          // By itself it would leave a core of two for what else a machine does.
          maxWorkers: 2,
          include: [
            'src/**/*.test.ts',
            'packages/*/src/**/*.test.ts',
            'native/*.test.js',
            'web/src/**/*.test.ts',
            'scripts/**/*.test.ts',
            'test/architecture/**/*.test.ts',
            'test/differential/**/*.test.ts',
            'test/first-run/**/*.test.ts',
            'test/docs/**/*.test.ts',
            'test/methods/**/*.test.ts',
            'test/support/**/*.test.ts',
          ],
          exclude: TIMING,
          // Some take three seconds when all goes well, and a machine may be busy: only one that hangs is to end here.
          testTimeout: 30_000,
          hookTimeout: 30_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'unit-timing',
          include: TIMING,
          testTimeout: 30_000,
          hookTimeout: 30_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'clients',
          include: ['test/clients/**/*.test.ts'],
          exclude: ['test/clients/timing/**'],
          globalSetup: 'test/clients/setup.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // They mostly wait: for blocks, for the time between two polls.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'clients-timing',
          include: ['test/clients/timing/**/*.test.ts'],
          globalSetup: 'test/clients/setup.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Beside the other clients, the machine is what would be measured.
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'edge',
          include: ['test/edge/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Rates and limits are of whole nodes.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts', 'test/source/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // Each file starts real nodes; two cores carry one set of them.
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'deploy',
          include: ['test/deploy/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'fleet',
          include: ['test/fleet/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
          // Each file starts real clusters; two cores carry one.
          fileParallelism: false,
        },
      },
    ],
  },
});

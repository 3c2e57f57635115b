import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it, vi } from 'vitest';
import { officialGenesis, roomyOptions } from '../../test/support/serve/executor.ts';
import { NativeExecutor } from './native-executor.ts';
import { lowerPoolPriority } from './pool-priority.ts';

it.runIf(process.platform === 'linux')('gives the threads of the pool, and no others, less', async () => {
  const executor = NativeExecutor.create(officialGenesis().config, roomyOptions, { load: () => [] });
  // A thread names itself when it begins.
  await vi.waitFor(() => {
    lowerPoolPriority();
    const tasks = readdirSync('/proc/self/task').map((task) => ({
      name: readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim(),
      niceness: getPriority(Number(task)),
    }));
    const pool = tasks.filter(({ name }) => name.startsWith('evm-'));
    // One more than a single client may have.
    expect(pool).toHaveLength(roomyOptions.poolThreads + 1);
    expect(pool.every(({ niceness }) => niceness === 5)).toBe(true);
    expect(tasks.find(({ name }) => name.startsWith('blocks-'))?.niceness).toBe(getPriority());
  });
  expect(executor.sizes().pooledCalls).toBe(0);
});

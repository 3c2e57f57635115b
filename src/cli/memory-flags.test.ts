import { expect, it } from 'vitest';
import { startWithSmallMemory } from './memory-flags.ts';

const started = {
  execPath: '/bin/node',
  execArgv: ['--inspect'],
  argv: ['/bin/node', '/main.js', 'serve', '--data', 'x'],
  env: { HOME: '/home' },
};
const malloc = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '2097152',
};
const unlimited = ['--no-allocation-site-pretenuring', '--expose-gc'];
const limits = ['--max-semi-space-size=8', '--max-old-space-size=1024', ...unlimited];

it('starts the same program with the same arguments, with limits', () => {
  expect(startWithSmallMemory(started)).toEqual({
    file: '/bin/node',
    args: ['/bin/node', '--inspect', ...limits, '/main.js', 'serve', '--data', 'x'],
    env: { HOME: '/home', ...malloc },
  });
  expect(startWithSmallMemory({ ...started, execArgv: limits })).toBeUndefined();
});

it('leaves what was chosen as it is', () => {
  const flags = (env: Record<string, string>): readonly string[] | undefined =>
    startWithSmallMemory({ ...started, env })?.args.slice(2, -4);
  expect(flags({ NODE_OPTIONS: '--max_semi_space_size=64' })).toEqual(limits.slice(1));
  expect(flags({ NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=1' })).toEqual(unlimited);
  const heaps = startWithSmallMemory({ ...started, env: { MALLOC_ARENA_MAX: '7' } });
  expect(heaps?.env).toEqual({ ...malloc, MALLOC_ARENA_MAX: '7' });
});

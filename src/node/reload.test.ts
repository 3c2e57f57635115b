import { expect, it } from 'vitest';
import { loadOptions } from '../config/load.ts';
import { reload } from './reload.ts';

function serve(...args: readonly string[]) {
  return loadOptions('serve', { args: ['--data', 'd', ...args], env: {} });
}

it('takes over what can change, and names what cannot', () => {
  const now = serve('--threads', '1', '--profile', 'public.rate=5');
  const wanted = serve(
    '--threads',
    '2',
    '--profile',
    'public.rate=6',
    '--call-gas-cap',
    '60000',
    '--log-level',
    'warn',
  );
  const { options, changed, needRestart } = reload(now, wanted);
  expect(changed.toSorted()).toEqual(['callGasCap', 'logLevel', 'profile']);
  expect(needRestart).toEqual(['threads']);
  expect(options).toMatchObject({
    threads: 1,
    callGasCap: 60_000,
    logLevel: 'warn',
    profile: wanted.profile,
  });
  expect(reload(now, now)).toEqual({ options: now, changed: [], needRestart: [] });
});

it('keeps all of the profiles where a listener would have to be another', () => {
  const now = serve('--profile', 'docs.listen=127.0.0.1:0,docs.rate=5');
  for (const text of [
    'docs.listen=127.0.0.1:1,docs.rate=6',
    'docs.listen=127.0.0.1:0,docs.origins=any',
    'more.listen=127.0.0.1:0',
  ]) {
    const { options, changed, needRestart } = reload(now, serve('--profile', text));
    expect([changed, needRestart]).toEqual([[], ['profile']]);
    expect(options.profile).toBe(now.profile);
  }
});

import { expect, it } from 'vitest';
import { UsageError } from '../config/usage-error.ts';
import { defaultDataFolder } from './data-folder.ts';
import { describeError, StoppedError } from './failure.ts';
import { hintsFor } from './hints.ts';
import { tooOld } from './node-version.ts';

const coded = (code: string, message: string, fields: object = {}): Error =>
  Object.assign(new Error(message), { code, ...fields });

it.each([
  ['EMFILE', /ulimit -n/],
  ['ENFILE', /fs\.file-max/],
  ['ENOSPC', /df -h/],
  ['EROFS', /read-only/],
  ['EACCES', /owner \(ls -ld\)/],
  ['unwritable', /df -h/],
  ['full', /--store-map-size/],
  ['schema', /version that wrote it/],
  ['corrupt', /snapshot restore/],
  ['unavailable', /servers of --store/],
])('says what to do about %s', (code, words) => {
  const error = new Error('the store cannot be opened', { cause: coded(code, 'no', { path: '/data' }) });
  const hints = code === 'unwritable' ? hintsFor(coded(code, 'no'), 'serve') : hintsFor(error, 'serve');
  expect(hints.join('\n')).toMatch(words);
});

it('names the option of a listener', () => {
  const cause = coded('EADDRINUSE', 'listen EADDRINUSE', { address: '127.0.0.1', port: 8545 });
  const error = new Error('the dedicated listener cannot use 127.0.0.1:8545', { cause });
  expect(hintsFor(error, 'serve').join('\n')).toContain('--dedicated 127.0.0.1:0');
  const refused = coded('EACCES', 'listen EACCES', { port: 80 });
  const low = new Error('the public listener cannot use 0.0.0.0:80', { cause: refused });
  expect(hintsFor(low, 'serve').join('\n')).toMatch(/below 1024.*--public/);
});

it('prefers what the system said to what the store made of it', () => {
  const error = coded('unwritable', 'cannot be written to', { cause: coded('EACCES', 'no', { path: '/d' }) });
  expect(hintsFor(error, 'serve')).toEqual([expect.stringContaining('this user may not use /d')]);
});

it('says nothing where it knows nothing', () => {
  expect(hintsFor(new Error('odd'), 'serve')).toEqual([]);
  expect(hintsFor('odd', 'serve')).toEqual([]);
  expect(hintsFor(new UsageError('odd'), 'serve')).toEqual([]);
});

it('says of what was stopped whether it goes on', () => {
  expect(hintsFor(new StoppedError('SIGINT', 2), 'import')).toHaveLength(1);
  expect(hintsFor(new StoppedError('SIGINT', 2), 'doctor')).toEqual([]);
  expect(new StoppedError('SIGTERM', 15).exitCode).toBe(143);
});

it('tells an old Node so, and no other', () => {
  expect(tooOld('24.0.0', '/bin/node')).toBeUndefined();
  expect(tooOld('100.1.0', '/bin/node')).toBeUndefined();
  expect(tooOld('22.11.0', '/bin/node')).toMatch(
    /Node\.js 22\.11\.0 is too old: 24 or newer is needed.*\n {2}→ /,
  );
});

it('keeps a chain in a folder of the user', () => {
  const folder = (env: Record<string, string>, platform: string): string =>
    defaultDataFolder('base', env, platform, '/home/me');
  expect(folder({}, 'linux')).toBe('/home/me/.local/share/chain-query/base');
  expect(folder({ XDG_DATA_HOME: '/data' }, 'linux')).toBe('/data/chain-query/base');
  expect(folder({ XDG_DATA_HOME: 'data' }, 'linux')).toBe('/home/me/.local/share/chain-query/base');
  expect(folder({}, 'darwin')).toBe('/home/me/Library/Application Support/chain-query/base');
  expect(folder({ LOCALAPPDATA: '/local' }, 'win32')).toBe('/local/chain-query/base');
});

it('makes a line of any error', () => {
  expect(describeError(new Error('a\n  b\u0007', { cause: new Error('c') }))).toBe('a b\\u0007: c');
  expect(describeError(new Error('x'.repeat(5_000))).length).toBe(1_001);
});

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { useInstalledLibrary } from './native-library.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'a library-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('has lmdb look into the package of the platform', () => {
  mkdirSync(join(folder, 'prebuilds'));
  const env: NodeJS.ProcessEnv = {};
  useInstalledLibrary(env, folder);
  expect(env).toEqual({ LMDB_PREBUILD: folder });
});

it('leaves lmdb to itself where the package brings none, or somebody else decided', () => {
  const env: NodeJS.ProcessEnv = {};
  useInstalledLibrary(env, folder);
  useInstalledLibrary(env);
  expect(env).toEqual({});
  mkdirSync(join(folder, 'prebuilds'));
  const decided = { LMDB_PREBUILD: 'elsewhere' };
  useInstalledLibrary(decided, folder);
  expect(decided).toEqual({ LMDB_PREBUILD: 'elsewhere' });
});

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from './make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'chain-query-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('makes a folder and those above it, and is content with one that is there', () => {
  const path = join(root, 'a', 'b');
  for (let times = 2; times > 0; times--) makeFolder(path);
  expect(existsSync(path)).toBe(true);
});

it('ends where the system makes none', () => {
  expect(() => makeFolder('/proc/chain-query/a')).toThrow('the folder /proc/chain-query/a cannot be made');
});

it('does not take a file for one', () => {
  writeFileSync(join(root, 'file'), '');
  expect(() => makeFolder(join(root, 'file'))).toThrow('is a file, not a folder');
  expect(() => makeFolder(join(root, 'file', 'below'))).toThrow('cannot be made');
});

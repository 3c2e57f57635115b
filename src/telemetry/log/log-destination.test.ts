import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LogDestination } from './log-destination.ts';

function refusal(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** Takes so many bytes at each call, or fails. */
function writingInSteps(steps: readonly (number | string)[]) {
  let text = '';
  const left = [...steps];
  const write = (_: number, bytes: Uint8Array, offset: number): number => {
    const step = left.shift() ?? bytes.length;
    if (typeof step === 'string') throw refusal(step);
    const taken = Buffer.from(bytes).subarray(offset, offset + step);
    text += taken.toString();
    return taken.length;
  };
  return { destination: new LogDestination(1, write), written: () => text };
}

it('writes each line whole, in as many pieces as it takes', () => {
  const { destination, written } = writingInSteps([3, 'EAGAIN', 2]);
  destination.write('{"a":1}\n');
  expect(written()).toBe('{"a":1}\n');
  expect(destination.lost).toBe(0);
});

it('loses what cannot be written, and begins the next line anew', () => {
  const { destination, written } = writingInSteps([3, 'ENOSPC', 'ENOSPC', 100, 100]);
  for (const line of ['{"a":1}\n', '{"b":2}\n', '{"c":3}\n', '{"d":4}\n']) destination.write(line);
  expect(written()).toBe('{"a\n{"c":3}\n{"d":4}\n');
  expect(destination.lost).toBe(2);
});

it('does not wait for a reader for ever', () => {
  const { destination } = writingInSteps(Array.from({ length: 10 }, () => 'EAGAIN'));
  destination.write('line\n');
  expect(destination.lost).toBe(1);
});

it('survives a disk without room', () => {
  const full = openSync('/dev/full', 'w');
  const destination = new LogDestination(full);
  for (let line = 0; line < 3; line++) destination.write('lost\n');
  expect(destination.lost).toBe(3);
  closeSync(full);
  const folder = mkdtempSync(join(tmpdir(), 'chain-query-log-'));
  const file = openSync(join(folder, 'log'), 'a');
  new LogDestination(file).write('kept\n');
  closeSync(file);
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('kept\n');
  rmSync(folder, { recursive: true });
});

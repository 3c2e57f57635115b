import { expect, it } from 'vitest';
import { createProgress, withProgress, withStages } from './progress.ts';

function setup(stream: { isTTY?: boolean; columns?: number }) {
  const written: string[] = [];
  let time = 0;
  const progress = createProgress({
    label: 'import',
    unit: 'blocks',
    stream: { ...stream, write: (text) => written.push(text) },
    now: () => time,
  });
  const tick = (ms: number): void => {
    time += ms;
  };
  return { progress, written, tick };
}

it('draws a bar on a terminal and redraws it in place', () => {
  const { progress, written, tick } = setup({ isTTY: true, columns: 80 });
  progress.update(0, 100);
  tick(1000);
  progress.update(50, 100);
  progress.finish();
  expect(written).toEqual([
    `\r\u001b[2Kimport [${'.'.repeat(40)}] 0/100 blocks, 0.0 blocks/s`,
    `\r\u001b[2Kimport [${'#'.repeat(16)}${'.'.repeat(16)}] 50/100 blocks, 50.0 blocks/s, 1s left`,
    '\n',
  ]);
});

it('never wraps a terminal line', () => {
  for (const columns of [10, 40, 60, 80, 200]) {
    const { progress, written } = setup({ isTTY: true, columns });
    progress.update(123_456_789, 987_654_321);
    expect((written[0] ?? '').replace('\r\u001b[2K', '').length).toBeLessThan(columns);
  }
});

it('writes plain lines elsewhere, at most one every five seconds, and always the last', () => {
  const { progress, written, tick } = setup({});
  for (let done = 0; done <= 10; done++) {
    progress.update(done, 10);
    tick(1000);
  }
  progress.finish();
  expect(written).toEqual([
    'import: 0/10 blocks, 0.0 blocks/s\n',
    'import: 5/10 blocks, 1.0 blocks/s, 5s left\n',
    'import: 10/10 blocks, 1.0 blocks/s, 0s left\n',
  ]);
});

it('says what it knows without a total', () => {
  const { progress, written, tick } = setup({});
  progress.update(0, undefined);
  tick(10_000);
  progress.update(7000, undefined);
  expect(written.at(-1)).toBe('import: 7000 blocks, 700 blocks/s\n');
});

it('counts only its own work after a resume', () => {
  const { progress, written, tick } = setup({});
  progress.update(1000, 2000);
  tick(10_000);
  progress.update(1100, 2000);
  expect(written.at(-1)).toBe('import: 1100/2000 blocks, 10.0 blocks/s, 1m30s left\n');
});

it('is silent when nothing happened', () => {
  const { progress, written } = setup({ isTTY: true });
  progress.finish();
  expect(written).toEqual([]);
});

it('leaves the bar behind when the work fails', async () => {
  const written: string[] = [];
  const stream = { isTTY: true, write: (text: string) => written.push(text) };
  const work = withProgress({ label: 'import', unit: 'blocks', stream }, async (onProgress) => {
    onProgress(1, 2);
    throw new Error('bad block');
  });
  await expect(work).rejects.toThrow('bad block');
  expect(written.at(-1)).toBe('\n');
});

it('gives each stage a line of its own, and a rate from its own beginning', async () => {
  const written: string[] = [];
  let time = 0;
  const stream = { isTTY: true, columns: 80, write: (text: string) => written.push(text) };
  await withStages({ label: 'export', stream, now: () => time }, async (onProgress) => {
    time = 60_000;
    onProgress('keys', 0, undefined);
    time += 1_000;
    onProgress('keys', 500, undefined);
    onProgress('blocks', 0, 10);
    time += 1_000;
    onProgress('blocks', 10, 10);
  });
  expect(written.filter((text) => text === '\n')).toHaveLength(2);
  expect(written.findLast((text) => text.includes('keys'))).toContain('export 500 keys, 500 keys/s');
  expect(written.at(-2)).toContain('10/10 blocks, 10.0 blocks/s');
});

it('draws on a terminal that does not know its width', () => {
  const { progress, written } = setup({ isTTY: true, columns: 0 });
  progress.update(5, 10);
  expect(written[0]).toContain('5/10 blocks');
});

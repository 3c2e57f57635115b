// A serving thread that hangs: the node says so, its metrics can still be read, and it is well again afterwards.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { importArguments, runCli } from '../support/servers/node.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { get, startServing } from '../support/servers/serving.ts';

let data: TempDir;
beforeAll(async () => {
  data = await tempDir('hung');
  await runCli(importArguments(data.path));
});
afterAll(() => data[Symbol.asyncDispose]());

it('shows in /readyz and /metrics', async () => {
  await using dir = await tempDir('hang');
  const [hang, release] = [join(dir.path, 'hang'), join(dir.path, 'release')];
  const preload = join(dir.path, 'hang.mjs');
  // Thread 2 is the second one that serves; it hangs without taking time, until it is let go.
  await writeFile(
    preload,
    `import { existsSync } from 'node:fs';
     import { threadId } from 'node:worker_threads';
     const cell = new Int32Array(new SharedArrayBuffer(4));
     const timer = threadId !== 2 ? undefined : setInterval(() => {
       if (!existsSync(${JSON.stringify(hang)})) return;
       clearInterval(timer);
       while (!existsSync(${JSON.stringify(release)})) Atomics.wait(cell, 0, 0, 50);
     }, 10);
     timer?.unref();`,
  );
  await using node = await startServing(data.path, {
    args: ['--threads', '2', '--ready-worker-ms', '1500'],
    env: { NODE_OPTIONS: `--import=${preload}` },
  });
  const responding = async () => {
    const { status, text } = await get(`${node.adminUrl}/metrics`);
    expect(status).toBe(200);
    const all = [...text.matchAll(/^chain_query_worker_responding\{worker="(\d)"\} (\d)$/gm)];
    return all.map(([, worker, value]) => `${worker}:${value}`);
  };
  expect(await responding()).toEqual(['0:1', '1:1']);
  expect((await get(`${node.adminUrl}/readyz`)).status).toBe(200);
  await writeFile(hang, '');
  const text = await until('the node to notice', async () => {
    const ready = await get(`${node.adminUrl}/readyz`);
    return ready.status === 503 ? ready.text : undefined;
  });
  expect(JSON.parse(text)).toMatchObject({
    reasons: [
      { reason: 'worker', detail: expect.stringMatching(/^serving thread 1 has not responded for \d+ s$/) },
    ],
  });
  // Several at once, and in time: what the hung thread would have said is left out.
  const started = performance.now();
  expect(await Promise.all([responding(), responding(), responding()])).toEqual(
    Array.from({ length: 3 }, () => ['0:1', '1:0']),
  );
  expect(performance.now() - started).toBeLessThan(5_000);
  await writeFile(release, '');
  await until('the node to be well again', async () =>
    (await get(`${node.adminUrl}/readyz`)).status === 200 ? true : undefined,
  );
  expect(await responding()).toEqual(['0:1', '1:1']);
});

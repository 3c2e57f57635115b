// More connections than there may be open files: the others are served, the node can be asked how it is, and it recovers.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { importArguments, runCli } from '../support/servers/node.ts';
import { type TempDir, tempDir, until } from '../support/servers/process.ts';
import { callOnce, get, startServing } from '../support/servers/serving.ts';

let data: TempDir;
beforeAll(async () => {
  data = await tempDir('descriptors');
  await runCli(importArguments(data.path));
});
afterAll(() => data[Symbol.asyncDispose]());

const CLOCK_TICKS = 100;

/** Seconds of CPU that a process has used. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}

it('refuses connections beyond what it has files for, and nothing else', async () => {
  const args = ['--threads', '2'];
  await using node = await startServing(data.path, { args, under: ['prlimit', '--nofile=300:300'] });
  const { port } = new URL(node.publicUrl);
  const sockets = Array.from({ length: 500 }, (): Socket => connect(Number(port), '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => undefined);
  await until('the rest to be refused', () =>
    sockets.filter(({ destroyed }) => destroyed).length >= 350 ? true : undefined,
  );
  const open = sockets.filter(({ destroyed }) => !destroyed);
  expect(open).toHaveLength(150);
  expect(await get(`${node.adminUrl}/readyz`)).toMatchObject({ status: 200 });
  const before = cpuSeconds(node.running.pid);
  await pause(1_000);
  expect(cpuSeconds(node.running.pid) - before).toBeLessThan(0.5);

  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
  const head = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  open[0]?.write(head + body);
  const [answer] = (await once(open[0] as Socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain('"result":"0x36"');

  for (const socket of sockets) socket.destroy();
  await until('connections to be taken again', async () =>
    (await callOnce(node.publicUrl, 'eth_blockNumber')).status === 200 ? true : undefined,
  );
  const lines = node.running.output().trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg)).toEqual([
    'fewer connections than --max-connections asks for: raise the limit of open files',
    'serving',
  ]);
});

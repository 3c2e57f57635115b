import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { start, type TempDir } from '../test/support/servers/process.ts';
import type { Call } from '../test/support/servers/rpc-client.ts';

// wrk reads the request from a script; the body comes by the environment so that the script stays the same.
const script = `wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = os.getenv("BODY")
`;

export interface Measured {
  readonly perSecond: number;
  readonly p50: string;
  readonly p99: string;
}

export type Load = (url: string, call: Call, seconds: number) => Promise<Measured>;

/** Load from one thread over 32 connections that are kept open, as a busy client's pool is. */
export async function prepareWrk(dir: TempDir): Promise<Load> {
  const file = join(dir.path, 'post.lua');
  await writeFile(file, script);
  return async (url, call, seconds) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
    const args = ['-t1', '-c32', `-d${seconds}s`, '--latency', '-s', file, url];
    const running = start('wrk', args, { env: { BODY: body } });
    const code = await running.exited;
    const output = running.output();
    const figure = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? '';
    const perSecond = Number(figure(/Requests\/sec:\s+(\S+)/));
    if (code !== 0 || !(perSecond > 0)) throw new Error(`wrk on ${url} ended with ${code}:\n${output}`);
    if (/Non-2xx|Socket errors/.test(output)) throw new Error(`${url} failed under load:\n${output}`);
    return { perSecond, p50: figure(/^\s+50%\s+(\S+)/m), p99: figure(/^\s+99%\s+(\S+)/m) };
  };
}

import { fileURLToPath } from 'node:url';
import { start, until } from '../support/servers/process.ts';

/** Somebody who takes every byte and does nothing with it. */
export interface Sink extends AsyncDisposable {
  readonly port: number;
}

/** Starts whom control runs attack, as a process of its own. */
export async function startSink(): Promise<Sink> {
  const file = fileURLToPath(new URL('sink.ts', import.meta.url));
  const running = start(process.execPath, [file]);
  const port = await until('the sink to listen', () => {
    const found = /port (\d+)/.exec(running.output())?.[1];
    return found === undefined ? undefined : Number(found);
  });
  return { port, [Symbol.asyncDispose]: () => running.stop() };
}

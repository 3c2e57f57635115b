import { onTestFinished } from 'vitest';
import type { SourceEvent } from '../../../src/source/pool/events.ts';
import { DEFAULT_SOURCE_OPTIONS, type PoolOptions } from '../../../src/source/pool/options.ts';
import { type PoolModules, Upstreams } from '../../../src/source/pool/upstreams.ts';
import { answerTo, type FakeServer, type Reply, startFakeServer } from './upstreams.ts';

export type Behaviour = 'works' | Reply;

export interface Scripted {
  readonly server: FakeServer;
  behaviour: Behaviour;
}

/** A server that echoes, or does what it is told to. */
export async function scripted(behaviour: Behaviour = 'works'): Promise<Scripted> {
  const self = { behaviour };
  const server = await startFakeServer({
    http: (body) =>
      self.behaviour === 'works' ? { body: answerTo(body, ({ params }) => params[0]) } : self.behaviour,
  });
  onTestFinished(() => server.stop());
  return Object.assign(self, { server });
}

/** A pool over scripted servers, and what it reports. */
export function makePool(
  servers: readonly Scripted[],
  modules: PoolModules = {},
  options: Partial<PoolOptions> = {},
): { pool: Upstreams; events: SourceEvent[]; names: readonly string[] } {
  const events: SourceEvent[] = [];
  const pool = new Upstreams(
    servers.map(({ server }) => server.http),
    { ...DEFAULT_SOURCE_OPTIONS.pool, ...options },
    { random: () => 0, observe: (event) => events.push(event), ...modules },
  );
  onTestFinished(() => pool.close());
  return { pool, events, names: pool.upstreams.map(({ name }) => name) };
}

/** What a server says that works no more. */
export const broken: Reply = { status: 500, body: 'no' };

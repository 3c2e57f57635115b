import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { CqlStoreOptions } from '../../src/store/cql/options.ts';
import { type Cassandra, startCassandra } from '../support/servers/fleet/cassandra.ts';

type Place = Pick<
  CqlStoreOptions,
  'contactPoints' | 'localDataCenter' | 'keyspace' | 'replication' | 'chain'
>;

/** Has a test file use a Cassandra of its own; each call of what this gives is the place of another chain. */
export function useCassandra(keyspace: string, nodes: 1 | 3 = 1): () => Place {
  let cassandra: Cassandra | undefined;
  beforeAll(async () => {
    cassandra = await startCassandra({ nodes });
  });
  afterAll(() => cassandra?.[Symbol.asyncDispose]());
  return () => {
    if (cassandra === undefined) throw new Error('Cassandra is not started yet');
    const { contactPoints, localDataCenter } = cassandra;
    return { contactPoints, localDataCenter, keyspace, replication: nodes, chain: randomUUID() };
  };
}

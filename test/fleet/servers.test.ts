import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { Client, types } from 'cassandra-driver';
import { expect, it } from 'vitest';
import { startCassandra } from '../support/servers/fleet/cassandra.ts';
import { startNats } from '../support/servers/fleet/nats.ts';
import { until } from '../support/servers/process.ts';

it('has Cassandra go on at quorum while one of three nodes is dead or paused', async () => {
  await using cassandra = await startCassandra({ nodes: 3 });
  const client = new Client({
    contactPoints: [...cassandra.contactPoints],
    localDataCenter: cassandra.localDataCenter,
    queryOptions: { prepare: true, consistency: types.consistencies.localQuorum },
    socketOptions: { readTimeout: 2_000 },
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => client.shutdown());
  await client.connect();
  expect(client.getState().getConnectedHosts()).toHaveLength(3);
  // All nodes have to agree: that takes its time.
  const define = (query: string): Promise<unknown> =>
    client.execute(query, [], { prepare: false, readTimeout: 30_000 });
  await define(
    "CREATE KEYSPACE test WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
  );
  await define('CREATE TABLE test.rows (key int PRIMARY KEY, value text)');
  const write = (key: number, value: string): Promise<unknown> =>
    client.execute('INSERT INTO test.rows (key, value) VALUES (?, ?)', [key, value], { isIdempotent: true });
  // A node that is paused is asked until the driver has noticed.
  const read = (key: number): Promise<unknown> =>
    until(`row ${key}`, async () => {
      const options = { isIdempotent: true };
      const found = await client.execute('SELECT value FROM test.rows WHERE key = ?', [key], options);
      return found.first()?.['value'] as unknown;
    });
  await until('a first write', () => write(1, 'one').then(() => true));
  expect(await read(1)).toBe('one');

  await cassandra.kill(2);
  await until('a write without node 2', () => write(2, 'two').then(() => true));
  expect([await read(1), await read(2)]).toEqual(['one', 'two']);

  await cassandra.restart(2);
  // Now quorum needs the node that came back.
  cassandra.pause(0);
  expect([await read(1), await read(2)]).toEqual(['one', 'two']);
  cassandra.resume(0);
}, 240_000);

it('has JetStream go on while one of three nodes is dead', async () => {
  await using nats = await startNats({ nodes: 3 });
  const connection = await connect({ servers: [...nats.servers] });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => connection.close());
  const manager = await until('JetStream', () => jetstreamManager(connection));
  await until('a stream', () =>
    manager.streams.add({ name: 'rows', subjects: ['rows'], storage: StorageType.File, num_replicas: 3 }),
  );
  const publish = (text: string): Promise<number> =>
    jetstream(connection)
      .publish('rows', text)
      .then(({ seq }) => seq);
  const read = async (sequence: number): Promise<unknown> =>
    (await manager.streams.getMessage('rows', { seq: sequence }))?.string();
  expect(await publish('one')).toBe(1);

  await nats.kill(2);
  const second = await until('a message without node 2', () => publish('two'));
  expect([await until('a read', () => read(1)), await read(second)]).toEqual(['one', 'two']);

  await nats.restart(2);
  const third = await until('a message with node 2 again', () => publish('three'));
  expect([await read(second), await until('a read', () => read(third))]).toEqual(['two', 'three']);
}, 120_000);

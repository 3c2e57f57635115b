import { describe, expect, it } from 'vitest';
import { cqlPlace } from './store-place.ts';

describe('where a store in CQL is', () => {
  it('has defaults for all but servers and keyspace', () => {
    expect(cqlPlace('cql://a/chains')).toEqual({
      contactPoints: ['a'],
      keyspace: 'chains',
      localDataCenter: 'datacenter1',
      chain: 'main',
      replication: 3,
    });
  });

  it('takes several servers, ports and names', () => {
    const text = 'cql://10.0.0.1:9042,b.example:9043,[::1]:9042/Chains?dc=eu-west&chain=base&replicas=5';
    expect(cqlPlace(text)).toEqual({
      contactPoints: ['10.0.0.1:9042', 'b.example:9043', '[::1]:9042'],
      keyspace: 'chains',
      localDataCenter: 'eu-west',
      chain: 'base',
      replication: 5,
    });
  });

  it.each([
    'http://a/chains',
    'cql://a',
    'cql:///chains',
    'cql://a/1chains',
    'cql://a,/chains',
    'cql://user:secret@a/chains',
    'cql://a/chains?dc=',
    'cql://a/chains?replicas=0',
    'cql://a/chains?chain=a b',
    'cql://a/chains?color=red',
    'cql://a/chains;DROP TABLE x',
  ])('refuses %s', (text) => {
    expect(() => cqlPlace(text)).toThrow(/^expected/);
  });
});

import type { Log } from '../chain/log.ts';
import type { LogQuery } from './interface.ts';

/** Whether a log is an answer to a query. */
export type LogMatcher = (log: Log) => boolean;

/** Compiles a query; long lists of alternatives become a set. */
export function createMatcher(query: LogQuery): LogMatcher {
  const address = createTest(query.addresses);
  const topics = query.topics.map(createTest);
  return (log) => {
    if (log.topics.length < topics.length) return false;
    // The later ones differ most: many logs are of one contract and one event.
    for (let position = topics.length - 1; position >= 0; position--) {
      const topic = log.topics[position];
      if (topic === undefined || topics[position]?.(topic) !== true) return false;
    }
    return address(log.address);
  };
}

function createTest(values: readonly Uint8Array[]): (value: Uint8Array) => boolean {
  if (values.length === 0) return () => true;
  const only = values.length === 1 ? values[0] : undefined;
  if (only !== undefined) {
    const last = only.length - 1;
    // Comparing all of it takes many times as long as its last byte, which differs in most that differ.
    return (value) => value[last] === only[last] && Buffer.compare(only, value) === 0;
  }
  const set = new Set(values.map(latin1));
  return (value) => set.has(latin1(value));
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

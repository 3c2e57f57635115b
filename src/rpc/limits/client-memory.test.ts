import { describe, expect, it } from 'vitest';
import { ClientMemory, type CutReason, type Holder, newClientMemoryShares } from './client-memory.ts';

const MIB = 2 ** 20;

/** A connection of which the test says what its client has taken. */
class FakeConnection implements Holder {
  readonly client: string;
  readonly socket = { writableLength: 0, bytesWritten: 0 };
  heldBytes = 1_024;
  cutFor: CutReason | undefined;

  constructor(client: string) {
    this.client = client;
  }

  send(bytes: number): void {
    this.socket.writableLength += bytes;
    this.socket.bytesWritten += bytes;
  }

  take(bytes: number): void {
    this.socket.writableLength -= bytes;
  }

  cut(reason: CutReason): void {
    this.cutFor = reason;
  }
}

function memoryOf(maxBytes: number, workers = 1): readonly ClientMemory[] {
  const shares = newClientMemoryShares(workers);
  return Array.from(
    { length: workers },
    (_, workerIndex) => new ClientMemory({ maxBytes, sendTimeoutMs: 10_000 }, { shares, workerIndex }),
  );
}

function oneMemory(maxBytes: number): ClientMemory {
  const [memory] = memoryOf(maxBytes);
  if (memory === undefined) throw new Error('no memory');
  return memory;
}

describe('a client that does not take what it is sent', () => {
  it('is cut after a time in which it took nothing', () => {
    const memory = oneMemory(2 ** 40);
    const connection = new FakeConnection('a');
    memory.hold(connection);
    connection.send(1_000);
    for (let second = 0; second <= 10; second++) memory.tick(1_000);
    expect(connection.cutFor).toBeUndefined();
    memory.tick(1_000);
    expect(connection.cutFor).toBe('slow');
    expect(memory.bytes).toBe(0);
    expect(memory.cuts).toEqual({ slow: 1, memory: 0 });
  });

  it('has longer for a large answer, which leaves in one piece', () => {
    const memory = oneMemory(2 ** 40);
    const connection = new FakeConnection('a');
    memory.hold(connection);
    connection.send(640 * 1_024);
    for (let second = 0; second <= 20; second++) memory.tick(1_000);
    expect(connection.cutFor).toBeUndefined();
    memory.tick(1_000);
    expect(connection.cutFor).toBe('slow');
  });

  it('is not cut while it takes something, though ever more waits for it', () => {
    const memory = oneMemory(2 ** 40);
    const connection = new FakeConnection('a');
    memory.hold(connection);
    for (let second = 0; second < 100; second++) {
      connection.send(1_000);
      if (second % 9 === 0) connection.take(500);
      memory.tick(1_000);
    }
    expect(connection.cutFor).toBeUndefined();
  });

  it('is not cut for being idle', () => {
    const memory = oneMemory(2 ** 40);
    const connection = new FakeConnection('a');
    const held = memory.hold(connection);
    connection.send(1_000);
    memory.tick(1_000);
    connection.take(1_000);
    for (let second = 0; second < 100; second++) memory.tick(1_000);
    expect(connection.cutFor).toBeUndefined();
    expect(memory.bytes).toBe(1_024);
    held.release();
    expect(memory.bytes).toBe(0);
  });
});

describe('a process that holds too much for clients', () => {
  it('cuts connections of the client that holds most, and no others', () => {
    const memory = oneMemory(10 * MIB);
    const greedy = Array.from({ length: 20 }, () => new FakeConnection('greedy'));
    const honest = new FakeConnection('honest');
    honest.send(2 * MIB);
    memory.hold(honest);
    for (const connection of greedy) {
      const held = memory.hold(connection);
      connection.send(MIB);
      held.update();
      expect(memory.bytes).toBeLessThanOrEqual(10 * MIB);
    }
    expect(honest.cutFor).toBeUndefined();
    expect(greedy.filter(({ cutFor }) => cutFor === 'memory').length).toBeGreaterThanOrEqual(12);
    expect(greedy.some(({ cutFor }) => cutFor === undefined)).toBe(true);
  });

  it('prefers, among equals, whoever has taken nothing for longest', () => {
    const memory = oneMemory(10 * MIB);
    const [stalled, fresh] = [new FakeConnection('proxy'), new FakeConnection('proxy')];
    for (const connection of [fresh, stalled]) memory.hold(connection);
    stalled.send(4 * MIB);
    for (let second = 0; second < 5; second++) memory.tick(1_000);
    fresh.send(5 * MIB);
    memory.tick(1_000);
    expect([stalled.cutFor, fresh.cutFor]).toEqual([undefined, undefined]);
    const last = new FakeConnection('other');
    last.heldBytes = 2 * MIB;
    memory.hold(last);
    expect([stalled.cutFor, fresh.cutFor, last.cutFor]).toEqual(['memory', undefined, undefined]);
  });

  it('counts all workers, and lets only those pay that hold more than their part', () => {
    const [first, second] = memoryOf(10 * MIB, 2) as [ClientMemory, ClientMemory];
    const greedy = new FakeConnection('greedy');
    greedy.send(9 * MIB);
    first.hold(greedy);
    const honest = new FakeConnection('honest');
    honest.send(2 * MIB);
    second.hold(honest);
    expect([greedy.cutFor, honest.cutFor]).toEqual([undefined, undefined]);
    first.tick(1_000);
    expect([greedy.cutFor, honest.cutFor]).toEqual(['memory', undefined]);
  });

  it('counts what is held beside answers: requests, filters, connections', () => {
    const memory = oneMemory(MIB);
    const connections = Array.from({ length: 2_000 }, () => new FakeConnection('a'));
    for (const connection of connections) memory.hold(connection);
    expect(memory.bytes).toBeLessThanOrEqual(MIB);
    expect(connections.filter(({ cutFor }) => cutFor === 'memory').length).toBe(2_000 - 1_024);
  });
});

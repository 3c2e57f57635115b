import { describe, expect, it } from 'vitest';
import { nativeError } from '../../test/support/native-error.ts';
import { ExecutionLimitError, InvalidBlockError } from './errors.ts';
import { Executions, timeOfRuns, timeUntil } from './executions.ts';

/** As of block 0: an account. */
const oneAccount = `${'0'.repeat(32)}a${'0'.repeat(40)}`;
const nothing = { provide: () => {} };
const roomy = { load: () => [new Uint8Array(0)], time: timeOfRuns(10_000), signal: undefined };

/** A run that ends when it is told to. */
function pending(): { readonly run: () => Promise<object>; end(): void; readonly begun: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<object>();
  const begun = Promise.withResolvers<void>();
  return {
    run: () => {
      begun.resolve();
      return promise;
    },
    end: () => resolve({}),
    begun: begun.promise,
  };
}

describe('Executions', () => {
  it('runs one after the other, in order of asking', async () => {
    const executions = new Executions(nothing);
    const order: string[] = [];
    const first = pending();
    const second = async (): Promise<object> => {
      order.push('second begins');
      await new Promise((resolve) => setImmediate(resolve));
      order.push('second ends');
      return {};
    };
    const done = [
      executions.complete(first.run, roomy),
      executions.complete(second, roomy),
      executions.inTurn(async () => order.push('third')),
    ];
    await first.begun;
    expect(order).toEqual([]);
    first.end();
    await Promise.all(done);
    expect(order).toEqual(['second begins', 'second ends', 'third']);
  });

  it('lets others go on while state is loaded', async () => {
    const executions = new Executions(nothing);
    const loaded = Promise.withResolvers<readonly Uint8Array[]>();
    const loading = Promise.withResolvers<void>();
    let rounds = 0;
    const first = executions.complete(async () => (rounds++ === 0 ? { missing: oneAccount } : {}), {
      ...roomy,
      load: () => {
        loading.resolve();
        return loaded.promise;
      },
    });
    await loading.promise;
    await executions.complete(async () => ({}), roomy);
    loaded.resolve([new Uint8Array(0)]);
    await first;
    expect(rounds).toBe(2);
  });

  it('stops waiting at its deadline, also for its turn', async () => {
    const executions = new Executions(nothing);
    const first = pending();
    const blocking = executions.complete(first.run, roomy);
    let budget: number | undefined;
    const late = executions.complete(
      async (ms) => {
        budget = ms;
        return {};
      },
      { ...roomy, time: timeUntil(performance.now() + 20) },
    );
    await expect(late).rejects.toThrow(ExecutionLimitError);
    first.end();
    await blocking;
    await executions.inTurn(async () => {});
    // Its turn comes all the same, with no time left; and it was cancelled.
    expect(budget).toBeLessThanOrEqual(1);
  });

  it('ends with the reason of the signal, whatever the run is at', async () => {
    const executions = new Executions(nothing);
    const abort = new AbortController();
    const first = pending();
    const running = executions.complete(first.run, { ...roomy, signal: abort.signal });
    const waiting = executions.complete(async () => ({}), { ...roomy, signal: abort.signal });
    await first.begun;
    const reason = new Error('stopped');
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(executions.complete(async () => ({}), { ...roomy, signal: abort.signal })).rejects.toBe(
      reason,
    );
    first.end();
  });

  it('gives all runs of a block one time together', async () => {
    const executions = new Executions(nothing);
    const budgets: number[] = [];
    await executions.complete(
      async (ms) => {
        budgets.push(ms);
        const end = performance.now() + 5;
        while (performance.now() < end);
        return budgets.length < 3 ? { missing: oneAccount } : {};
      },
      { ...roomy, time: timeOfRuns(1_000) },
    );
    const [first = 0, second = 0, third = 0] = budgets;
    expect(first).toBe(1_000);
    expect(second).toBeLessThanOrEqual(995);
    expect(third).toBeLessThanOrEqual(990);
  });

  it.each([
    ['invalid-block', InvalidBlockError],
    ['malformed', InvalidBlockError],
    ['exhausted', ExecutionLimitError],
  ] as const)('gives %s a type', async (code, type) => {
    const run = (): Promise<object> => Promise.reject(nativeError(code, 'no'));
    await expect(new Executions(nothing).complete(run, roomy)).rejects.toBeInstanceOf(type);
  });

  it('refuses more than may wait', async () => {
    const executions = new Executions(nothing);
    const first = pending();
    const waiting = Array.from({ length: 16 }, () => executions.complete(first.run, roomy));
    await expect(executions.complete(first.run, roomy)).rejects.toThrow(ExecutionLimitError);
    first.end();
    await Promise.all(waiting);
  });
});

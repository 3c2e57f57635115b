// What one block or flashblock that never ends does to the thread that has it executed.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { ExecutionLimitError, InvalidBlockError } from '../../src/executor/errors.ts';
import { NativeExecutor } from '../../src/executor/native-executor.ts';
import { roomyOptions } from '../support/serve/executor.ts';
import { loopingDeposit, type MadeBlock, madeConfig, makeBlock } from './made-upstream.ts';

const GAS = 2n ** 40n;
const first = makeBlock(undefined);
const deposit = loopingDeposit(GAS);
/** Nothing of this chain was ever written. */
const load = (keys: readonly { readonly kind: string }[]): Uint8Array[] => keys.map(() => new Uint8Array());

function executorAt(block: MadeBlock, blockTimeLimitMs = 1_000): NativeExecutor {
  const options = { ...roomyOptions, blockTimeLimitMs };
  const executor = NativeExecutor.create(JSON.stringify(madeConfig), options, { load });
  executor.open(executor.outcomeFromJson(executor.blockFromJson(block), []).header);
  return executor;
}

function flashblock(gasUsed: bigint): string {
  const zero = `0x${'0'.repeat(64)}`;
  const { number, timestamp } = makeBlock(first);
  return JSON.stringify({
    ...{ payload_id: '0x0102030405060708', index: 0, metadata: {} },
    base: {
      ...{ parent_beacon_block_root: zero, parent_hash: first.hash, fee_recipient: `0x${'0'.repeat(40)}` },
      ...{ prev_randao: zero, block_number: number, gas_limit: `0x${GAS.toString(16)}`, timestamp },
      ...{ extra_data: '0x', base_fee_per_gas: '0x7' },
    },
    diff: {
      ...{ state_root: zero, receipts_root: zero, logs_bloom: `0x${'0'.repeat(512)}`, block_hash: zero },
      ...{ gas_used: `0x${gasUsed.toString(16)}`, withdrawals_root: zero, transactions: [deposit['raw']] },
    },
  });
}

/** What this thread gets to do while something is waited for. */
async function beside<T>(
  work: Promise<T>,
): Promise<{ readonly error: unknown; readonly turns: number; readonly share: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const [started, cpu] = [performance.now(), process.threadCpuUsage()];
  let turns = 0;
  const over = new AbortController();
  const ended = work.then(
    () => undefined,
    (error: unknown) => error,
  );
  void ended.then(() => over.abort());
  while (!over.signal.aborted) {
    turns += 1;
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
  }
  const { user, system } = process.threadCpuUsage(cpu);
  const ms = performance.now() - started;
  delay.disable();
  console.log(
    `${ms.toFixed(0)} ms, ${turns} turns of the loop, the longest ${(delay.max / 1e6).toFixed(1)} ms late`,
  );
  return { error: await ended, turns, share: (user + system) / 1_000 / ms };
}

it('leaves the thread free while a block is executed, and ends it when it is told to', async () => {
  const executor = executorAt(first);
  const block = executor.blockFromJson(makeBlock(first, [deposit], { gasLimit: GAS, gasUsed: GAS }));
  const reason = new Error('stop');
  const abort = new AbortController();
  setTimeout(() => abort.abort(reason), 500);
  const { error, turns, share } = await beside(executor.execute(block, undefined, abort.signal));
  expect(error).toBe(reason);
  expect(turns).toBeGreaterThan(50);
  expect(share).toBeLessThan(0.5);
  // The next one is executed as if nothing had been.
  const honest = makeBlock(first);
  expect(await executor.execute(executor.blockFromJson(honest))).toMatchObject({ hash: honest.hash });
});

it('ends a block by its claim before the time is over', async () => {
  const executor = executorAt(first, 60_000);
  const block = executor.blockFromJson(makeBlock(first, [deposit], { gasLimit: GAS, gasUsed: 50_000_000n }));
  const { error } = await beside(executor.execute(block));
  expect(error).toBeInstanceOf(InvalidBlockError);
});

it('ends a flashblock at its deadline, or by its claim', async () => {
  const executor = executorAt(first);
  const late = await beside(executor.executeFlashblock(flashblock(GAS), load, performance.now() + 300));
  expect(late.error).toBeInstanceOf(ExecutionLimitError);
  expect(late.turns).toBeGreaterThan(30);
  const soon = performance.now() + 60_000;
  const { error } = await beside(executor.executeFlashblock(flashblock(50_000_000n), load, soon));
  expect(error).toBeInstanceOf(InvalidBlockError);
});

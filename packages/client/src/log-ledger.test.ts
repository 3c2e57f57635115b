import fc from 'fast-check';
import { numberToHex, type RpcLog, zeroHash } from 'viem';
import { expect, it } from 'vitest';
import { HeldLogsError, type LogChange, LogLedger, placeOf, StreamError } from './log-ledger.ts';

const logOf = (block: number, index: number, content: number, isEarly = false): RpcLog => ({
  address: `0x${'11'.repeat(20)}`,
  topics: [],
  data: numberToHex(content),
  blockNumber: numberToHex(block),
  blockHash: isEarly ? zeroHash : numberToHex(content + 1_000 * block, { size: 32 }),
  transactionHash: numberToHex(content, { size: 32 }),
  transactionIndex: '0x0',
  logIndex: numberToHex(index),
  removed: false,
});

/** What a client holds that does as it is told. */
class Client {
  readonly logs: RpcLog[] = [];
  told = 0;
  /** What was the newest, and what was taken back. */
  readonly retracted: [RpcLog | undefined, RpcLog][] = [];

  take({ type, log }: LogChange): void {
    this.told += 1;
    if (type === 'added') this.logs.push(log);
    else this.retracted.push([this.logs.pop(), { ...log, removed: false }]);
  }
}

/** A chain of two logs a block. */
const chainOf = (blocks: readonly number[]): readonly RpcLog[] =>
  blocks.flatMap((content, block) => [0, 1].map((index) => logOf(block, index, content)));

it('holds what the chain has, however often the stream is cut off and whatever happens meanwhile', () => {
  const change = fc.record({
    /** Blocks that are replaced at the end of the chain, and by what. */
    depth: fc.nat({ max: 3 }),
    blocks: fc.array(fc.nat({ max: 4 }), { maxLength: 4 }),
    isCut: fc.boolean(),
    /** How much of what the stream has to say comes before the next change, if it is cut off then. */
    heard: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const client = new Client();
      const ledger = new LogLedger({ block: 0, index: 0 }, 1_000, (told) => client.take(told));
      let chain: number[] = [0];
      let final = 0;
      /** Sent by the stream that there is. */
      let sent: RpcLog[] = [];
      const begin = (): void => {
        ledger.begin(final);
        const { next } = ledger;
        sent = chainOf(chain).filter((log) => {
          const { block, index } = placeOf(log);
          return block < next.block || (block === next.block && index < next.index);
        });
      };
      /** Brings the stream to what the chain has now; only the first part of it, if it is cut off then. */
      const play = (share: number): void => {
        const logs = chainOf(chain);
        let same = 0;
        while (same < sent.length && JSON.stringify(sent[same]) === JSON.stringify(logs[same])) same += 1;
        const messages = [
          ...sent
            .slice(same)
            .reverse()
            .map((log) => ({ ...log, removed: true })),
          ...logs.slice(same),
        ];
        for (const message of messages.slice(0, Math.ceil(messages.length * share))) ledger.take(message);
        sent = [...logs];
      };
      begin();
      play(1);
      for (const { depth, blocks, isCut, heard } of changes) {
        chain = [...chain.slice(0, Math.max(final + 1, chain.length - depth)), ...blocks];
        if (isCut) {
          play(heard);
          begin();
        }
        play(1);
        ledger.compare(chainOf(chain));
        expect(ledger.inDoubt).toBe(0);
        expect(client.logs).toEqual(chainOf(chain));
        for (const [newest, retracted] of client.retracted.splice(0)) expect(retracted).toEqual(newest);
        final = Math.max(final, chain.length - 4);
        ledger.noteFinal(final);
      }
    }),
  );
});

it('says nothing of what still stands after a cut, though it has a block hash now', () => {
  const client = new Client();
  const ledger = new LogLedger({ block: 1, index: 0 }, 10, (told) => client.take(told));
  ledger.begin(0);
  ledger.take(logOf(1, 0, 5, true));
  ledger.begin(0);
  expect(ledger.inDoubt).toBe(1);
  ledger.take(logOf(1, 0, 5));
  expect([client.told, ledger.inDoubt]).toEqual([1, 0]);
});

it('takes back what the chain does not have any more, when nothing else comes', () => {
  const client = new Client();
  const ledger = new LogLedger({ block: 1, index: 0 }, 10, (told) => client.take(told));
  ledger.begin(0);
  for (const log of [logOf(1, 0, 1), logOf(2, 0, 2), logOf(3, 0, 3)]) ledger.take(log);
  ledger.begin(0);
  ledger.compare([logOf(1, 0, 1), logOf(2, 0, 9)]);
  expect(client.logs).toEqual([logOf(1, 0, 1)]);
  expect(ledger.inDoubt).toBe(1);
});

it('refuses a stream that repeats, goes back or takes back what it did not tell', () => {
  const ledger = new LogLedger({ block: 2, index: 1 }, 10, () => {});
  ledger.begin(0);
  expect(() => ledger.take(logOf(2, 0, 1))).toThrow(StreamError);
  ledger.take(logOf(2, 1, 1));
  expect(() => ledger.take(logOf(2, 1, 1))).toThrow(StreamError);
  expect(() => ledger.take({ ...logOf(2, 1, 7), removed: true })).toThrow(StreamError);
});

it('forgets what is final, and ends when too much is not', () => {
  const ledger = new LogLedger({ block: 0, index: 0 }, 3, () => {});
  ledger.begin(-1);
  ledger.take(logOf(0, 0, 1));
  ledger.take(logOf(1, 0, 1));
  ledger.noteFinal(1);
  ledger.take(logOf(2, 0, 1));
  expect([ledger.size, ledger.next]).toEqual([1, { block: 1, index: 1 }]);
  ledger.take(logOf(3, 0, 1));
  ledger.take(logOf(4, 0, 1));
  expect(() => ledger.take(logOf(5, 0, 1))).toThrow(HeldLogsError);
});

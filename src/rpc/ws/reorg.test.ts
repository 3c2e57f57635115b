import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dispatcherOf, textOf } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';

/** What happens to the chain while a call waits: blocks come off and on, and the head may not hear of it. */
const moves = fc.array(
  fc.record({ off: fc.nat(3), on: fc.nat(3), told: fc.boolean(), pause: fc.boolean() }),
  { minLength: 1, maxLength: 12 },
);

const TO = `0x${'00'.repeat(20)}`;
const CALL = ['eth_call', [{ to: TO }]] as const;
const ENTRIES = [
  ['eth_blockNumber', []],
  CALL,
  ['eth_getLogs', [{}]],
  ['eth_getTransactionCount', [TO]],
  CALL,
  ['eth_getLogs', [{ fromBlock: 'earliest' }]],
  CALL,
  ['eth_getBlockReceipts', ['latest']],
] as const;
const BATCH = Buffer.from(
  JSON.stringify(ENTRIES.map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }))),
);

type Entry = { readonly result?: unknown; readonly error?: { readonly code: number } };

it('a batch is of one chain, the one it names, or an error, whatever happens meanwhile (B1, B2, B3)', async () => {
  let complete = 0;
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const left = [...list];
      const chain = new FakeChain().add(1).add(1).add(1).add(1);
      /** The hashes of the chain that each block ended. */
      const chains = new Map<string, ReadonlySet<string>>();
      const remember = (): void => {
        const hashes = chain.blocks.map(({ logs }) => logs.hash);
        chains.set(hashes.at(-1) ?? '', new Set(hashes));
      };
      remember();
      let fork = 0;
      const head = await chain.head(async () => {
        const move = left.shift();
        if (move?.pause === true) await setImmediate();
        if (move !== undefined) {
          chain.truncate(Math.max(0, chain.blocks.length - 1 - move.off));
          remember();
          fork++;
          for (let i = 0; i < move.on; i++) {
            chain.add(1, fork);
            remember();
          }
          if (move.told) await head.refresh();
        }
        return { kind: 'success', output: '0x' };
      });
      const { signal } = new AbortController();
      const response = await dispatcherOf(head).handle(BATCH, { signal, client: 'test' });
      const entries = JSON.parse(textOf(response.body)) as readonly Entry[];
      if (entries.some(({ error }) => error !== undefined)) {
        expect(new Set(entries.map(({ error }) => error?.code))).toEqual(new Set([-32002]));
        return;
      }
      complete++;
      const named = response.snapshot?.head;
      const [number, , last, nonce, , all, , receipts] = entries.map(({ result }) => result);
      const quantity = `0x${named?.number.toString(16)}`;
      expect([number, nonce]).toEqual([quantity, quantity]);
      const hashesOf = (blocks: unknown): unknown =>
        (blocks as { blockHash: string }[]).map((block) => block.blockHash);
      expect(hashesOf(last)).toEqual([named?.hash]);
      expect(hashesOf(receipts)).toEqual([named?.hash]);
      expect(hashesOf(all)).toEqual([...(chains.get(named?.hash ?? '') ?? [])]);
    }),
    { numRuns: 400 },
  );
  expect(complete).toBeGreaterThan(100);
});

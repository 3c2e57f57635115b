import { type Hex, hexToBytes, keccak256 } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/primitives/hex.ts';
import type { SourceEvent } from '../../src/source/pool/events.ts';
import { DEFAULT_SOURCE_OPTIONS } from '../../src/source/pool/options.ts';
import { toStored } from '../../src/source/reads/stored-form.ts';
import { RpcSource } from '../../src/source/rpc-source.ts';
import {
  counterCode,
  counterInitCode,
  type LiveChain,
  type Mined,
  startLiveAnvil,
  startLiveGeth,
} from '../support/servers/live-chain.ts';
import { request } from '../support/servers/rpc-client.ts';
import { owner } from '../support/workload/token.ts';

const UNKNOWN: Hex = `0x${'11'.repeat(32)}`;
const slot = (number: number): Uint8Array => hexToBytes(`0x${number.toString(16).padStart(64, '0')}`);
const hash = (bytes: Uint8Array): Uint8Array => keccak256(bytes, 'bytes');

const servers = { geth: startLiveGeth, anvil: startLiveAnvil } as const;
const cases = (['geth', 'anvil'] as const).flatMap((server) =>
  (['http', 'ws'] as const).map((transport) => ({ server, transport })),
);

describe.each(cases)('$server over $transport', ({ server, transport }) => {
  let chain: LiveChain;
  let source: RpcSource;
  let created: Mined;
  let address: Hex;
  let called: Mined;
  const events: SourceEvent[] = [];

  beforeAll(async () => {
    chain = await servers[server]();
    created = await chain.send({ data: counterInitCode });
    address = created.contractAddress ?? '0x';
    called = await chain.send({ to: address });
    source = new RpcSource([chain[transport]], DEFAULT_SOURCE_OPTIONS, {
      observe: (event) => events.push(event),
    });
  });
  afterAll(async () => {
    source?.close();
    await chain?.[Symbol.asyncDispose]();
  });

  test('reads the head, what is final, and the chain id', async () => {
    const { value: head, upstream } = await source.head();
    // `geth --dev` adds an empty block now and then.
    expect(head.number).toBeGreaterThanOrEqual(Number(called.blockNumber));
    expect((await source.blockByNumber(head.number))?.value).toMatchObject({
      hash: head.hash,
      parentHash: head.parentHash,
    });
    expect(upstream).toBe(chain[transport]);
    const { value: finality } = await source.finality();
    for (const ref of [finality.safe, finality.finalized]) {
      const truth = await request<{ hash: Hex }>(chain.http, 'eth_getBlockByNumber', [
        `0x${ref?.number.toString(16)}`,
        false,
      ]);
      expect(ref?.hash).toBe(truth.hash);
    }
    expect(await source.chainIds()).toEqual([{ value: server === 'geth' ? 1337n : 31337n, upstream }]);
  });

  test('reads blocks as the server gives them', async () => {
    const truth = await request(chain.http, 'eth_getBlockByHash', [created.blockHash, true]);
    expect((await source.blockByHash(created.blockHash))?.value).toEqual(truth);
    expect((await source.blockByNumber(Number(created.blockNumber)))?.value).toEqual(truth);
    expect(await source.blockByHash(UNKNOWN)).toBeUndefined();
    expect(await source.blockByNumber(1_000_000)).toBeUndefined();
  });

  test('reads ancestors that are linked', async () => {
    const { value } = await source.ancestors(called.blockHash, 0);
    expect(value).toHaveLength(Number(called.blockNumber));
    expect(value.at(-1)).toMatchObject({ hash: created.blockHash });
  });

  test('reads receipts by hash', async () => {
    const truth = await request(chain.http, 'eth_getBlockReceipts', [created.blockHash]);
    expect((await source.receipts(created.blockHash)).value).toEqual(truth);
    await expect(source.receipts(UNKNOWN)).rejects.toMatchObject({ type: { code: 'unknownBlock' } });
  });

  test('reads state as of a block, however far the head has moved on', async () => {
    const contract = hexToBytes(address);
    const keys = [
      { kind: 'slot', address: contract, slot: slot(0) },
      { kind: 'slot', address: contract, slot: slot(5) },
      { kind: 'slot', address: contract, slot: slot(6) },
      { kind: 'account', address: contract },
      { kind: 'account', address: hexToBytes(owner.address) },
      { kind: 'account', address: hexToBytes(`0x${'ab'.repeat(20)}`) },
      { kind: 'blockHash', number: Number(created.blockNumber) - 1 },
      { kind: 'code', hash: new Uint8Array(32) },
    ] as const;
    const stored = async (at: Hex): Promise<unknown[]> =>
      (await source.state(keys, at)).map((read) => {
        const { value } = toStored(read, hash);
        return value === undefined ? undefined : toHex(value);
      });
    const before = await stored(created.blockHash);
    const after = await stored(called.blockHash);
    expect([before[0], after[0]]).toEqual(['0x2a', '0x2b']);
    expect(before.slice(1, 4)).toEqual(['0x07', '0x', `0xe30180a0${keccak256(counterCode).slice(2)}`]);
    expect(before[4]).not.toBe(after[4]);
    expect(before.slice(5)).toEqual([
      '0x',
      (await source.ancestors(created.blockHash, 0)).value.at(-1)?.['hash'],
      undefined,
    ]);
    const [, , , account] = await source.state(keys, called.blockHash);
    expect(account).toMatchObject({ account: { nonce: 1n, balance: 0n, code: fromHex(counterCode) } });
  });

  test('says that a block is unknown, and does not answer for another', async () => {
    const account = { kind: 'account', address: hexToBytes(address) } as const;
    await expect(source.state([account], UNKNOWN)).rejects.toMatchObject({ type: { code: 'unknownBlock' } });
    await expect(source.proof(account.address, [], UNKNOWN)).rejects.toMatchObject({
      type: { code: 'unknownBlock' },
    });
  });

  test('reads proofs by hash', async () => {
    const { value } = await source.proof(hexToBytes(address), [slot(0), slot(6)], created.blockHash);
    expect(value).toMatchObject({
      nonce: '0x1',
      codeHash: keccak256(counterCode),
      storageProof: [{ value: '0x2a' }, { value: '0x0' }],
    });
  });

  test('reads many keys in few requests', async () => {
    const keys = Array.from(
      { length: 250 },
      (_, at) => ({ kind: 'slot', address: hexToBytes(address), slot: slot(at) }) as const,
    );
    events.length = 0;
    const values = await source.state(keys, called.blockHash);
    expect(
      values.filter((read) => read.kind === 'slot' && read.value.some((byte) => byte !== 0)),
    ).toHaveLength(2);
    expect(events.filter(({ kind }) => kind === 'exchange')).toHaveLength(3);
  });

  test('finds out once whether the state that a block found can be had', async () => {
    const prestate = await source.prestate(called.blockHash);
    if (server === 'anvil') {
      expect(prestate?.value[0]).toMatchObject({
        [address]: { storage: { [toHex(slot(0))]: toHex(slot(42)) } },
      });
      return;
    }
    expect(prestate).toBeUndefined();
    events.length = 0;
    expect(await source.prestate(created.blockHash)).toBeUndefined();
    expect(events).toEqual([]);
  });
});

test('geth says that old state is gone, which no retry helps', async () => {
  await using chain = await startLiveGeth();
  const created = await chain.send({ data: counterInitCode });
  for (let block = 0; block < 140; block++) await chain.send({ to: owner.address });
  const events: SourceEvent[] = [];
  const source = new RpcSource([chain.http], DEFAULT_SOURCE_OPTIONS, {
    observe: (event) => events.push(event),
  });
  const account = { kind: 'account', address: hexToBytes(owner.address) } as const;
  await expect(source.state([account], created.blockHash)).rejects.toMatchObject({
    type: { code: 'stateUnavailable' },
    retryable: false,
  });
  expect(events.filter(({ kind }) => kind === 'exchange')).toHaveLength(1);
  source.close();
});

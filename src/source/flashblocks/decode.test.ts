import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashAfter, wireMessage } from '../../../test/support/source/flashblocks.ts';
import { type Decoded, DecodeError, decodeFlashblock, decodeMessage } from './decode.ts';
import { DEFAULT_FLASHBLOCK_OPTIONS } from './options.ts';

const limits = DEFAULT_FLASHBLOCK_OPTIONS.stream;
const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const message = wireMessage({ number: 7, index: 0 });

const decode = (value: unknown): Decoded => decodeFlashblock(JSON.stringify(value), limits);
const brotli = (text: string | Uint8Array): Uint8Array => brotliCompressSync(text);
/** Text as it comes in a text frame, bytes as they come in a binary one. */
const receive = async (data: string | Uint8Array): Promise<Decoded> =>
  decodeMessage({ data: Buffer.from(data as Uint8Array), isBinary: typeof data !== 'string' }, limits);

describe('decodeFlashblock', () => {
  it('reads JSON text, JSON bytes and brotli to the same flashblock', async () => {
    const text = JSON.stringify(message);
    const [first, ...others] = await Promise.all([text, Buffer.from(text), brotli(text)].map(receive));
    expect(first).toMatchObject({
      ok: true,
      flashblock: {
        payloadId: message['payload_id'],
        index: 0,
        blockNumber: 7,
        base: { parentHash: hashAfter(6), gasLimit: 60_000_000n, timestamp: 1_700_000_014n },
        diff: { blockHash: hashAfter(7, 0), gasUsed: 21_000n, blobGasUsed: undefined },
      },
    });
    if (!first?.ok) throw new Error('not decoded');
    expect(first.flashblock.diff.transactions.map((bytes) => [...bytes])).toEqual([
      [0x7e, 1],
      [2, 255],
    ]);
    for (const other of others) expect(other).toEqual(first);
  });

  it('has one digest for one content, whatever its spelling and metadata', () => {
    const plain = decode(message);
    const diff = { ...(message['diff'] as object), state_root: '0x00' };
    const spelled = JSON.parse(
      JSON.stringify({ ...message, metadata: {}, more: 1 }).replaceAll(/"0x[0-9a-f]{64}"/g, (hex) =>
        hex.replaceAll(/[a-f]/g, (digit) => digit.toUpperCase()),
      ),
    ) as unknown;
    const other = decode(wireMessage({ number: 7, index: 0, twist: 'other' }));
    if (!plain.ok || !other.ok) throw new Error('not decoded');
    expect(decode(spelled)).toMatchObject({ ok: true, flashblock: { digest: plain.flashblock.digest } });
    expect(other.flashblock.digest).not.toBe(plain.flashblock.digest);
    expect(decode({ ...message, diff })).toMatchObject({ ok: false, error: { type: { code: 'malformed' } } });
  });

  it('takes zeros and fields that are not there for hashes that are not known', () => {
    const zero = `0x${'0'.repeat(64)}`;
    const told = message['diff'] as Readonly<Record<string, unknown>>;
    const read = (change: Readonly<Record<string, unknown>>) => {
      const decoded = decode({ ...message, diff: { ...told, ...change } });
      if (!decoded.ok) throw decoded.error;
      return decoded.flashblock;
    };
    const [real, absent] = [read({}), read({ state_root: zero, block_hash: zero, withdrawals_root: zero })];
    expect(absent.diff).toEqual({
      ...real.diff,
      ...{ stateRoot: undefined, blockHash: undefined, withdrawalsRoot: undefined },
    });
    // The hash of a header without its state root is no block's, but two of them are still a contradiction.
    const [rootless, other] = [
      read({ state_root: zero }),
      read({ state_root: zero, block_hash: hashAfter(9) }),
    ];
    expect(rootless.diff).toEqual({ ...real.diff, stateRoot: undefined, blockHash: undefined });
    expect(new Set([real, absent, rootless, other].map(({ digest }) => digest)).size).toBe(4);
    const missing = { state_root: undefined, block_hash: null, withdrawals_root: undefined };
    expect(read(missing).digest).toBe(absent.digest);
  });

  it('refuses the post-execution transaction of Lagoon in words', () => {
    const decoded = decode({ ...message, diff: { ...(message['diff'] as object), post_exec_tx: '0x7d00' } });
    expect(decoded).toMatchObject({ ok: false, error: { type: { code: 'malformed' } } });
    if (!decoded.ok) expect(decoded.error.message).toMatch(/post_exec_tx.*Lagoon/);
    const without = { ...message, diff: { ...(message['diff'] as object), post_exec_tx: null } };
    expect(decode(without)).toMatchObject({ ok: true });
  });

  it.each([
    ['nothing', '', 'notJson'],
    ['half a message', JSON.stringify(message).slice(0, 300), 'notJson'],
    ['bytes that are not brotli', Buffer.from('hello'), 'notBrotli'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0xfe]), 'notJson'],
    ['brotli of something else', brotli('hello'), 'notJson'],
    ['a list', '[]', 'malformed'],
    ['null', 'null', 'malformed'],
    ['a long message', ' '.repeat(limits.maxMessageBytes + 1), 'tooLarge'],
    ['a brotli bomb', brotli(' '.repeat(limits.maxTextBytes + 1)), 'tooLarge'],
    ['many brackets', '['.repeat(1_000_000), 'tooLarge'],
    ['brotli of many brackets', brotli(Buffer.alloc(limits.maxTextBytes, '[')), 'tooLarge'],
    ['many empty objects', `[${'{},'.repeat(300_000)}{}]`, 'tooLarge'],
  ] as const)('refuses %s', async (_, data, code) => {
    expect(await receive(data)).toMatchObject({ ok: false, error: { type: { code } } });
  });

  it('inflates a bomb beside this thread, and no further than the limit', async () => {
    const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
    const bomb = brotliCompressSync(Buffer.alloc(2 * limits.maxTextBytes, '{'), fast);
    expect(bomb.length).toBeLessThan(1_000);
    const cpuOf = async (work: () => unknown): Promise<number> => {
      const before = process.threadCpuUsage();
      await work();
      const { user, system } = process.threadCpuUsage(before);
      return user + system;
    };
    const here = await cpuOf(() => {
      for (let at = 0; at < 4; at++) {
        expect(() => brotliDecompressSync(bomb, { maxOutputLength: limits.maxTextBytes })).toThrow(/larger/);
      }
    });
    const beside = await cpuOf(async () => {
      for (let at = 0; at < 4; at++) expect(await receive(bomb)).toMatchObject({ ok: false });
    });
    expect(beside).toBeLessThan(here / 2);
  });

  it.each([
    ['index', { index: -1 }],
    ['index', { index: 1.5 }],
    ['index', { index: '0' }],
    ['index', { index: 1e9 }],
    ['base', { index: 1 }],
    ['base', { base: undefined }],
    ['base', { base: null }],
    ['payload_id', { payload_id: '0x01' }],
    ['block_number', { metadata: { block_number: 8 } }],
    ['block_number', { metadata: { block_number: -1 } }],
    ['block_number', { metadata: { block_number: 2 ** 60 } }],
    ['metadata', { metadata: [] }],
    ['diff', { diff: null }],
    ['diff.withdrawals', { diff: { ...(message['diff'] as object), withdrawals: [{}] } }],
    ['diff.transactions', { diff: { ...(message['diff'] as object), transactions: ['0x'] } }],
    ['diff.transactions', { diff: { ...(message['diff'] as object), transactions: {} } }],
    ['diff.gas_used', { diff: { ...(message['diff'] as object), gas_used: `0x1${'0'.repeat(16)}` } }],
    ['diff.gas_used', { diff: { ...(message['diff'] as object), gas_used: '' } }],
  ])('refuses a wrong %s: %j', (field, change) => {
    const decoded = decode({ ...message, ...change });
    expect(decoded).toMatchObject({ ok: false, error: { type: { code: 'malformed' } } });
    if (!decoded.ok) expect(decoded.error.message.startsWith(field)).toBe(true);
  });

  it(`never throws and never gives half of one (TEST_SEED=${seed})`, async () => {
    const whole = (decoded: Decoded): void => {
      if (!decoded.ok) {
        expect(decoded.error).toBeInstanceOf(DecodeError);
        return;
      }
      const { index, base, diff, payloadId } = decoded.flashblock;
      expect(payloadId).toMatch(/^0x[0-9a-f]{16}$/);
      expect(base !== undefined).toBe(index === 0);
      for (const hash of [diff.blockHash, diff.stateRoot, diff.receiptsRoot, diff.withdrawalsRoot]) {
        expect(hash ?? 'unknown').toMatch(/^(0x[0-9a-f]{64}|unknown)$/);
      }
      expect(diff.stateRoot !== undefined || diff.blockHash === undefined).toBe(true);
      expect(diff.transactions.every((bytes) => bytes.length > 0)).toBe(true);
    };
    const paths = Object.entries(message).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? [[name], ...Object.keys(value).map((inner) => [name, inner])]
        : [[name]],
    );
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue(), ([outer = '', inner], value) => {
        const nested = message[outer] as object;
        whole(decode({ ...message, [outer]: inner === undefined ? value : { ...nested, [inner]: value } }));
      }),
      { seed, numRuns: 2_000 },
    );
    const packed = brotli(JSON.stringify(message));
    const text = Buffer.from(JSON.stringify(message));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<Uint8Array>(packed, text),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.nat(),
        async (bytes, flips, cut) => {
          const broken = Uint8Array.from(bytes.subarray(0, bytes.length - (cut % 3 === 0 ? cut % 50 : 0)));
          for (const [at, value] of flips) broken[at % broken.length] = value;
          whole(await receive(broken));
        },
      ),
      { seed, numRuns: 500 },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.uint8Array()), async (data) => whole(await receive(data))),
      { seed, numRuns: 500 },
    );
  });
});

import fc from 'fast-check';
import { paramsByMethod } from './method-params.ts';

/** Request bodies from almost right to plain noise. The first bytes of a class must not be all it ever is. */

const digits = fc.constantFrom(...Array.from('0123456789abcdefABCDEF'));
const hexOf = (min: number, max: number): fc.Arbitrary<string> =>
  fc.array(digits, { minLength: min, maxLength: max }).map((text) => `0x${text.join('')}`);

const badHex = fc.oneof(
  hexOf(0, 70),
  hexOf(0, 70).map((text) => text.slice(2)),
  hexOf(1, 40).map((text) => `${text}g`),
  fc.constantFrom('0x', '0X1', '0x00', '-0x1', '0x-1', ' 0x1', '0x1 ', '0x1_0', '1e3', '０x1', '0x\u0000'),
  fc.string({ maxLength: 20 }),
);

const hugeNumber = fc.oneof(
  fc.constantFrom('1e400', '-1e400', '1e-400', '-0', '0.0', '9'.repeat(400), `0.${'1'.repeat(400)}`, '1E+9'),
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

/** JSON text of any value, numbers spelt in ways that JSON.stringify never would. */
const anyJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 2, arbitrary: badHex.map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: hugeNumber },
  { weight: 1, arbitrary: fc.constantFrom('null', 'true', '[]', '{}', '""', '"\\ud800"', '[[]]', '[null]') },
);

const address = fc.oneof({ weight: 4, arbitrary: hexOf(40, 40) }, { weight: 1, arbitrary: badHex });
const hash = fc.oneof({ weight: 4, arbitrary: hexOf(64, 64) }, { weight: 1, arbitrary: badHex });
const quantity = fc.oneof(
  { weight: 3, arbitrary: fc.nat().map((value) => `0x${value.toString(16)}`) },
  { weight: 1, arbitrary: badHex },
);
const tag = fc.constantFrom('latest', 'pending', 'safe', 'finalized', 'earliest', 'newest');
const bound = fc.oneof(
  tag,
  quantity,
  fc.nat(60).map((value) => `0x${value.toString(16)}`),
);

function record(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const loose = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) }),
    ]),
  );
  return fc.record(loose, { requiredKeys: [] });
}

const selector = fc.oneof(
  { weight: 4, arbitrary: bound },
  { weight: 1, arbitrary: hash },
  { weight: 1, arbitrary: record({ blockNumber: bound, blockHash: hash, requireCanonical: fc.boolean() }) },
);
const topics = fc.array(fc.oneof(fc.constant(null), hash, fc.array(hash, { maxLength: 3 })), {
  maxLength: 5,
});
const filter = record({
  fromBlock: bound,
  toBlock: bound,
  blockHash: hash,
  address: fc.oneof(address, fc.array(address, { maxLength: 3 })),
  topics,
});
const transaction = record({
  from: address,
  to: address,
  gas: quantity,
  gasPrice: quantity,
  maxFeePerGas: quantity,
  maxPriorityFeePerGas: quantity,
  value: quantity,
  data: hexOf(0, 80),
  input: hexOf(0, 80),
  chainId: quantity,
  accessList: fc.array(record({ address, storageKeys: fc.array(hash, { maxLength: 2 }) }), { maxLength: 2 }),
  authorizationList: fc.array(
    record({ chainId: quantity, address, nonce: quantity, yParity: quantity, r: quantity, s: quantity }),
    { maxLength: 2 },
  ),
  blobVersionedHashes: fc.array(hash, { maxLength: 2 }),
});
/** Calls that get as far as the EVM: any bytes are a program. */
const runnable = fc
  .tuple(hexOf(40, 40), fc.uint8Array({ maxLength: 60 }))
  .map(([to, code]) => [{ to }, 'latest', { [to]: { code: `0x${Buffer.from(code).toString('hex')}` } }]);
const account = record({
  balance: quantity,
  nonce: quantity,
  code: hexOf(0, 60),
  state: fc.dictionary(hash, hash, { maxKeys: 2 }),
  stateDiff: fc.dictionary(hash, hash, { maxKeys: 2 }),
  movePrecompileToAddress: address,
});
const block = record({
  number: quantity,
  time: quantity,
  gasLimit: quantity,
  feeRecipient: address,
  prevRandao: hash,
  baseFeePerGas: quantity,
  blobBaseFee: quantity,
  withdrawals: fc.constant([]),
});

const simulation = record({
  blockStateCalls: fc.array(
    record({
      blockOverrides: block,
      stateOverrides: fc.dictionary(address, account, { maxKeys: 2 }),
      calls: fc.array(transaction, { maxLength: 2 }),
    }),
    { maxLength: 3 },
  ),
  validation: fc.boolean(),
  traceTransfers: fc.boolean(),
  returnFullTransactions: fc.boolean(),
});
/** Simulations that get as far as the EVM, with a gap between their blocks. */
const simulated = fc
  .tuple(hexOf(40, 40), fc.uint8Array({ maxLength: 60 }), fc.boolean(), fc.nat(9))
  .map(([to, bytes, traceTransfers, gap]) => {
    const code = `0x${Buffer.from(bytes).toString('hex')}`;
    const calls = [{ from: to, to, value: '0x1' }, { to }, { input: code }];
    const first = { stateOverrides: { [to]: { code, balance: '0xffffffff' } }, calls };
    const number = `0x${(0x38 + gap).toString(16)}`;
    const blockStateCalls = [first, { blockOverrides: { number }, calls }];
    return [{ blockStateCalls, traceTransfers, returnFullTransactions: true }, 'latest'];
  });

const shortened = (params: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown[]> =>
  fc.tuple(fc.tuple(...params), fc.nat(9)).map(([all, cut]) => (cut < all.length ? all.slice(0, cut) : all));

/** Of some, what the schemas do not say: shapes that come close, and programs. */
const closeParams: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  eth_getLogs: shortened([filter]),
  eth_call: fc.oneof(
    runnable,
    shortened([transaction, selector, fc.dictionary(address, account, { maxKeys: 2 }), block]),
  ),
  eth_simulateV1: fc.oneof(simulated, shortened([simulation, selector])),
  eth_getBlockReceipts: shortened([selector]),
  eth_getStorageAt: shortened([address, fc.oneof(quantity, hash), selector]),
  eth_getTransactionCount: shortened([address, selector]),
  eth_getLogsWithCursor: fc
    .tuple(filter, fc.oneof(hexOf(90, 90), badHex))
    .map(([fields, cursor]) => [{ ...(fields as object), cursor }]),
  eth_newFilter: shortened([filter]),
  eth_getFilterChanges: shortened([fc.oneof(quantity, hash)]),
  eth_getFilterLogs: shortened([fc.oneof(quantity, hash)]),
  eth_uninstallFilter: shortened([fc.oneof(quantity, hash)]),
};

/** Parameters that are right, or nearly so, by method: of all that are served. */
const goodParams = new Map(
  [...paramsByMethod].map(([name, params]) => {
    const close = closeParams[name];
    return [name, close === undefined ? params : fc.oneof(close, params)];
  }),
);

const id = fc.oneof(
  { weight: 4, arbitrary: fc.nat().map(String) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)) },
  { weight: 1, arbitrary: hugeNumber },
  { weight: 1, arbitrary: anyJson },
);

/** A request that is right, or nearly so. */
const request: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...goodParams), id, fc.nat(9))
  .chain(([[method, close], requestId, mutation]) => {
    const good = close.map((params) => JSON.stringify(params));
    const params = mutation === 0 ? anyJson : good;
    return params.map((text) => `{"jsonrpc":"2.0","id":${requestId},"method":"${method}","params":${text}}`);
  });

/** JSON of the wrong shape. */
const wrongShape: fc.Arbitrary<string> = fc.oneof(
  anyJson,
  fc
    .tuple(anyJson, anyJson, anyJson, anyJson)
    .map(([a, b, c, d]) => `{"jsonrpc":${a},"id":${b},"method":${c},"params":${d}}`),
  fc
    .tuple(anyJson, fc.constantFrom('jsonrpc', 'id', 'method', 'params', '__proto__', 'constructor'))
    .map(([value, key]) => `{"jsonrpc":"2.0","method":"eth_chainId","id":1,"${key}":${value}}`),
);

const batch: fc.Arbitrary<string> = fc
  .array(fc.oneof(request, wrongShape), { maxLength: 12 })
  .map((entries) => `[${entries.join(',')}]`);

/** Nesting that a recursive reader would not survive. */
const deep: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"params":', '[1,'), fc.nat(30_000), fc.boolean(), fc.boolean())
  .map(([open, depth, closed, inParams]) => {
    const ends: Readonly<Record<string, string>> = {
      '[': ']',
      '{"a":': '}',
      '[{"params":': '}]',
      '[1,': ']',
    };
    const text = open.repeat(depth) + (closed ? `0${(ends[open] ?? '').repeat(depth)}` : '');
    return inParams ? `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[${text}]}` : text;
  });

const cut = (text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc.tuple(text, fc.double({ min: 0, max: 1, noNaN: true })).map(([all, at]) => {
    const bytes = Buffer.from(all);
    return bytes.subarray(0, Math.floor(bytes.length * at));
  });

const flipped = (text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(text, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }))
    .map(([all, changes]) => {
      const bytes = Buffer.from(all);
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
      return bytes;
    });

const asBytes = (text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> => text.map((all) => Buffer.from(all));

export const anyBody: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 40, arbitrary: asBytes(request) },
  { weight: 14, arbitrary: asBytes(wrongShape) },
  { weight: 10, arbitrary: asBytes(batch) },
  { weight: 10, arbitrary: cut(request) },
  { weight: 14, arbitrary: flipped(request) },
  { weight: 4, arbitrary: flipped(batch) },
  { weight: 2, arbitrary: asBytes(deep) },
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
);

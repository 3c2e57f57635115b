import { expect, it } from 'vitest';
import { runMethod } from '../../test/support/serve/methods.ts';
import { renderMethodDocs } from './method-docs.ts';
import { createMethods } from './registry.ts';

const methods = createMethods('1.2.3', []);

const run = (name: string): Promise<unknown> => {
  const method = methods.get(name);
  if (method === undefined) throw new Error(`no ${name}`);
  return runMethod(method, []);
};

it.each([
  ['eth_chainId', '0x1'],
  ['eth_blockNumber', '0x4'],
  ['net_version', '1'],
  ['web3_clientVersion', 'chain-query/test'],
  ['eth_syncing', false],
  ['net_listening', true],
  [
    'eth_capabilities',
    {
      head: { number: '0x4', hash: `0x${'4'.padStart(64, '0')}` },
      ...Object.fromEntries(
        ['state', 'tx', 'logs', 'receipts', 'blocks', 'stateproofs'].map((kind) => [
          kind,
          { disabled: false, oldestBlock: '0x0' },
        ]),
      ),
    },
  ],
  ['op_supportedCapabilities', ['flashblocksv1']],
])('%s answers %j (B12)', async (name, result) => {
  expect(await run(name)).toEqual(result);
});

it('web3_sha3 hashes bytes (B12)', async () => {
  const method = methods.get('web3_sha3');
  if (method === undefined) throw new Error('no web3_sha3');
  expect(await runMethod(method, ['0x68656c6c6f20776f726c64'])).toBe(
    '0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad',
  );
  await expect(runMethod(method, ['0x1'])).rejects.toThrow('invalid argument 0');
});

it('has the five read methods (A2)', () => {
  const reads = ['getLogs', 'call', 'getBlockReceipts', 'getStorageAt', 'getTransactionCount'];
  for (const name of reads) expect(methods.has(`eth_${name}`), name).toBe(true);
});

it('rpc.discover describes every method', async () => {
  const document = (await run('rpc.discover')) as { info: object; methods: { name: string }[] };
  expect(document.info).toMatchObject({ version: '1.2.3' });
  expect(document.methods.map(({ name }) => name)).toEqual([...methods.keys()]);
});

it('the docs page leads to the page of every method', () => {
  const page = renderMethodDocs(methods.values());
  for (const name of methods.keys()) expect(page).toContain(`(methods/${name}.md)`);
});

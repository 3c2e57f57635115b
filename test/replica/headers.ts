// Recomputes, from what an upstream says of its blocks, every header field that can be: which of them are true?
// Usage: node test/replica/headers.ts --chain anvil --blocks 60 --seed 1
import { parseArgs } from 'node:util';
import { fromRlp, type Hex, hexToBytes, keccak256, pad, toRlp } from 'viem';
import { headerHash, quantityBytes } from '../support/lies/header-hash.ts';
import { listRoot } from '../support/lies/trie-root.ts';
import { type ChainName, chainNames, startChain } from '../support/servers/chains.ts';
import { request, send } from '../support/servers/rpc-client.ts';
import { Workload } from '../support/workload/workload.ts';

interface Block {
  readonly [field: string]: unknown;
  readonly hash: Hex;
  readonly number: Hex;
  readonly transactions: readonly { readonly hash: Hex; readonly blobVersionedHashes?: readonly Hex[] }[];
}
interface Log {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}
interface Receipt {
  readonly type: Hex;
  readonly status: Hex;
  readonly gasUsed: Hex;
  readonly cumulativeGasUsed: Hex;
  readonly logsBloom: Hex;
  readonly logs: readonly Log[];
  readonly depositNonce?: Hex;
  readonly depositReceiptVersion?: Hex;
}

function bloomOf(logs: readonly Log[]): Hex {
  const bits = new Uint8Array(256);
  for (const item of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const hash = hexToBytes(keccak256(item));
    for (const at of [0, 2, 4]) {
      const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047;
      bits[255 - (bit >> 3)] = (bits[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
    }
  }
  return `0x${Buffer.from(bits).toString('hex')}`;
}

function encodeReceipt(receipt: Receipt): Hex {
  const logs = receipt.logs.map(({ address, topics, data }) => [address, [...topics], data]);
  const deposit = receipt.depositNonce === undefined ? [] : [quantityBytes(receipt.depositNonce)];
  const version =
    receipt.depositReceiptVersion === undefined ? [] : [quantityBytes(receipt.depositReceiptVersion)];
  const body = toRlp([
    quantityBytes(receipt.status),
    quantityBytes(receipt.cumulativeGasUsed),
    receipt.logsBloom,
    logs as never,
    ...deposit,
    ...version,
  ]);
  return receipt.type === '0x0' ? body : `0x${receipt.type.slice(2).padStart(2, '0')}${body.slice(2)}`;
}

/** A blob transaction as blocks hold it: without what only travels beside it. */
function withoutSidecar(raw: Hex): Hex {
  if (!raw.startsWith('0x03')) return raw;
  const [inner] = fromRlp(`0x${raw.slice(4)}`, 'hex') as readonly unknown[];
  return Array.isArray(inner) ? `0x03${toRlp(inner as Hex[]).slice(2)}` : raw;
}

const elasticity = 2n;
function nextBaseFee(parent: Block): bigint {
  const [limit, used, fee] = ['gasLimit', 'gasUsed', 'baseFeePerGas'].map((name) =>
    BigInt(String(parent[name])),
  );
  if (limit === undefined || used === undefined || fee === undefined) throw new Error('no fee');
  const target = limit / elasticity;
  if (used === target) return fee;
  if (used > target) {
    const more = (fee * (used - target)) / target / 8n;
    return fee + (more > 0n ? more : 1n);
  }
  return fee - (fee * (target - used)) / target / 8n;
}

const gasPerBlob = 131_072n;
const targetBlobGas = 6n * gasPerBlob;
function nextExcess(parent: Block): bigint {
  const sum = BigInt(String(parent['excessBlobGas'])) + BigInt(String(parent['blobGasUsed']));
  return sum > targetBlobGas ? sum - targetBlobGas : 0n;
}

const emptyRequests: Hex = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const { values } = parseArgs({
  options: {
    chain: { type: 'string', default: 'all' },
    blocks: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});

async function check(name: ChainName): Promise<void> {
  await using chain = await startChain(name);
  const { url } = chain;
  const traits = { ...chain.traits, blobs: name !== 'op-geth' };
  const workload = new Workload(Number(values.seed), traits, chain.readNonces);
  const wrong = new Map<string, string[]>();
  const checked = new Map<string, number>();
  const expect = (block: Block, what: string, computed: unknown, said: unknown): void => {
    checked.set(what, (checked.get(what) ?? 0) + 1);
    if (computed === said) return;
    wrong.set(what, [
      ...(wrong.get(what) ?? []),
      `block ${Number(block.number)}: ${String(said)}, computed ${String(computed)}`,
    ]);
  };
  let parent: Block | undefined;
  const observed = async (): Promise<void> => {
    const head = Number(await request<Hex>(url, 'eth_blockNumber'));
    for (let number = parent === undefined ? 0 : Number(parent.number) + 1; number <= head; number += 1) {
      const selector = `0x${number.toString(16)}`;
      const block = await request<Block>(url, 'eth_getBlockByNumber', [selector, true]);
      const receipts = await request<readonly Receipt[]>(url, 'eth_getBlockReceipts', [selector]);
      expect(block, 'hash', headerHash(block), block.hash);
      expect(block, 'receiptsRoot', listRoot(receipts.map(encodeReceipt)), block['receiptsRoot']);
      expect(block, 'logsBloom', bloomOf(receipts.flatMap(({ logs }) => logs)), block['logsBloom']);
      for (const { logs, logsBloom } of receipts) expect(block, 'receipt bloom', bloomOf(logs), logsBloom);
      const gas = receipts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
      expect(block, 'gasUsed', gas, Number(block['gasUsed']));
      expect(block, 'cumulativeGasUsed', Number(receipts.at(-1)?.cumulativeGasUsed ?? 0), gas);
      const raws: Hex[] = [];
      for (const { hash } of block.transactions) {
        const raw = await send(url, { method: 'eth_getRawTransactionByHash', params: [hash] });
        if ('result' in raw) raws.push(withoutSidecar(raw.result as Hex));
        expect(block, 'raw transaction hash', 'result' in raw ? keccak256(raw.result as Hex) : 'none', hash);
      }
      expect(block, 'transactionsRoot', listRoot(raws), block['transactionsRoot']);
      const proof = await send(url, {
        method: 'eth_getProof',
        params: [chain.traits.funder.address, [], selector],
      });
      if ('result' in proof) {
        const { accountProof, nonce, balance, storageHash, codeHash } = proof.result as {
          accountProof: readonly Hex[];
          [field: string]: unknown;
        };
        const [rootNode, leaf] = [accountProof[0], accountProof.at(-1)];
        expect(block, 'stateRoot (eth_getProof)', rootNode && keccak256(rootNode), block['stateRoot']);
        const account = toRlp([
          quantityBytes(nonce),
          quantityBytes(balance),
          storageHash as Hex,
          codeHash as Hex,
        ]);
        expect(block, 'account in its proof', account, leaf && (fromRlp(leaf, 'hex') as readonly Hex[])[1]);
      } else expect(block, 'stateRoot (eth_getProof)', proof.error.message, block['stateRoot']);
      const blobs = block.transactions.reduce((sum, tx) => sum + (tx.blobVersionedHashes?.length ?? 0), 0);
      if (!chain.traits.deposits) {
        expect(block, 'blobGasUsed', BigInt(blobs) * gasPerBlob, BigInt(String(block['blobGasUsed'])));
        expect(block, 'withdrawalsRoot', listRoot([]), block['withdrawalsRoot']);
      }
      if (!chain.traits.requests) expect(block, 'requestsHash', emptyRequests, block['requestsHash']);
      if (parent !== undefined) {
        expect(block, 'parentHash', parent.hash, block['parentHash']);
        expect(
          block,
          'timestamp above its parent',
          true,
          Number(block['timestamp']) > Number(parent['timestamp']),
        );
        if (!chain.traits.deposits) {
          expect(block, 'baseFeePerGas', nextBaseFee(parent), BigInt(String(block['baseFeePerGas'])));
          expect(block, 'excessBlobGas', nextExcess(parent), BigInt(String(block['excessBlobGas'])));
        }
        const history = await request<Hex>(url, 'eth_getStorageAt', [
          '0x0000F90827F1C53a10cb7A02335B175320002935',
          `0x${((number - 1) % 8191).toString(16)}`,
          selector,
        ]);
        expect(block, 'EIP-2935 slot', parent.hash, history);
        const ring = Number(block['timestamp']) % 8191;
        const root = await request<Hex>(url, 'eth_getStorageAt', [
          '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02',
          `0x${(ring + 8191).toString(16)}`,
          selector,
        ]);
        expect(block, 'EIP-4788 root', block['parentBeaconBlockRoot'], root);
        const time = await request<Hex>(url, 'eth_getStorageAt', [
          '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02',
          `0x${ring.toString(16)}`,
          selector,
        ]);
        expect(block, 'EIP-4788 time', pad(block['timestamp'] as Hex, { size: 32 }), time);
      }
      parent = block;
    }
  };
  await observed();
  const contracts = {
    '2935': '0x0000F90827F1C53a10cb7A02335B175320002935',
    '4788': '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02',
    '7002': '0x00000961Ef480Eb55e80D19ad83579A64c007002',
    '7251': '0x0000BBdDc7CE488642fb579F8B00f3a590007251',
    '6110': '0x00000000219ab540356cBB839Cbe05303d7705Fa',
  };
  for (const [eip, address] of Object.entries(contracts)) {
    const code = await request<Hex>(url, 'eth_getCode', [address, 'latest']);
    if (code === '0x') console.log(`${name}: no contract of EIP-${eip}`);
  }
  for await (const block of workload.setup()) {
    await chain.mine(block);
    await observed();
  }
  for (let made = 0; made < Number(values.blocks); made += 1) {
    await chain.mine(await workload.next());
    await observed();
  }
  console.log(`\n${name}: ${Number(parent?.number)} blocks`);
  for (const [what, count] of checked) {
    const reports = wrong.get(what) ?? [];
    console.log(`  ${what.padEnd(28)} ${reports.length} of ${count} wrong`);
    for (const report of reports.slice(0, 2)) console.log(`    ${report.slice(0, 400)}`);
  }
}

for (const name of chainNames) if (values.chain === 'all' || values.chain === name) await check(name);

import { once } from 'node:events';
import { privateKeyToAccount } from 'viem/accounts';
import { WebSocket } from 'ws';
import { Random } from '../../support/random.ts';
import { request } from '../../support/servers/rpc-client.ts';
import { callOnce } from '../../support/servers/serving.ts';
import { type Cases, eachCase, type Judge } from './case.ts';
import { faultOfConnection } from './headers.ts';
import type { Keyring } from './keyring.ts';
import { type KnownNode, startKnownNode } from './known-node.ts';

const LANES = 8;
const SOCKETS = 20;

/** The same over HTTP to a node of its own, which was given credentials of every kind: none is in anything that it says afterwards. */
export async function fuzzOverNode(cases: Cases, ring: Keyring, judge: Judge): Promise<void> {
  await using node = await startKnownNode(ring, cases.seed);
  const { serving } = node;
  let end: number | string | undefined;
  void serving.running.exited.then((code) => {
    end = code;
  });
  const port = Number(new URL(serving.dedicatedUrl).port);
  await eachCase(cases, LANES, judge, (index) =>
    faultOfConnection(port, ring, new Random(cases.seed, index), ({ body }) => node.heard(body)),
  );
  judge(await faultOfUpgrades(node, ring), () => 'upgrades');
  await haveUpstreamsAsked(node);
  judge(end === undefined ? undefined : `it ended with ${end}`, () => 'the node');
  const secrets = await node.findSecrets();
  judge(secrets.length === 0 ? undefined : secrets.slice(0, 20).join('; '), () => 'secrets');
  console.log(`over a node: ${cases.count}, secrets shown: ${secrets.length}`);
}

async function faultOfUpgrades({ serving, heard }: KnownNode, ring: Keyring): Promise<string | undefined> {
  const url = serving.dedicatedUrl.replace('http', 'ws');
  for (let at = 0; at < SOCKETS; at++) {
    const key = ring.keys[at % 2] ?? '';
    const isRight = at % 4 < 2;
    const socket = new WebSocket(`${url}/${isRight ? key : `${key}x`}`);
    const opened = once(socket, 'open').then(
      () => true,
      (error: Error) => {
        heard(error.message);
        return false;
      },
    );
    const isOpen = await opened;
    socket.terminate();
    if (isOpen !== isRight) return `a connection with ${isRight ? 'a key was refused' : 'no key was taken'}`;
  }
  return undefined;
}

/** Sends a transaction, and what only upstreams can answer: their errors are told to clients. */
async function haveUpstreamsAsked({ serving, heard }: KnownNode): Promise<void> {
  const account = privateKeyToAccount(`0x${'01'.repeat(32)}`);
  const chainId = Number(await request(serving.publicUrl, 'eth_chainId'));
  const raw = await account.signTransaction({
    ...{ chainId, type: 'eip1559', nonce: 0, to: account.address, gas: 21_000n },
    ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n },
  });
  for (const [method, params] of [
    ['eth_sendRawTransaction', [raw]],
    ['eth_sendRawTransactionSync', [raw, 500]],
    ['eth_accounts', []],
  ] as const) {
    heard(JSON.stringify((await callOnce(serving.publicUrl, method, params)).body));
  }
}

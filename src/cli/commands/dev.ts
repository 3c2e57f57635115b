import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { loadOptions } from '../../config/load.ts';
import type { CommandOptions } from '../../config/table.ts';
import type { DevChain } from '../../dev/chain.ts';
import { findClient } from '../../dev/clients.ts';
import { renderGuide } from '../../dev/guide.ts';
import { grow, temporaryFolder } from '../../dev/sequencer/growth.ts';
import { openStream } from '../../dev/sequencer/stream.ts';
import { type Node, startNode } from '../../node/start.ts';
import { createLogger } from '../../telemetry/logger.ts';
import type { CommandContext } from '../dispatch.ts';

const FIRST_ANSWER_MS = 15_000;

/** `chain-query dev`: a chain of one's own with pre-confirmations, served until a signal. */
export async function run(options: CommandOptions<'dev'>, context: CommandContext): Promise<void> {
  const { signal, stdout } = context;
  const { command, start } = findClient(options);
  using folder = temporaryFolder();
  await using stream = await openStream();
  await using chain = await start({ command, folder: folder.path, ...options.chainRpc });
  await using node = await startServing(serveOptions(options, chain, [folder.path, stream.url]), signal);
  // Only now, so that our node hears the first block from its beginning.
  await using growth = grow(chain, stream);
  const end = AbortSignal.any([signal, node.failed, growth.failed]);
  const { addresses } = node;
  const reading = addresses['public'] ?? addresses['dedicated'];
  if (reading !== undefined) await firstPreconfirmation(`http://${reading}`, end);
  if (!end.aborted) {
    stdout.write(renderGuide({ version: context.version, chain, stream: stream.url, addresses }));
    await once(end, 'abort');
  }
  growth.failed.throwIfAborted();
  node.failed.throwIfAborted();
}

async function startServing(
  options: CommandOptions<'serve'>,
  signal: AbortSignal,
): Promise<Node & AsyncDisposable> {
  // That a new copy begins is no news here.
  const node = await startNode(options, { logger: createLogger('error'), signal });
  return { ...node, [Symbol.asyncDispose]: () => node.close() };
}

/** Those of `serve` by default, on this chain. */
function serveOptions(
  { public: open, dedicated, admin }: CommandOptions<'dev'>,
  chain: DevChain,
  [folder, stream]: readonly [folder: string, stream: string],
): CommandOptions<'serve'> {
  const args = [
    ...['--data', `${folder}/store`, '--chain', chain.genesisFile, '--flashblocks', stream],
    // The head is a loopback request away.
    ...['--upstream', chain.url, '--upstream-poll-ms', '100'],
    // The machine runs a chain too: late is better than not at all.
    ...['--preconfirmed-timeout-ms', '5000'],
  ];
  return { ...loadOptions('serve', { args, env: {} }), public: open, dedicated, admin };
}

/** What is printed is to work when it is read. */
async function firstPreconfirmation(url: string, end: AbortSignal): Promise<void> {
  const deadline = performance.now() + FIRST_ANSWER_MS;
  while (!end.aborted) {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body });
    await response.body?.cancel();
    if ((response.headers.get('x-chain-pending') ?? 'none') !== 'none') return;
    if (performance.now() > deadline) throw new Error(`nothing was pre-confirmed in ${FIRST_ANSWER_MS} ms`);
    await pause(50, undefined, { signal: end }).catch(() => {});
  }
}

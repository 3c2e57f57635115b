import { existsSync } from 'node:fs';
import { loadOptions } from '../../config/load.ts';
import { urls } from '../../config/parsers.ts';
import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import { parseUint64 } from '../../primitives/parse.ts';
import { DEVELOPMENT_CHAINS } from '../../rules/chains/development.ts';
import { CHAINS, nameOfChain } from '../../rules/chains.ts';
import { poolOptions } from '../../source/pool/options.ts';
import { Upstream } from '../../source/pool/upstream.ts';
import { parseEndpoints } from '../../source/transport/endpoint.ts';
import { askForUpstream, canAsk } from '../ask-upstream.ts';
import { defaultDataFolder } from '../data-folder.ts';
import type { CommandContext } from '../dispatch.ts';
import { runNode } from '../run-node.ts';

/** `chain-query serve`: serves a store, or a replica of one. */
export async function run(options: CommandOptions<'serve'>, context: CommandContext): Promise<void> {
  const added = await missing(options, context);
  if (added.length === 0) return runNode('serve', options, context);
  // As if they had been given: what reads the options again later finds them, too.
  const sources = { ...context.sources, args: [...context.sources.args, ...added] };
  return runNode('serve', loadOptions('serve', sources), { ...context, sources });
}

/** What has to be added to the options: who to follow, where nothing is held yet, and where to keep it. */
async function missing(
  options: CommandOptions<'serve'>,
  context: CommandContext,
): Promise<readonly string[]> {
  const { data, store, upstream, chain } = options;
  if (store !== undefined) return [];
  if (upstream !== undefined) return data === undefined ? folderFor(upstream, options, context) : [];
  if (data !== undefined) {
    // A folder that is not there is told of as always, where there is nobody to ask.
    if (existsSync(data) || !canAsk(context)) return [];
  } else if (!canAsk(context)) throw lacking(chain);
  const url = await askForUpstream(chain, context);
  if (url === undefined) throw lacking(chain);
  const folder = data === undefined ? await folderFor(urls(url), options, context) : [];
  return ['--upstream', url, ...folder];
}

/** The folder of a chain that is known by name. Any other has none: two of them would meet in one. */
async function folderFor(
  upstream: readonly string[],
  options: CommandOptions<'serve'>,
  { sources, signal }: CommandContext,
): Promise<readonly string[]> {
  const { chain } = options;
  const name = chain === undefined ? nameOfChain(await chainIdOf(upstream, options, signal)) : chain;
  const row = CHAINS.find((known) => known.name === name);
  if (row === undefined || DEVELOPMENT_CHAINS.includes(row)) return needsData();
  return ['--data', defaultDataFolder(row.name, sources.env)];
}

/** The chain that the first upstream says that it is of. */
async function chainIdOf(
  upstream: readonly string[],
  options: CommandOptions<'serve'>,
  signal: AbortSignal,
): Promise<bigint> {
  const [endpoint] = parseEndpoints(upstream);
  if (endpoint === undefined) return needsData();
  const asked = new Upstream(endpoint, poolOptions(options));
  try {
    return parseUint64(await asked.request('eth_chainId', [], signal), 'chain id');
  } finally {
    asked.close();
  }
}

function lacking(chain: string | undefined): UsageError {
  const words = ['serve', ...(chain === undefined ? [] : ['--chain', chain])];
  return new UsageError('--upstream URL is missing (or set CHAIN_QUERY_UPSTREAM): whom to follow', {
    hints: [
      `follow a chain: chain-query ${[...words, '--upstream', 'https://HOST'].join(' ')}`,
      'serve a store that is there: chain-query serve --data DIR',
      'a chain to try it with, nothing else needed: chain-query dev',
    ],
  });
}

function needsData(): never {
  throw new UsageError('--data DIR is missing (or set CHAIN_QUERY_DATA): where to keep the copy', {
    hints: [
      'name a folder: --data DIR; it is made when it is not there',
      'or name the chain, which then has a folder of its own: --chain op-mainnet (chain-query chains prints all)',
    ],
  });
}

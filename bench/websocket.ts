import { loadavg } from 'node:os';
import type { Hex } from 'viem';
import { total } from '../test/support/servers/our-node.ts';
import { holder } from './live-chain.ts';
import { FlashblockChain, type ReadyBlock } from './preconfirmed/chain.ts';
import { ms, quantile } from './preconfirmed/clock.ts';
import { transfersTo } from './preconfirmed/freshness.ts';
import { markdown, type Section } from './report.ts';
import { type ClientKind, startClients } from './websocket-clients.ts';

const tokenCount = 10;
const transfersPerToken = 2;
const transfers = tokenCount * transfersPerToken;
const partsPerBlock = 9;
const clientCount = 2_000;
/** Of many narrow filters and a few that let everything through, as clients of a node are. */
const shares = { address: 0.45, topics: 0.5, none: 0.05 };
/** Seconds late is a failure on any machine. */
const grossMs = 5_000;

/** Each token pays two of twenty holders, so that every filter has matches in every flashblock. */
async function build(chain: FlashblockChain): Promise<ReadyBlock> {
  const parts: Hex[][] = [];
  for (let part = 0; part < partsPerBlock; part += 1) {
    const list: Hex[] = [];
    for (let at = 0; at < transfers; at += 1) {
      list.push(await chain.transfer(holder(at), chain.tokens[at % tokenCount]));
    }
    parts.push(list);
  }
  return chain.build(parts);
}

function kindsOn(chain: FlashblockChain): readonly ClientKind[] {
  return [
    {
      name: 'one address',
      count: clientCount * shares.address,
      filters: chain.tokens.map((address) => ({ address })),
      logs: transfersPerToken,
    },
    {
      name: 'topics',
      count: clientCount * shares.topics,
      filters: Array.from({ length: transfers }, (_, at) => ({ topics: transfersTo(chain, holder(at)) })),
      logs: 1,
    },
    { name: 'none', count: clientCount * shares.none, filters: [{}], logs: transfers },
  ];
}

/** Delivery of `pendingLogs` to many clients of one process, and the memory they take. */
export async function websocket({ quick }: { readonly quick: boolean }): Promise<Section> {
  await using chain = await FlashblockChain.start(tokenCount);
  await chain.follow();
  const warmUp = await build(chain);
  const blocks: ReadyBlock[] = [];
  while (blocks.length < (quick ? 4 : 20)) blocks.push(await build(chain));
  await chain.replay([warmUp], {});
  await chain.settle();
  const memory = async (): Promise<number> =>
    (await total(chain.ours, 'chain_query_process_resident_memory_bytes')) / 2 ** 20;
  const before = await memory();
  const kinds = kindsOn(chain);
  await using clients = await startClients({ url: chain.ours.url, kinds });
  const connected = await memory();
  console.log(`${clientCount} clients have subscribed`);
  const publishedAt: number[] = [];
  await chain.replay(blocks, {
    published: ({ message }, at) => {
      if (message.index > 0) publishedAt.push(at);
    },
  });
  const results = await clients.results(publishedAt);
  const after = await memory();
  const seconds = ((publishedAt.at(-1) ?? 0) - (publishedAt[0] ?? 0)) / 1000;
  const all = { name: 'all', lags: results.flatMap(({ lags }) => [...lags]) };
  const sum = (of: (result: (typeof results)[number]) => number): number =>
    results.reduce((whole, result) => whole + of(result), 0);
  const messages = sum((result) => result.messages);
  const rows = [...results, all].map(({ name, lags }) => [
    name,
    String(kinds.find((kind) => kind.name === name)?.count ?? clientCount),
    ...[0.5, 0.99, 1].map((share) => ms(quantile(lags, share))),
  ]);
  const p99 = quantile(all.lags, 0.99);
  const failures = [
    [sum(({ wrong }) => wrong) > 0, `${sum(({ wrong }) => wrong)} clients had too few messages or too many`],
    [sum(({ removed }) => removed) > 0, `${sum(({ removed }) => removed)} logs were taken back`],
    [sum(({ closed }) => closed) > 0, `${sum(({ closed }) => closed)} clients were closed`],
    [!(p99 < grossMs), `p99 is ${ms(p99)} ms`],
  ] as const;
  const mib = (value: number): string => value.toFixed(0);
  return {
    name: 'websocket',
    facts: [
      `${clientCount.toLocaleString('en-US')} WebSocket clients on one node with 2 serving threads, one \`pendingLogs\` subscription each, in one process of their own; ${publishedAt.length} flashblocks of ${transfers} token transfers every 200 ms, ten a block.`,
      'From when the stream begins to write a flashblock until a client has the last of its logs; every log is a message of its own. Every client counts its messages: none lost, none twice.',
      'Memory is the resident set of the whole node.',
    ],
    tables: [
      markdown(['delivery lag by filter, ms', 'clients', 'p50', 'p99', 'max'], rows),
      markdown(
        [
          'messages',
          'messages/s',
          'MiB before',
          'MiB connected',
          'MiB after',
          'KiB a client',
          'load average',
        ],
        [
          [
            messages.toLocaleString('en-US'),
            Math.round(messages / seconds).toLocaleString('en-US'),
            ...[before, connected, after].map(mib),
            (((connected - before) * 1024) / clientCount).toFixed(0),
            (loadavg()[0] ?? 0).toFixed(1),
          ],
        ],
      ),
    ],
    failures: failures.flatMap(([failed, words]) => (failed ? [words] : [])),
  };
}

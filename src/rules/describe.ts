import { CHAINS } from './chains.ts';
import type { ChainRow } from './row.ts';

/** What is told of each chain, in order. */
export const CHAIN_HEADINGS = [
  'name',
  'chain id',
  'newest fork known',
  'since',
  'block time',
  'pre-confirmations',
  'not executed here',
] as const;

/** The table of chains, a list of cells a row. */
export function chainCells(): readonly (readonly string[])[] {
  return CHAINS.map((row) => [
    row.name,
    String(row.config.chainId),
    row.newestFork.name,
    day(row.newestFork.since),
    row.blockTimeMs < 1_000 ? `${row.blockTimeMs} ms` : `${row.blockTimeMs / 1_000} s`,
    row.preconfirmations,
    notExecuted(row),
  ]);
}

/** The page 'Supported chains'. */
export function renderChainsPage(): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const sources = CHAINS.map(({ name, source }) => line([name, source]));
  return `# Supported chains

Made from \`src/rules/chains/\` by \`npm run docs\`: correct it there. \`chain-query chains\` prints the same. A chain is told by
its id; \`--chain NAME\` names one, and \`--chain FILE\` gives the genesis file, or its \`config\`, of any other.

${line(CHAIN_HEADINGS)}
${line(CHAIN_HEADINGS.map(() => '---'))}
${chainCells().map(line).join('\n')}

## A chain of your own

\`--chain FILE\` takes geth's and op-geth's fields (\`shanghaiTime\` … \`bpo5Time\`, \`bedrockBlock\` … \`karstTime\`, \`blobSchedule\`)
and Base's (\`base: { azul, beryl, cobalt, denim }\`). A field that ends in \`Time\` or \`Block\` and is not known here is a fork
whose rules are not known: the node says so when it starts and stops before the first block of it, in words; a copy is not begun
at such a block. Known by name and not executed: Amsterdam (Ethereum), Lagoon (OP stack).

## What the forks of 2026 change

| fork | executed here |
|---|---|
| Osaka, Karst, Azul | MODEXP bounds and price (EIP-7823, 7883), 2^24 gas a transaction with deposits exempt (7825), CLZ (7939), P256VERIFY at 6,900 gas (7951) |
| Karst | and pairings of at most 57,600 bytes; Azul keeps Jovian's 81,984 |
| Beryl, Cobalt | no rules of the EVM; native contracts, which are not executed: [their effects](native-contracts.md) are an upstream's |
| Denim | blocks every 200 ms, about five of them with one timestamp |
| BPO1, BPO2 | blob schedule |

## Where the rows come from

${line(['chain', 'source'])}
${line(['---', '---'])}
${sources.join('\n')}
`;
}

function notExecuted({ notExecuted: words, unknownFork }: ChainRow): string {
  if (unknownFork === undefined) return words ?? '–';
  return `${words ?? 'blocks'} (${day(unknownFork.since)})`;
}

function day(time: number): string {
  return time === 0 ? 'genesis' : new Date(time * 1_000).toISOString().slice(0, 10);
}

// What indexers look for in the words of errors, read off their sources: facts, by the file and commit that has them.

/** What our error says: the range is too wide, has too many results, ends above the head; or that it is too often. */
export type Said = 'range' | 'results' | 'head' | 'rate';

/** Which blocks an indexer asks for next, of those it was refused. */
export type Narrowing = (match: RegExpExecArray, from: number, to: number) => number;

export interface IndexerWords {
  readonly client: string;
  readonly said: Said;
  /** Of what it looks for, the first that fits ours; absent where it knows no words for this. */
  readonly words?: RegExp;
  /** The last block of what it asks for instead. */
  readonly narrow?: Narrowing;
  /** What it does. */
  readonly does: string;
}

const hinted: Narrowing = ([, , last]) => Number(last);
const blocks: Narrowing = ([, count], from) => from + Number(count) - 1;
const tenth: Narrowing = (_, from, to) => from + Math.floor((to - from) / 10);
const half: Narrowing = (_, from, to) => from + Math.floor((to - from + 1) / 2) - 1;

/** Where each of them says so. */
export const SOURCES = {
  'graph-node':
    'graphprotocol/graph-node f27eb5f2ce9589a10e1dcae616da1358bb51a1e0 chain/ethereum/src/ethereum_adapter.rs',
  squid: 'subsquid/squid-sdk b1bb0b3aba67339c8d4ecd54fc5ae75ddf83fafe evm/evm-processor/src/ds-rpc/rpc.ts',
  hyperindex:
    'enviodev/hyperindex 700e43ac80b1fe1608b48c8d7a24ad3fd62fbb40 packages/cli/src/evm_rpc_source/classify.rs',
  eRPC: 'erpc/erpc 2f9eceffa3a3172b0b075847ab95e9d5916123fc architecture/evm/error_normalizer.go',
} as const;

export const INDEXER_WORDS: readonly IndexerWords[] = [
  {
    ...{ client: 'graph-node', said: 'range', words: /block range too large/, narrow: tenth },
    does: 'asks for a tenth of the range, down to single blocks',
  },
  {
    ...{ client: 'graph-node', said: 'results', words: /Try with this block range/, narrow: tenth },
    does: 'asks for a tenth of the range, down to single blocks',
  },
  { client: 'graph-node', said: 'head', does: 'asks the same again: it only asks up to a head it was told' },
  { client: 'graph-node', said: 'rate', does: 'asks the same again, later each time' },
  {
    ...{ client: 'squid', said: 'range' },
    does: 'fails; it asks for a stride of blocks at a time, five by default, and never for so many',
  },
  {
    ...{ client: 'squid', said: 'results', narrow: hinted },
    words: /try with this block range \[(0x[0-9a-f]+), (0x[0-9a-f]+)]/i,
    does: 'asks for the range it is told, and for what is above it',
  },
  {
    ...{ client: 'squid', said: 'head', words: /block range extends beyond current head block/i },
    does: 'takes it for a node that is behind, and asks again',
  },
  { client: 'squid', said: 'rate', words: /rate limit|too many requests/i, does: 'asks again, later' },
  {
    ...{ client: 'hyperindex', said: 'range', words: /maximum allowed is (\d+) blocks/, narrow: blocks },
    does: 'asks for so many blocks from then on',
  },
  {
    ...{ client: 'hyperindex', said: 'results', words: /retry with the range (\d+)-(\d+)/, narrow: hinted },
    does: 'asks for the range it is told',
  },
  { client: 'hyperindex', said: 'head', does: 'asks for less, after a while, as for all it does not know' },
  { client: 'hyperindex', said: 'rate', does: 'asks for less, after a while, as for all it does not know' },
  {
    ...{ client: 'eRPC', said: 'range', words: /range too large/, narrow: half },
    does: 'asks for both halves, where it is told to split; tells its client -32012 else',
  },
  {
    ...{ client: 'eRPC', said: 'results', words: /Try with this block range/, narrow: half },
    does: 'asks for both halves, where it is told to split; tells its client -32012 else',
  },
  {
    ...{ client: 'eRPC', said: 'head' },
    does: 'passes it on; it holds a range against the heads it knows before it asks',
  },
  { client: 'eRPC', said: 'rate', words: /rate limit/, does: 'takes another upstream for a while' },
];

/** What would have them take one of our errors for another: of what each looks for, what comes before, or is something else. */
export const OTHER_WORDS: readonly { readonly client: string; readonly said: Said; readonly not: RegExp }[] =
  [
    // A tenth of the range for ever, instead of an end.
    { client: 'graph-node', said: 'head', not: /Try with this block range|block range too large/ },
    { client: 'graph-node', said: 'rate', not: /Try with this block range|block range too large/ },
    // Looked for before the rate.
    { client: 'eRPC', said: 'rate', not: /range too large|max block range|exceeds max results|is too big/ },
    // Would be taken for an upstream that gives no more.
    { client: 'eRPC', said: 'range', not: /rate limit|too many requests|limit exceeded|has exceeded/i },
    // Looked for before the number of blocks: other numbers.
    { client: 'hyperindex', said: 'range', not: /retry with the range|limited to|up to a|Max range/ },
    { client: 'squid', said: 'range', not: /query exceeds max results|query returned more than/i },
  ];

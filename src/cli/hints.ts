import { suggestion } from '../config/suggest.ts';
import { UsageError } from '../config/usage-error.ts';
import { CHAINS } from '../rules/chains.ts';
import { StoppedError } from './failure.ts';

type Hints = readonly string[];

/** By what a system call, a store or an upstream answered. */
const BY_CODE: Readonly<Record<string, Hints>> = {
  EADDRNOTAVAIL: ['this machine has no such address: 127.0.0.1 is itself, 0.0.0.0 all of its addresses'],
  EMFILE: [
    'this process has too many files open: raise the limit (ulimit -n 65536), or LimitNOFILE= of the unit',
  ],
  ENFILE: ['the machine has too many files open: raise fs.file-max (sysctl fs.file-max)'],
  ENOSPC: ['the disk is full: make room (df -h shows where), or name a folder on another disk'],
  EROFS: ['the disk is read-only: name a folder on one that can be written, with --data DIR'],
  ENOTDIR: ['a part of the path is a file: name another folder'],
  inUse: ['to look at the store beside it: serve without --upstream, verify, doctor'],
  full: ['raise --store-map-size: it is address space, not memory or disk'],
  schema: ['use the version that wrote it, or name another folder and follow or import the chain again'],
  corrupt: [
    'chain-query verify --data DIR says which block; chain-query snapshot restore brings back a copy',
  ],
  unavailable: ['check that the servers of --store run and can be reached from here'],
  unauthorized: ['check the key or the password in the URL'],
  unreachable: ['check the URL, and that the server runs: chain-query doctor --upstream URL'],
  timeout: ['use a nearer server, or raise --upstream-timeout-ms'],
  rateLimited: ['lower --upstream-in-flight and --upstream-batch-calls, or ask for a higher limit'],
  garbage: ['this URL does not answer as JSON-RPC servers do: check it'],
  stateUnavailable: ['use a server that keeps state of this block (an archive), or begin at --anchor latest'],
  unsupported: ['use a server that offers it: chain-query doctor --upstream URL says what one offers'],
  otherChain: ['name an upstream of this chain, or another --data'],
};

/** What to do about an error, by its words, where nothing else tells it apart. */
const BY_WORDS: readonly (readonly [RegExp, (found: RegExpExecArray, command: string) => Hints])[] = [
  [
    /no chain is known by the name "([^"]*)"/,
    ([, name = '']) => {
      const names = CHAINS.map((row) => row.name);
      const near = suggestion(name, names).trim();
      return [
        ...(near === '' ? [] : [near]),
        'chain-query chains prints all; --chain FILE takes a genesis file',
      ];
    },
  ],
  [/--chain: there is no file/, () => ['chain-query chains prints the names that need no file']],
  [
    /is of chain \S+, and (?:this|the) copy .*is of chain/,
    () => ['name an upstream of that chain, or another --data for this one'],
  ],
  [
    /holds no chain|does not exist: import a chain first|there is no store at/,
    () => [
      'follow a chain into it: chain-query serve --data DIR --upstream URL',
      'or import one: chain-query import --data DIR --genesis FILE --blocks FILE',
    ],
  ],
  [/the store holds another chain|the file is of another chain/, () => ['name another folder: --data DIR']],
  [/--flashblocks needs --upstream/, () => ['add the server of the same chain: --upstream URL']],
  [
    /whose rules this version does not know|rules of chain \S+ are not known/,
    () => [
      'upgrade chain-query, or give the rules with --chain FILE; chain-query chains prints what is known',
    ],
  ],
  [/a chain client is missing/, () => ['run: npm install @foundry-rs/anvil']],
];

/** What to do next, a line each. None is better than one that says nothing. */
export function hintsFor(error: unknown, command: string): Hints {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const hints = hintsOf(cause, error, command);
    if (hints.length > 0) return hints;
  }
  // Only where what the system said tells no more.
  if (error instanceof Error && (error as { readonly code?: unknown }).code === 'unwritable')
    return ['check the disk (df -h), the owner of the folder (ls -ld), or name another: --data DIR'];
  return [];
}

function hintsOf(cause: Error, whole: unknown, command: string): Hints {
  if (cause instanceof UsageError) return cause.hints;
  if (cause instanceof StoppedError) return stoppedHints(command);
  const { code, path, port, address, type } = cause as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
    readonly type?: { readonly code?: unknown };
  };
  if (code === 'EADDRINUSE') return portHints(whole, address, port);
  if (code === 'EACCES' || code === 'EPERM') return permissionHints(whole, path, port);
  if (code === 'ENOENT' && path !== undefined) return [`there is no ${path}: check the path`];
  const known = BY_CODE[String(code ?? type?.code)];
  if (known !== undefined) return known;
  for (const [pattern, hints] of BY_WORDS) {
    const found = pattern.exec(cause.message);
    if (found !== null) return hints(found, command);
  }
  return [];
}

function stoppedHints(command: string): Hints {
  if (!['import', 'backfill', 'snapshot'].includes(command)) return [];
  return ['what was done is kept: run the same command again, and it goes on'];
}

/** Which option it is about: listeners say their name. */
function listenerOf(error: unknown): string | undefined {
  return error instanceof Error ? /^the (\S+) listener /.exec(error.message)?.[1] : undefined;
}

function portHints(error: unknown, address = '127.0.0.1', port = 0): Hints {
  const listener = listenerOf(error);
  return [
    `another program listens there: ss -ltnp 'sport = :${port}' shows which`,
    listener === undefined
      ? 'choose another port'
      : `choose another port: --${listener} ${address}:${port + 10}, any free one: --${listener} ${address}:0, or none: --${listener} off`,
  ];
}

function permissionHints(error: unknown, path: string | undefined, port: number | undefined): Hints {
  const listener = listenerOf(error);
  if (listener !== undefined && port !== undefined)
    return [`ports below 1024 are not for every user: choose a higher one with --${listener} HOST:PORT`];
  return [`this user may not use ${path ?? 'it'}: look at its owner (ls -ld), or name a folder of your own`];
}

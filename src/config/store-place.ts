import { UsageError } from './usage-error.ts';

/** Where a store in CQL is. */
export interface CqlPlace {
  readonly contactPoints: readonly string[];
  readonly keyspace: string;
  readonly localDataCenter: string;
  /** Which chain of the keyspace. */
  readonly chain: string;
  /** Servers that hold each row; looked at when the keyspace is made. */
  readonly replication: number;
}

const HOST = String.raw`(?:[a-z\d_-]+(?:\.[a-z\d_-]+)*|\[[\da-f:.]+\])(?::\d{1,5})?`;
const PLACE = new RegExp(
  String.raw`^cql://(?<hosts>${HOST}(?:,${HOST})*)/(?<keyspace>[a-z]\w{0,47})(?:\?(?<query>.*))?$`,
  'i',
);
const DEFAULTS = { dc: 'datacenter1', chain: 'main', replicas: '3' } as const;
const VALUES = { dc: /^[\w.-]{1,128}$/, chain: /^[\w-]{1,64}$/, replicas: /^[1-9]$/ } as const;

/** Accepts `cql://HOST[:PORT],…/KEYSPACE`, with `dc`, `chain` and `replicas` behind a question mark. */
export function cqlPlace(text: string): CqlPlace {
  const { hosts, keyspace, query } = PLACE.exec(text)?.groups ?? {};
  if (hosts === undefined || keyspace === undefined)
    throw new UsageError('expected cql://HOST[:PORT],…/KEYSPACE[?dc=NAME&chain=NAME&replicas=N]');
  const given: Record<string, string> = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(query)) {
    const pattern = Object.hasOwn(VALUES, name) ? VALUES[name as keyof typeof VALUES] : undefined;
    if (pattern === undefined)
      throw new UsageError(`expected ${Object.keys(VALUES).join(', ')} behind the ?`);
    if (!pattern.test(value)) throw new UsageError(`expected ${name} as ${pattern.source}`);
    given[name] = value;
  }
  return {
    contactPoints: hosts.split(','),
    keyspace: keyspace.toLowerCase(),
    localDataCenter: given['dc'] ?? DEFAULTS.dc,
    chain: given['chain'] ?? DEFAULTS.chain,
    replication: Number(given['replicas']),
  };
}

import type { BlockSpan } from '../primitives/block-span.ts';
import { count, type Endpoint, endpoint, methodNames, oneOf, type Parser, path, span } from './parsers.ts';
import { suggestion } from './suggest.ts';
import { UsageError } from './usage-error.ts';

/** What a listener serves, to whom, and how much of it. */
interface ProfileSettings {
  readonly listen: Endpoint | 'off';
  /** With `keys` only those who have one are served; without, the methods that are for them are refused with 403. */
  readonly auth: 'none' | 'keys';
  /** The only methods that are served. */
  readonly methods?: readonly string[];
  /** Whose pages may ask: any, or only those of the same host and of `--allowed-hosts`. */
  readonly origins: 'any' | 'own';
  /** Units a second of one client; 0 is any number. */
  readonly rate: number;
  /** Entries of one batch. */
  readonly batchEntries: number;
  /** Largest `toBlock − fromBlock` of eth_getLogs. */
  readonly logsRange: BlockSpan;
  /** Logs in one answer. */
  readonly logsResults: number;
  /** Accounts and slots that one request may have read from upstreams. */
  readonly stateReads: number;
  /** Certificate and key, as PEM files; without them, the listener speaks plain HTTP. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** One endpoint, complete. */
export interface Profile extends ProfileSettings {
  readonly name: string;
}

/** What was set of each profile. */
export type ProfileChoices = ReadonlyMap<string, Partial<ProfileSettings>>;

const MANY = { min: 1, max: 1_000_000_000 };

/** The settings: how each is read, and what it is for. */
export const PROFILE_SETTINGS: {
  readonly [Name in keyof Required<ProfileSettings>]: {
    readonly parse: Parser<NonNullable<ProfileSettings[Name]>>;
    readonly doc: string;
  };
} = {
  listen: {
    parse: endpoint,
    doc: 'HOST:PORT, or `off`. Of `public` and `dedicated` it is the option of that name.',
  },
  auth: {
    parse: oneOf('none', 'keys'),
    doc: '`keys` asks for a key or token; with `none`, methods that are not for everybody are 403.',
  },
  methods: { parse: methodNames, doc: 'The only methods that are served. Left out, all.' },
  origins: {
    parse: oneOf('any', 'own'),
    doc: '`any` lets the pages of every site read (CORS); `own` those of the same host and of --allowed-hosts.',
  },
  rate: {
    parse: count({ ...MANY, min: 0 }),
    doc: 'Units a second that one address may use, or one key without a rate of its own: a nonce is one, a call four, logs by their range, see methods.md. Beyond it, HTTP 429. 0 is any number.',
  },
  batchEntries: { parse: count({ min: 1, max: 100_000 }), doc: 'Entries of one batch.' },
  logsRange: {
    parse: span(MANY),
    doc: 'Largest toBlock − fromBlock of eth_getLogs: blocks (2000b), a time (1h), or the larger of both (2000b,1h). A time is as many blocks as the chain makes in it now.',
  },
  logsResults: {
    parse: count(MANY),
    doc: 'Logs in one answer. A single block is never refused for its count.',
  },
  stateReads: {
    parse: count(MANY),
    doc: 'Accounts and slots that one request may have read from upstreams. A batch is one request.',
  },
  tlsCert: {
    parse: path,
    doc: 'PEM file with the certificate and its chain. With it the listener speaks TLS alone. Read again when it changes.',
  },
  tlsKey: { parse: path, doc: 'PEM file with the key of the certificate.' },
};

type Limits = Readonly<Record<'rate' | 'batchEntries' | 'logsRange' | 'logsResults' | 'stateReads', string>>;

/** What a profile has that says nothing else, by whether it asks for keys. As texts, for the docs. */
export const PROFILE_DEFAULTS: Readonly<
  Record<Profile['auth'], Limits & { readonly origins: Profile['origins'] }>
> = {
  none: {
    ...{ origins: 'any', rate: '1000', batchEntries: '100' },
    ...{ logsRange: '2000b,1h', logsResults: '10000', stateReads: '2000' },
  },
  keys: {
    ...{ origins: 'own', rate: '0', batchEntries: '1000' },
    ...{ logsRange: '100000b', logsResults: '20000', stateReads: '10000' },
  },
};

/** The two that there always are (B9), and whether they ask for keys. */
const BUILT_IN = { public: 'none', dedicated: 'keys' } as const satisfies Record<string, Profile['auth']>;
const NAME = /^[a-z][a-z\d-]{0,31}$/;

/** Accepts `NAME.SETTING=VALUE`, several separated by commas. A value may have commas, too: the next begins where a name does. */
export function profileChoices(text: string): ProfileChoices {
  const choices = new Map<string, Partial<Record<keyof ProfileSettings, unknown>>>();
  for (const part of text.split(/,(?=[^,=]*=)/)) {
    const [, name = '', setting = '', value = ''] = /^([^.=]+)\.([^.=]+)=(.*)$/s.exec(part) ?? [];
    if (!NAME.test(name) || name === 'admin') {
      throw new UsageError('expected NAME.SETTING=VALUE, as public.rate=500, where NAME is in lower case');
    }
    if (!isSetting(setting)) {
      throw new UsageError(
        `unknown setting of a profile.${suggestion(setting, Object.keys(PROFILE_SETTINGS))}`,
      );
    }
    const chosen = choices.get(name) ?? {};
    if (setting in chosen) throw new UsageError(`${name}.${setting} is given twice`);
    if (isBuiltIn(name) && (setting === 'listen' || setting === 'auth')) {
      throw new UsageError(
        setting === 'listen'
          ? `where ${name} listens is said by --${name}`
          : `who may use ${name} cannot be changed`,
      );
    }
    chosen[setting] = parseValue(name, setting, value);
    choices.set(name, chosen);
  }
  return choices as ProfileChoices;
}

function parseValue(name: string, setting: keyof ProfileSettings, value: string): unknown {
  try {
    return PROFILE_SETTINGS[setting].parse(value);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${name}.${setting}: ${error.message}`) : error;
  }
}

/** What says which profiles there are. */
export interface ProfileOptions {
  readonly public: Endpoint | 'off';
  readonly dedicated: Endpoint | 'off';
  readonly profile: ProfileChoices | undefined;
}

/** All profiles, complete, whether they listen or not; throws `UsageError` for one that cannot be. */
export function profilesOf(options: ProfileOptions): readonly Profile[] {
  const { profile: choices = new Map() as ProfileChoices } = options;
  const names = new Set([...Object.keys(BUILT_IN), ...choices.keys()]);
  return [...names].map((name) => {
    const own = choices.get(name) ?? {};
    const listen = isBuiltIn(name) ? options[name] : own.listen;
    if (listen === undefined) throw new UsageError(`--profile: ${name}.listen is missing`);
    const auth = isBuiltIn(name) ? BUILT_IN[name] : (own.auth ?? 'keys');
    if ((own.tlsCert === undefined) !== (own.tlsKey === undefined)) {
      throw new UsageError(`--profile: ${name} needs both, tlsCert and tlsKey`);
    }
    return { ...defaultsOf(auth), ...own, name, listen, auth };
  });
}

function defaultsOf(auth: Profile['auth']): Omit<ProfileSettings, 'listen' | 'auth'> {
  const { origins, ...limits } = PROFILE_DEFAULTS[auth];
  return {
    origins,
    rate: PROFILE_SETTINGS.rate.parse(limits.rate),
    batchEntries: PROFILE_SETTINGS.batchEntries.parse(limits.batchEntries),
    logsRange: PROFILE_SETTINGS.logsRange.parse(limits.logsRange),
    logsResults: PROFILE_SETTINGS.logsResults.parse(limits.logsResults),
    stateReads: PROFILE_SETTINGS.stateReads.parse(limits.stateReads),
  };
}

function isBuiltIn(name: string): name is keyof typeof BUILT_IN {
  return Object.hasOwn(BUILT_IN, name);
}

function isSetting(name: string): name is keyof ProfileSettings {
  return Object.hasOwn(PROFILE_SETTINGS, name);
}

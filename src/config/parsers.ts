import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import type { BlockSpan } from '../primitives/block-span.ts';
import type { UndoWindow } from '../primitives/undo-window.ts';
import { UsageError } from './usage-error.ts';

/** Where a listener binds. Port 0 lets the system choose. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Turns the text of a flag, variable or file value into an option, or throws `UsageError` saying what it expected. */
export interface Parser<T> {
  (text: string): T;
  /** All that it takes, or all words among it: shells complete them. */
  readonly words?: readonly string[];
}

const UNITS = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;

/** Accepts any text but the empty one: files and folders. */
export function path(text: string): string {
  if (text === '') throw new UsageError('expected a path');
  return text;
}

/** Accepts whole numbers within bounds; underscores may group digits. */
export function count(bounds: { readonly min: number; readonly max: number }): Parser<number> {
  return (text) => {
    const value = /^\d+(_\d+)*$/.test(text) ? Number(text.replaceAll('_', '')) : Number.NaN;
    if (value >= bounds.min && value <= bounds.max) return value;
    throw new UsageError(`expected a whole number from ${bounds.min} to ${bounds.max}`);
  };
}

/** Accepts a number of threads, or `auto` for one per core. */
export function threads(text: string): number {
  return text === 'auto' ? availableParallelism() : count({ min: 1, max: 1024 })(text);
}

/** Accepts sizes such as `10MiB` or a plain number of bytes. */
export function bytes(bounds: { readonly min: number; readonly max: number }): Parser<number> {
  return (text) => {
    const match = /^(\d+)(KiB|MiB|GiB|TiB|)$/.exec(text);
    const value = match === null ? Number.NaN : Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
    if (value >= bounds.min && value <= bounds.max) return value;
    throw new UsageError(
      `expected a size such as 512KiB or 10MiB, from ${bounds.min} to ${bounds.max} bytes`,
    );
  };
}

const DURATIONS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Accepts durations such as `500ms`, `30s`, `10m`, `2h` or `7d`; gives milliseconds. */
export function duration(bounds: { readonly min: number; readonly max: number }): Parser<number> {
  return (text) => {
    const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
    const value =
      match === null ? Number.NaN : Number(match[1]) * DURATIONS[match[2] as keyof typeof DURATIONS];
    if (value >= bounds.min && value <= bounds.max) return value;
    throw new UsageError(
      `expected a duration such as 500ms, 30s or 10m, from ${bounds.min} to ${bounds.max} ms`,
    );
  };
}

/** Accepts a part of the chain: blocks (`2000b`, or the number alone), a time (`10m`), or both: `2000b,1h` is the larger. */
export function span(bounds: { readonly min: number; readonly max: number }): Parser<BlockSpan> {
  const blocks = count(bounds);
  const time = duration({ min: 1, max: 10 * 365 * DURATIONS.d });
  return (text) => {
    const parts = text.split(',');
    const counted = parts.filter((part) => /^[\d_]+b?$/.test(part));
    if (parts.length > 2 || counted.length > 1 || parts.length - counted.length > 1) {
      throw new UsageError('expected blocks such as 2000b, a time such as 10m, or one of each: 2000b,1h');
    }
    const timed = parts.find((part) => !counted.includes(part));
    return {
      blocks: counted[0] === undefined ? 0 : blocks(counted[0].replace(/b$/, '')),
      ms: timed === undefined ? 0 : time(timed),
    };
  };
}

/** Accepts `finalized` or a part of the chain. */
export function undoWindow(text: string): UndoWindow {
  return text === 'finalized' ? text : span({ min: 1, max: 100_000 })(text);
}

/** Accepts one of a few words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Parser<Word> {
  const parse = (text: string): Word => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new UsageError(`expected one of ${words.join(', ')}`);
    return word;
  };
  return Object.assign(parse, { words });
}

/** Accepts `on` and `off`. */
export function toggle(text: string): boolean {
  return oneOf('on', 'off')(text) === 'on';
}
toggle.words = ['on', 'off'] as const;

/** Accepts HTTP and WebSocket URLs, separated by commas. */
export function urls(text: string): readonly string[] {
  return text.split(',').map((part) => {
    const url = URL.canParse(part) ? new URL(part) : undefined;
    if (url !== undefined && /^(?:https?|wss?):$/.test(url.protocol)) return part;
    throw new UsageError('expected URLs that begin with http, https, ws or wss', {
      hints: ['such as http://127.0.0.1:8555 or wss://HOST/v1/KEY; in a file or a variable, too'],
    });
  });
}

/** Accepts URLs of NATS servers, separated by commas. */
export function natsUrls(text: string): readonly string[] {
  return text.split(',').map((part) => {
    if (URL.canParse(part) && /^(?:nats|tls):$/.test(new URL(part).protocol)) return part;
    throw new UsageError('expected URLs that begin with nats or tls');
  });
}

/** Accepts one HTTP URL. */
export function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new UsageError('expected a URL that begins with http or https');
}

/** Accepts a number from 0 to 1, in decimal. */
export function share(text: string): number {
  if (/^(?:0|1|[01]?\.\d{1,9})$/.test(text) && Number(text) <= 1) return Number(text);
  throw new UsageError('expected a number from 0 to 1');
}

/** The same, or `off`, which is none of them. */
export function sendTargets(text: string): readonly string[] {
  return text === 'off' ? [] : urls(text);
}

/** The same for sources of flashblocks: what a WebSocket sends may be said before its URL. */
export function sourceUrls(text: string): readonly string[] {
  return text.split(',').map((part) => {
    urls(part.replace(/^(?:raw|rpc)\+(?=wss?:)/, ''));
    return part;
  });
}

/** Accepts names of JSON-RPC methods, separated by commas. */
export function methodNames(text: string): readonly string[] {
  return text.split(',').map((part) => {
    if (/^[a-zA-Z][\w.]{0,127}$/.test(part)) return part;
    throw new UsageError('expected names of methods');
  });
}

/** Accepts host names without ports, separated by commas; gives them in lower case. */
export function hostNames(text: string): readonly string[] {
  return text.split(',').map((part) => {
    if (/^[a-z\d_-]+(?:\.[a-z\d_-]+)*$/i.test(part)) return part.toLowerCase();
    throw new UsageError('expected host names without ports');
  });
}

/** Accepts addresses and subnets such as 10.0.0.0/8, separated by commas. */
export function subnets(text: string): readonly string[] {
  return text.split(',').map((part) => {
    const [address = '', bits, ...rest] = part.split('/');
    const most = [0, 0, 0, 0, 32, 0, 128][isIP(address)] ?? 0;
    const isMask = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (most > 0 && isMask && rest.length === 0) return part;
    throw new UsageError('expected addresses or subnets such as 10.0.0.0/8');
  });
}

/** Accepts the names of blocks that a copy can begin at, or a number. */
export function anchorChoice(text: string): 'latest' | 'safe' | 'finalized' | number {
  if (text === 'latest' || text === 'safe' || text === 'finalized') return text;
  return count({ min: 0, max: Number.MAX_SAFE_INTEGER })(text);
}
anchorChoice.words = ['latest', 'safe', 'finalized'] as const;

/** Accepts `HOST:PORT`, with brackets around an IPv6 host, or `off`. */
export function endpoint(text: string): Endpoint | 'off' {
  if (text === 'off') return 'off';
  const match = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) throw new UsageError('expected HOST:PORT or off');
  return { host, port };
}

import { count, methodNames, type Parser, span } from '../../config/parsers.ts';
import { UsageError } from '../../config/usage-error.ts';
import type { BlockSpan } from '../../primitives/block-span.ts';

/** What a key or token lets its holder do. What is left out is as its listener says. */
export interface Grant {
  /** The only methods that it serves. */
  readonly methods?: readonly string[];
  /** Units of cost a second. */
  readonly rate?: number;
  readonly logsRange?: BlockSpan;
  readonly logsResults?: number;
}

/** Who asks: what to call them in the log, and what they may do. */
export interface Principal {
  /** The id of a key or the subject of a token: never what proves it. */
  readonly id: string;
  readonly grant: Grant;
  /** When it ends, in milliseconds; absent where it does not by itself. */
  readonly until?: number;
}

/** Whoever reaches a listener that asks for no key. */
export const OWNER: Principal = { id: 'owner', grant: {} };

const MANY = { min: 1, max: 1_000_000_000 };
const PARSERS: { readonly [Name in keyof Required<Grant>]: Parser<NonNullable<Grant[Name]>> } = {
  methods: methodNames,
  rate: count(MANY),
  logsRange: span(MANY),
  logsResults: count(MANY),
};

/** The names of what a grant may say. */
export const GRANT_NAMES = Object.keys(PARSERS) as readonly (keyof Grant)[];

/** Reads a grant out of a file or token; anything in it that is not understood is an error, never a wider grant. */
export function parseGrant(fields: Readonly<Record<string, unknown>>): Grant {
  const grant: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!isGrantName(name)) throw new UsageError('unknown field');
    grant[name] = PARSERS[name](textOf(value, name));
  }
  return grant;
}

function isGrantName(name: string): name is keyof Grant {
  return Object.hasOwn(PARSERS, name);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value.join(',');
  throw new UsageError(`${name} must be a string or a number`);
}

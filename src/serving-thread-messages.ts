import type { Endpoint } from './config/parsers.ts';
import type { CommandOptions } from './config/table.ts';

/** The two kinds of endpoint (B9). */
export const LISTENERS = ['public', 'dedicated'] as const;
export type Listener = (typeof LISTENERS)[number];

/** What a serving thread is started with. */
export interface ThreadData {
  readonly options: CommandOptions<'serve'>;
  readonly version: string;
  /** The native chain of the process. */
  readonly executorId: number;
  readonly endpoints: Readonly<Partial<Record<Listener, Endpoint>>>;
}

/** What the main thread says to a serving thread. */
export type ThreadOrder = { readonly kind: 'close' } | { readonly kind: 'metrics' };

/** What a serving thread says. */
export type ThreadNews =
  | { readonly kind: 'listening'; readonly endpoints: Readonly<Partial<Record<Listener, Endpoint>>> }
  | { readonly kind: 'metrics'; readonly metrics: unknown };

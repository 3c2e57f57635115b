import type { Hex } from '../../primitives/hex.ts';
import type { SourceErrorCode } from '../errors.ts';
import type { ExchangeEvent } from './upstream.ts';

/** Everything worth a metric or a log line. Upstreams go by their names, which hold no credential. */
export type SourceEvent =
  /** One request to an upstream, whatever its number of calls. */
  | ({ readonly kind: 'exchange'; readonly upstream: string } & ExchangeEvent)
  /** An upstream failed a question; another one, or the same later, is asked. */
  | {
      readonly kind: 'failure';
      readonly upstream: string;
      readonly code: SourceErrorCode;
      readonly message: string;
    }
  /** Every upstream has failed a question once more; it rests before the next round. */
  | { readonly kind: 'backOff'; readonly ms: number }
  /** A slow upstream's question went to a second one as well. */
  | { readonly kind: 'hedge'; readonly upstream: string; readonly slow: string }
  /** A question that was already on its way for somebody else. */
  | { readonly kind: 'shared' }
  | {
      readonly kind: 'banned';
      readonly upstream: string;
      readonly item: string;
      readonly what: string;
      readonly lies: number;
      readonly ms: number;
    }
  /** It is of another chain than the one that is followed, or of the right one again. */
  | { readonly kind: 'chain'; readonly upstream: string; readonly chainId: string; readonly isRight: boolean }
  /** What an upstream that is trusted says its head is, each time it does. */
  | { readonly kind: 'named'; readonly upstream: string; readonly number: number; readonly hash: Hex }
  /** An upstream named another head than before. */
  | { readonly kind: 'head'; readonly upstream: string; readonly number: number }
  | {
      readonly kind: 'watch';
      readonly upstream: string;
      readonly state: 'subscribed' | 'polling' | 'stale' | 'lost';
      readonly reason?: string;
    };

export type Observe = (event: SourceEvent) => void;

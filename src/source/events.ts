import type { SourceErrorCode } from './errors.ts';
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
      readonly kind: 'demoted';
      readonly upstream: string;
      readonly item: string;
      readonly what: string;
      readonly lies: number;
      readonly ms: number;
    }
  /** A new head, from the first upstream that named it. */
  | { readonly kind: 'head'; readonly upstream: string; readonly number: number }
  /** A head that was replaced by a newer one before anybody took it. */
  | { readonly kind: 'coalesced' }
  | {
      readonly kind: 'watch';
      readonly upstream: string;
      readonly state: 'subscribed' | 'polling' | 'stale' | 'lost';
      readonly reason?: string;
    };

export type Observe = (event: SourceEvent) => void;

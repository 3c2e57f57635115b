import { type Endpoint, parseEndpoints } from '../../transport/endpoint.ts';

/** How a source tells of flashblocks: each as it was built, or the whole block so far, told or asked for. */
export type FeedKind = 'raw' | 'newFlashblocks' | 'polling';

/** Where flashblocks come from, and as what kind, if whoever names the URL says so. */
export interface FeedAddress {
  readonly endpoint: Endpoint;
  readonly kind: FeedKind | undefined;
}

const PREFIX = /^(raw|rpc)\+(?=wss?:)/;

/** Takes URLs apart: http and https are polled, ws and wss show what they are unless `raw+` or `rpc+` says it. */
export function parseFeeds(urls: readonly string[]): readonly FeedAddress[] {
  const endpoints = parseEndpoints(urls.map((url) => url.replace(PREFIX, '')));
  return endpoints.map((endpoint, at) => {
    if (endpoint.transport === 'http') return { endpoint, kind: 'polling' };
    const prefix = PREFIX.exec(urls[at] ?? '')?.[1];
    return { endpoint, kind: prefix === undefined ? undefined : prefix === 'raw' ? 'raw' : 'newFlashblocks' };
  });
}

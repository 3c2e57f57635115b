import { type HttpTransport, type HttpTransportConfig, http, type Transport } from 'viem';
import { ChainPosition, type ChainView, formatPoint, isBefore, readView } from './position.ts';

export interface ChainQueryHttpConfig extends HttpTransportConfig {
  /** What has been seen; give several transports one, and they read as one client. Default: one of its own. */
  readonly position?: ChainPosition | undefined;
}

type HttpValue = NonNullable<ReturnType<HttpTransport>['value']>;

/** viem's `http` that never reads backwards. `client.transport.position` says how far it has seen. */
export type ChainQueryHttpTransport = Transport<'http', HttpValue & { readonly position: ChainPosition }>;

type Fetch = NonNullable<HttpTransportConfig['fetchFn']>;

const AT_LEAST = 'x-chain-at-least';
/** Sending is not reading: it neither waits, nor is it done twice. */
const SENDS = /"method":"eth_sendRawTransaction/;

/** Every node that was asked is behind what this client has seen. viem asks again, as it does when a node is away. */
export class BehindError extends Error {
  override readonly name = 'BehindError';
  readonly seen: ChainView;
  readonly answered: ChainView;

  constructor(seen: ChainView, answered: ChainView) {
    super(
      `the answer is of ${formatPoint(answered.newest)} (confirmed ${answered.head}), ` +
        `but ${formatPoint(seen.newest)} (confirmed ${seen.head}) has been seen`,
    );
    this.seen = seen;
    this.answered = answered;
  }
}

let transports = 0;

/**
 * viem's `http`, which sends with each request what was seen last (`x-chain-at-least`) and lets no older answer through: behind
 * a load balancer, reads never go backwards. Nodes that do not name their snapshot are read as with `http`.
 */
export function chainQueryHttp(url?: string, config: ChainQueryHttpConfig = {}): ChainQueryHttpTransport {
  const { position = new ChainPosition(), ...rest } = config;
  transports += 1;
  const mark = `#${transports}`;
  return (parameters) => {
    const target = url ?? parameters.chain?.rpcUrls.default.http[0];
    // viem joins what is asked of one URL into one batch, whichever transport asks. The fragment, which is never sent,
    // keeps those of different positions apart.
    const own = target === undefined || rest.batch === undefined ? target : `${target}${mark}`;
    const transport = http(own, { ...rest, fetchFn: forwardFetch(position, rest.fetchFn ?? fetch) })(
      parameters,
    );
    return { ...transport, value: { ...transport.value, url: target, position } };
  };
}

/** A `fetch` whose answers are never older than what `position` has seen. */
function forwardFetch(position: ChainPosition, fetchFn: Fetch): Fetch {
  return async (input, init) => {
    const seen = position.view;
    const isRead = !(typeof init?.body === 'string' && SENDS.test(init.body));
    if (seen === undefined || !isRead) {
      const response = await fetchFn(input, init);
      const view = readView(response.headers);
      if (view !== undefined) position.see(view);
      return response;
    }
    const ask = async (atLeast: string): Promise<[Response, ChainView | undefined]> => {
      const headers = new Headers(init?.headers);
      headers.set(AT_LEAST, atLeast);
      const response = await fetchFn(input, { ...init, headers });
      return [response, readView(response.headers)];
    };
    let [response, view] = await ask(formatPoint(seen.newest));
    if (view !== undefined && response.ok && isOlder(view, seen)) {
      await response.body?.cancel();
      // Pre-confirmed blocks may stand on an older head. The header names one point only: now it is the head.
      [response, view] = await ask(view.head < seen.head ? `${seen.head}` : formatPoint(seen.newest));
      if (view !== undefined && response.ok && isOlder(view, seen)) throw new BehindError(seen, view);
    }
    if (view !== undefined) position.see(view);
    return response;
  };
}

function isOlder(view: ChainView, seen: ChainView): boolean {
  return view.head < seen.head || isBefore(view.newest, seen.newest);
}

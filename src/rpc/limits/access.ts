import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from './client-address.ts';

export interface AccessOptions {
  /** What the listener was told to bind to; by this name it may be asked. */
  readonly host: string;
  /** Further names by which it may be asked, and whose pages may ask it. In lower case, without a port. */
  readonly allowedHosts: readonly string[];
  /** Pages of every origin may ask: right for what needs no credential. */
  readonly anyOrigin: boolean;
}

/** By which header a request is refused. */
export type AccessRefusal = 'host' | 'origin';

/**
 * Who may ask a listener, by the headers that browsers send and pages cannot change.
 *
 * What listens on loopback relies on nobody else reaching it. A page can: it has its own name resolve to 127.0.0.1
 * (DNS rebinding), and the browser takes the answer for its own. Then the name is in `Host`. And any page may open a
 * WebSocket to anywhere: then the page is in `Origin`. Clients that are no browsers send no `Origin`.
 */
export class AccessPolicy {
  readonly #options: AccessOptions;
  readonly #names: ReadonlySet<string>;
  /** Until it is known where the listener is bound, it counts as loopback. */
  #checksHost = true;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#names = new Set(['localhost', options.host.toLowerCase(), ...options.allowedHosts]);
  }

  /** Takes in the address that the system bound to. */
  boundTo(address: string): void {
    this.#checksHost = isLoopback(address);
  }

  get checksHost(): boolean {
    return this.#checksHost;
  }

  get checksOrigin(): boolean {
    return !this.#options.anyOrigin;
  }

  /** Why a request with these headers is refused; undefined when it is not. */
  refusal({ host, origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>): AccessRefusal | undefined {
    if (this.#checksHost && host !== undefined && !this.allowsHost(host)) return 'host';
    if (this.checksOrigin && origin !== undefined && !this.#allowsOrigin(origin, host)) return 'origin';
    return undefined;
  }

  /** Whether a value of `Host` names this listener. */
  allowsHost(host: string): boolean {
    const name = hostnameOf(host);
    return name !== undefined && (this.#names.has(name) || isLoopback(name));
  }

  #allowsOrigin(origin: string, host: string | undefined): boolean {
    const page = /^https?:\/\/([^/?#@\s]+)$/i.exec(origin)?.[1];
    if (page === undefined) return false;
    if (page.toLowerCase() === host?.toLowerCase()) return true;
    return this.#options.allowedHosts.includes(hostnameOf(page) ?? '');
  }
}

/** Which `Host` the last requests of a connection had: most clients never change it, and bytes are quickly compared. */
export class HostMemory {
  readonly #policy: AccessPolicy;
  #last: Uint8Array = new Uint8Array(0);

  constructor(policy: AccessPolicy) {
    this.#policy = policy;
  }

  allows(bytes: Uint8Array, start: number, end: number): boolean {
    const last = this.#last;
    let same = last.length === end - start && last.length > 0;
    for (let at = 0; same && at < last.length; at++) same = last[at] === bytes[start + at];
    if (same) return true;
    const host = bytes.slice(start, end);
    if (!this.#policy.allowsHost(Buffer.from(host).toString('latin1'))) return false;
    this.#last = host;
    return true;
  }
}

/** The name or address in a value of `Host`, in lower case; undefined for what is none. */
function hostnameOf(host: string): string | undefined {
  const match = /^(?:\[([\da-f:.]+)\]|([a-z\d_.-]*[a-z\d_-])\.?)(?::\d{0,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

/** Whether what a listener is told to bind to is reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopback(host);
}

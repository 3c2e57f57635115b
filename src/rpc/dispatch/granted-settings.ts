import type { MethodSettings } from '../../methods/method.ts';
import type { Grant, Principal } from '../auth/grant.ts';

/** The settings of a listener, and those of keys that say otherwise. */
export class GrantedSettings {
  readonly #settings: MethodSettings;
  readonly #granted = new WeakMap<Grant, MethodSettings>();

  constructor(settings: MethodSettings) {
    this.#settings = settings;
  }

  /** What somebody's requests run with. */
  of(principal: Principal | undefined): MethodSettings {
    const settings = this.#settings;
    if (principal === undefined) return settings;
    const { grant } = principal;
    let own = this.#granted.get(grant);
    if (own === undefined) {
      const { logsRange = settings.logs.maxBlockRange, logsResults = settings.logs.maxResults } = grant;
      own = { ...settings, logs: { ...settings.logs, maxBlockRange: logsRange, maxResults: logsResults } };
      this.#granted.set(grant, own);
    }
    return own;
  }
}

/** Whether a key serves a method, whatever its listener does. */
export function isGranted(method: string, principal: Principal | undefined): boolean {
  return principal?.grant.methods?.includes(method) ?? true;
}

import { LRUCache } from 'lru-cache';
import { OWNER, type Principal } from '../auth/grant.ts';
import { isLoopback } from './client-address.ts';
import type { Rate, RateTable } from './rate-table.ts';

/** How clients of one listener are limited. */
export interface RateOptions {
  /** Units a second of each; 0 is any number. */
  readonly perSecond: number;
  readonly burstSeconds: number;
  /** Whether those on this machine are, too. */
  readonly limitLoopback: boolean;
}

/** What one client may use. */
export interface Allowance {
  /** Takes units; else says for how many seconds the client has to wait, and takes nothing. */
  take(units: number): number;
  /** Takes units whatever is left: for what was found to cost more than it seemed to. */
  charge(units: number): void;
}

/** Addresses whose allowance is at hand. */
const REMEMBERED = 10_000;

/** The rates of the clients of one listener: of each address, and of each key wherever it is used. */
export class Rates {
  #options: RateOptions;
  readonly #table: RateTable;
  readonly #ofAddresses = new LRUCache<string, Allowance>({ max: REMEMBERED });
  /** By what is made anew when keys are read again. */
  #ofKeys = new WeakMap<Principal, Allowance>();

  constructor(options: RateOptions, table: RateTable) {
    this.#options = options;
    this.#table = table;
  }

  /** Goes by another rate from now on; what clients have used stays used. */
  change(options: RateOptions): void {
    this.#options = options;
    this.#ofAddresses.clear();
    this.#ofKeys = new WeakMap();
  }

  /** What somebody may use: with a key that of the key, else that of their address. Undefined where nothing is limited. */
  of(address: string, principal: Principal | undefined): Allowance | undefined {
    return principal === undefined || principal === OWNER ? this.#ofAddress(address) : this.#ofKey(principal);
  }

  #ofAddress(address: string): Allowance | undefined {
    const { perSecond, burstSeconds, limitLoopback } = this.#options;
    if (perSecond === 0) return undefined;
    const known = this.#ofAddresses.get(address);
    if (known !== undefined) return known;
    if (!limitLoopback && isLoopback(address)) return undefined;
    const allowance = this.#allowance(`address ${address}`, { perSecond, burstSeconds });
    this.#ofAddresses.set(address, allowance);
    return allowance;
  }

  /** One without a rate of its own has that of the listener. */
  #ofKey(principal: Principal): Allowance | undefined {
    const known = this.#ofKeys.get(principal);
    if (known !== undefined) return known;
    const { burstSeconds } = this.#options;
    const { rate: perSecond = this.#options.perSecond } = principal.grant;
    if (perSecond === 0) return undefined;
    const allowance = this.#allowance(principal.id, { perSecond, burstSeconds });
    this.#ofKeys.set(principal, allowance);
    return allowance;
  }

  #allowance(client: string, rate: Rate): Allowance {
    const account = this.#table.account(client);
    return {
      take: (units) => account.take(units, rate),
      charge: (units) => account.charge(units, rate),
    };
  }
}

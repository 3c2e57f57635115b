import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { type NatsServers, parseServers } from './servers.ts';

/** How a cluster is reached. Files are read anew for each connection, so that they can be replaced. */
export interface NatsLinkOptions {
  /** URLs of all servers of the cluster: those that are not named are not used. */
  readonly servers: readonly string[];
  /** What the servers' own monitoring shows. */
  readonly name: string;
  /** A `.creds` file: a JWT and the seed of its key. */
  readonly credentialsFile?: string | undefined;
  readonly tlsCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  /** The longest pause between two attempts. */
  readonly maxReconnectMs?: number | undefined;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A server that is there and does not answer is left after two or three of these. */
const PING_INTERVAL_MS = 2_000;
const MAX_PINGS_OUT = 2;
const FIRST_RECONNECT_MS = 50;
const MAX_RECONNECT_MS = 2_000;
/** A connection that lasted so long was a good one: the next attempt does not wait for it. */
const GOOD_CONNECTION_MS = 5_000;

/** Left to itself, the client holds the certificate of a server that is named by its address against `localhost`. */
type CheckedTls = NonNullable<NodeConnectionOptions['tls']> & Pick<ConnectionOptions, 'checkServerIdentity'>;

/**
 * A connection to NATS that is made again for ever, by ourselves and not by the client: a connection that has ended says so to all
 * who wait on it at once, and nothing is kept to be sent later.
 */
export class NatsLink {
  readonly #options: NatsLinkOptions;
  readonly #servers: NatsServers;
  readonly #onTrouble: (error: Error) => void;
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  #connection: NatsConnection | undefined;
  #next = Promise.withResolvers<NatsConnection>();

  /** Fails for options that can never work. `onTrouble` hears of each failed attempt, without credentials. */
  constructor(options: NatsLinkOptions, onTrouble: (error: Error) => void) {
    this.#options = options;
    this.#servers = parseServers(options.servers);
    this.#onTrouble = onTrouble;
    // Nobody may ever wait for it.
    this.#next.promise.catch(() => {});
    this.#ended = this.#run();
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Aborted once it is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** The connection, as soon as there is one; fails once this is closed. Who closes it gets one to the next server. */
  async ready(): Promise<NatsConnection> {
    return this.#connection ?? this.#next.promise;
  }

  /** Waits, longer after each failure, up to the longest pause; returns at once when this is closed. */
  async backOff(failures: number): Promise<void> {
    const longest = this.#options.maxReconnectMs ?? MAX_RECONNECT_MS;
    const pause = Math.min(longest, FIRST_RECONNECT_MS * 2 ** Math.min(failures, 20));
    // Replicas that lost the same server do not come back in the same millisecond.
    await delay(pause * (0.5 + Math.random() / 2), undefined, { signal: this.signal }).catch(() => {});
  }

  /** Says what went wrong, without what must not be said. */
  report(error: unknown): void {
    if (this.signal.aborted) return;
    this.#onTrouble(
      new Error(`NATS: ${this.#withoutSecrets(error instanceof Error ? error.message : String(error))}`),
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#next.reject(new Error('the connection to NATS is closed'));
    await this.#connection?.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { hosts } = this.#servers;
    // Replicas spread over the servers.
    let turn = Math.floor(Math.random() * hosts.length);
    for (let failures = 0; !this.signal.aborted; failures++) {
      const began = performance.now();
      try {
        const host = hosts[turn++ % hosts.length] ?? '';
        const connection = await connect(await this.#connectOptions(host));
        await this.#use(connection);
      } catch (error) {
        this.report(error);
      }
      if (performance.now() - began > GOOD_CONNECTION_MS) failures = 0;
      // Pauses grow with rounds: the next server may well be there.
      if (!this.signal.aborted) await this.backOff(Math.floor(failures / hosts.length));
    }
  }

  /** Gives the connection out until it ends. */
  async #use(connection: NatsConnection): Promise<void> {
    if (this.signal.aborted) {
      await connection.close();
      return;
    }
    void this.#watch(connection);
    this.#connection = connection;
    this.#next.resolve(connection);
    const error = await connection.closed();
    this.#next = Promise.withResolvers();
    this.#next.promise.catch(() => {});
    this.#connection = undefined;
    if (this.signal.aborted) this.#next.reject(new Error('the connection to NATS is closed'));
    this.report(error ?? new Error('the connection ended'));
  }

  /** Refused subjects are told on the side, and to no request. */
  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) if (status.type === 'error') this.report(status.error);
  }

  async #connectOptions(host: string): Promise<NodeConnectionOptions> {
    const { name, credentialsFile } = this.#options;
    const { tls, login } = this.#servers;
    return {
      name,
      servers: host,
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: MAX_PINGS_OUT,
      ...login,
      ...(credentialsFile !== undefined && {
        authenticator: credsAuthenticator(await readFile(credentialsFile)),
      }),
      ...(tls && { tls: this.#tlsOptions(host) }),
    };
  }

  #tlsOptions(host: string): CheckedTls {
    const { tlsCaFile, tlsCertFile, tlsKeyFile } = this.#options;
    return {
      ...(tlsCaFile !== undefined && { caFile: tlsCaFile }),
      ...(tlsCertFile !== undefined && { certFile: tlsCertFile }),
      ...(tlsKeyFile !== undefined && { keyFile: tlsKeyFile }),
      checkServerIdentity: (_, certificate) => checkServerIdentity(hostnameOf(host), certificate),
    };
  }

  #withoutSecrets(text: string): string {
    const { login } = this.#servers;
    const secrets = login === undefined ? [] : 'token' in login ? [login.token] : [login.pass];
    return secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
  }
}

function hostnameOf(host: string): string {
  const { hostname } = new URL(`nats://${host}`);
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

import { setTimeout as delay } from 'node:timers/promises';
import cassandra from 'cassandra-driver';
import { StoreError } from '../error.ts';
import { CQL_DEFAULTS, type CqlStoreOptions } from './options.ts';

/** What a statement can be given. */
export type Value = Uint8Array | bigint | number | string | null;
export type Row = cassandra.types.Row;

/** A statement with its values; all are prepared, and all can be sent twice. */
export interface Statement {
  readonly query: string;
  readonly values: readonly Value[];
}

/** Rows that one reply may bring; more come page by page. */
const FIRST_PAGE = { fetchSize: 1_000 } as const;
/** A read that takes longer is sent to another server, too. */
const SECOND_TRY_MS = 250;

/** What a batch has at most: some services take no more statements, and servers refuse larger ones. */
const BATCH_STATEMENTS = 30;
const BATCH_BYTES = 32 * 1024;
/** How often a batch is sent, and how much longer each wait between is. */
const WRITE_ATTEMPTS = 4;
const RETRY_MS = 100;

/** All servers have to agree on a change of the schema, which takes its time. */
const DEFINING = { prepare: false, readTimeout: 30_000 } as const;

const { consistencies } = cassandra.types;
const { loadBalancing, speculativeExecution } = cassandra.policies;

/** How often servers were asked. */
export interface StoreRequests {
  reads: number;
  writes: number;
  conditional: number;
}

/** Statements to a cluster: how many are under way, how they are repeated, and what their failures are called. */
export class Session {
  /** Requests to servers so far: reads, batches of rows, conditional writes. */
  readonly counts: StoreRequests = { reads: 0, writes: 0, conditional: 0 };
  readonly #client: cassandra.Client;
  readonly #writesAtOnce: number;
  readonly #reads: Places;

  private constructor(client: cassandra.Client, options: CqlStoreOptions) {
    this.#client = client;
    this.#writesAtOnce = options.writesAtOnce ?? CQL_DEFAULTS.writesAtOnce;
    this.#reads = new Places(options.readsAtOnce ?? CQL_DEFAULTS.readsAtOnce);
  }

  /** Connects, and makes the keyspace if it is not there and `creates` says so. */
  static async connect(options: CqlStoreOptions, { creates = true } = {}): Promise<Session> {
    const { keyspace } = options;
    if (!/^[a-z][a-z0-9_]{0,47}$/.test(keyspace))
      throw new TypeError(`not the name of a keyspace: ${keyspace}`);
    if (creates) await createKeyspace(options);
    const client = new cassandra.Client({ ...clientOptions(options), keyspace });
    try {
      await client.connect();
    } catch (error) {
      await client.shutdown();
      throw unavailable(error);
    }
    return new Session(client, options);
  }

  /** Changes the schema; resolves when all servers agree on it. */
  async define(query: string): Promise<void> {
    await this.#named(this.#client.execute(query, [], DEFINING));
  }

  /** All rows of a read. */
  async rows(query: string, values: readonly Value[]): Promise<Row[]> {
    // Nearly all have one page: what goes through the others page by page would be a good part of the cost of those.
    const { rows, pageState } = await this.#read(query, values, undefined);
    if (pageState == null) return rows;
    const all = [...rows];
    for await (const page of this.pages(query, values, pageState)) all.push(...page);
    return all;
  }

  /** The same page by page, from the first or where another ended. */
  async *pages(
    query: string,
    values: readonly Value[],
    from?: string,
  ): AsyncGenerator<Row[], void, undefined> {
    let pageState = from;
    do {
      const result = await this.#read(query, values, pageState);
      yield result.rows;
      pageState = result.pageState;
    } while (pageState != null);
  }

  /**
   * Writes all of these, in any order; resolves once a quorum has each. They go in unlogged batches, which is a third of the work of one
   * by one: nothing depends on a batch being whole. `atOnce` batches are under way at the same time.
   */
  async write(statements: readonly Statement[], atOnce = this.#writesAtOnce): Promise<void> {
    const batches = inBatches(statements);
    const lanes = Array.from({ length: Math.min(atOnce, batches.length) }, async () => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift())
        await this.#batch(batch);
    });
    await Promise.all(lanes);
  }

  /** Writes if a condition holds; whether it did. */
  async writeIf(query: string, values: readonly Value[]): Promise<boolean> {
    this.counts.conditional++;
    const result = await this.#named(
      this.#client.execute(query, values.map(encoded), {
        isIdempotent: false,
        serialConsistency: consistencies.localSerial,
      }),
    );
    return result.wasApplied();
  }

  /** Rows as of the last conditional write, one that is under way included. */
  async rowsNow(query: string, values: readonly Value[]): Promise<Row[]> {
    this.counts.reads++;
    const result = await this.#named(
      this.#client.execute(query, values.map(encoded), {
        consistency: consistencies.localSerial,
      }),
    );
    return result.rows;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#client.shutdown();
  }

  /** Rows are the same however often they are written, and the driver does not repeat what timed out. */
  async #batch(batch: readonly Statement[]): Promise<void> {
    const queries = batch.map(({ query, values }) => ({ query, params: values.map(encoded) }));
    for (let attempt = 1; ; attempt++) {
      try {
        this.counts.writes++;
        await this.#client.batch(queries, { logged: false });
        return;
      } catch (error) {
        if (attempt === WRITE_ATTEMPTS) throw unavailable(error);
        await delay(attempt * RETRY_MS);
      }
    }
  }

  async #read(
    query: string,
    values: readonly Value[],
    pageState: string | undefined,
  ): Promise<cassandra.types.ResultSet> {
    if (!this.#reads.tryTake()) await this.#reads.take();
    this.counts.reads++;
    try {
      const options = pageState === undefined ? FIRST_PAGE : { ...FIRST_PAGE, pageState };
      return await this.#client.execute(query, values.map(encoded), options);
    } catch (error) {
      throw unavailable(error);
    } finally {
      this.#reads.give();
    }
  }

  async #named<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** What reads rows. */
export type RowReader = Pick<Session, 'rows'>;

async function createKeyspace(options: CqlStoreOptions): Promise<void> {
  const { keyspace, localDataCenter, replication } = options;
  const client = new cassandra.Client(clientOptions(options));
  try {
    await client.execute(
      `CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = {'class': 'NetworkTopologyStrategy', '${localDataCenter}': ${replication}}`,
      [],
      DEFINING,
    );
  } catch (error) {
    throw unavailable(error);
  } finally {
    await client.shutdown();
  }
}

/** Statements in the order they came, so many and so large that servers take them together. */
function inBatches(statements: readonly Statement[]): Statement[][] {
  const batches: Statement[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const statement of statements) {
    const size = statement.values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
    const last = batches.at(-1);
    bytes += size;
    if (last !== undefined && last.length < BATCH_STATEMENTS && bytes <= BATCH_BYTES) last.push(statement);
    else {
      batches.push([statement]);
      bytes = size;
    }
  }
  return batches;
}

function sizeOf(value: Value): number {
  return value instanceof Uint8Array || typeof value === 'string' ? value.length : 8;
}

/** Policies have a state of their own: each client needs others. */
function clientOptions(options: CqlStoreOptions): cassandra.ClientOptions {
  const { contactPoints, localDataCenter, credentials } = options;
  return {
    contactPoints: [...contactPoints],
    localDataCenter,
    ...(credentials && { credentials }),
    encoding: { useBigIntAsLong: true },
    queryOptions: { prepare: true, isIdempotent: true, consistency: consistencies.localQuorum },
    socketOptions: { readTimeout: options.timeoutMs ?? CQL_DEFAULTS.timeoutMs },
    policies: {
      loadBalancing: new loadBalancing.TokenAwarePolicy(
        new loadBalancing.DCAwareRoundRobinPolicy(localDataCenter),
      ),
      speculativeExecution: new speculativeExecution.ConstantSpeculativeExecutionPolicy(SECOND_TRY_MS, 1),
    },
  };
}

/** The driver takes buffers only. */
function encoded(value: Value): unknown {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function unavailable(error: unknown): StoreError {
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError('unavailable', `the servers of the store do not answer: ${reason}`, { cause: error });
}

/** So many at the same time; the others wait in line. */
class Places {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether one was free, and is taken now. */
  tryTake(): boolean {
    if (this.#free === 0) return false;
    this.#free--;
    return true;
  }

  /** Waits in line for one. */
  take(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

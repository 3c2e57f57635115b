import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A replica as a balancer knows it. */
interface Backend {
  readonly url: string;
  readonly adminUrl: string;
}

/** What `/readyz` said last. */
interface Health {
  isReady: boolean;
  why: string;
}

/** Between two looks at `/readyz` of a replica. */
export const CHECK_MS = 200;

/**
 * A test's stand-in for nginx or haproxy: each request goes to the next replica whose `/readyz` said 200 last, without stickiness. It
 * tries nothing twice, so that whatever goes wrong at a replica goes wrong for a client.
 */
export class Balancer implements AsyncDisposable {
  readonly #server = createServer((incoming, outgoing) => {
    const backend = this.#next();
    if (backend === undefined) {
      outgoing
        .writeHead(503)
        .end(`no replica is ready: ${[...this.#backends.values()].map(({ why }) => why).join(', ')}`);
      return;
    }
    const { method } = incoming;
    const headers = { ...incoming.headers, host: new URL(backend.url).host };
    const onward = request(backend.url, { method, headers, agent: this.#agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', (error) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(`${backend.url}: ${error.message}`);
    });
    incoming.pipe(onward);
  });
  readonly #agent = new Agent({ keepAlive: true });
  readonly #streams = new Set<Socket>();
  readonly #stop = new AbortController();
  readonly #watching = new Set<Promise<void>>();
  readonly #backends = new Map<Backend, Health>();
  #turn = 0;
  /** Requests and WebSocket connections passed on so far, by the URL of the replica. */
  readonly passed = new Map<string, number>();

  private constructor() {
    this.#server.on('upgrade', (incoming, socket, head) => this.#upgrade(incoming, socket as Socket, head));
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Has a replica looked at from now on, until it is gone; requests go there while it is ready. */
  add(backend: Backend): void {
    const state = { isReady: false, why: 'new' };
    this.#backends.set(backend, state);
    const watching = this.#watch(backend, state).finally(() => this.#watching.delete(watching));
    this.#watching.add(watching);
  }

  remove(backend: Backend): void {
    this.#backends.delete(backend);
  }

  isReady(backend: Backend): boolean {
    return this.#backends.get(backend)?.isReady === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.#streams) socket.destroy();
    this.#agent.destroy();
    await Promise.all([closed, ...this.#watching]);
  }

  async #watch(backend: Backend, state: Health): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#backends.has(backend)) {
      // A replica that does not answer is not ready.
      const answer = await fetch(`${backend.adminUrl}/readyz`, { signal }).then(
        async (response) => ({ isReady: response.ok, why: await response.text() }),
        (error: unknown) => ({ isReady: false, why: String(error) }),
      );
      Object.assign(state, answer);
      await pause(CHECK_MS);
    }
  }

  #next(): Backend | undefined {
    const ready = [...this.#backends].filter(([, { isReady }]) => isReady).map(([backend]) => backend);
    const backend = ready[this.#turn++ % ready.length];
    if (backend !== undefined) this.passed.set(backend.url, (this.passed.get(backend.url) ?? 0) + 1);
    return backend;
  }

  #upgrade(incoming: IncomingMessage, client: Socket, head: Buffer): void {
    const backend = this.#next();
    if (backend === undefined) {
      client.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
      return;
    }
    const { hostname, port, host } = new URL(backend.url);
    const onward = connect(Number(port), hostname);
    const lines = Object.entries({ ...incoming.headers, host }).map((header) => header.join(': '));
    onward.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    onward.write(head);
    for (const [one, other] of [
      [client, onward],
      [onward, client],
    ] as const) {
      this.#streams.add(one);
      one.pipe(other);
      // The end of either is the end of both; 'close' follows.
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#streams.delete(one);
        other.destroySoon();
      });
    }
  }
}

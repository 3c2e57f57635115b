import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Turns } from '../../primitives/turns.ts';

interface Gate extends AsyncDisposable {
  readonly url: string;
}

interface HttpAnswer {
  readonly status: number;
  readonly body?: string;
}

const MAX_BODY_BYTES = 5 * 2 ** 20;
const TIMEOUT_MS = 30_000;

/** Passes HTTP requests on to a server, each in its turn. */
export async function openGate(
  { host, port }: { readonly host: string; readonly port: number },
  { target, turns }: { readonly target: string; readonly turns: Turns },
): Promise<Gate> {
  const server = createServer((request, response) => {
    answerTo(request, target, turns).then(
      (answer) => write(response, answer),
      (error: unknown) => write(response, { status: 502, body: JSON.stringify({ error: String(error) }) }),
    );
  });
  server.listen({ host, port });
  await once(server, 'listening').catch((cause: unknown) => {
    throw new Error(`the chain cannot listen on ${host}:${port}`, { cause });
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function answerTo(request: IncomingMessage, target: string, turns: Turns): Promise<HttpAnswer> {
  // Browsers ask first.
  if (request.method === 'OPTIONS') return { status: 204 };
  const body = await readBody(request);
  if (body === undefined) return { status: 413 };
  if (turns.isFull) return { status: 503 };
  return turns.take(() => passOn(target, body));
}

function write(response: ServerResponse, { status, body }: HttpAnswer): void {
  const anyone = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
  response.writeHead(status, { 'content-type': 'application/json', ...anyone }).end(body);
}

async function readBody(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // The rest is read and forgotten: whoever sends it listens only afterwards.
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return size > MAX_BODY_BYTES ? undefined : new Uint8Array(Buffer.concat(chunks));
}

async function passOn(target: string, body: Uint8Array<ArrayBuffer>): Promise<HttpAnswer> {
  const headers = { 'content-type': 'application/json' };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(target, { method: 'POST', headers, body, signal });
  return { status: response.status, body: await response.text() };
}

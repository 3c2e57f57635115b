import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Random } from '../../support/random.ts';
import { importArguments, runCli } from '../../support/servers/node.ts';
import { tempDir } from '../../support/servers/process.ts';
import { get, runProgram, type Serving, startServing } from '../../support/servers/serving.ts';
import type { Keyring } from './keyring.ts';

/** A token, or a key with its secret: whoever showed it. */
const ANY_CREDENTIAL = /\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*|\bcq_[\da-f]{12}_[\w-]+/g;
const NAMES_UPSTREAMS = new Set(['the log', 'config print', 'doctor', '/metrics']);

/** A node that was given credentials of every kind, and all that it ever says. */
export interface KnownNode extends AsyncDisposable {
  readonly serving: Serving;
  /** Keeps what a client was told. */
  heard(answer: string): void;
  /** Where a secret was found, in words; none when all is well. */
  findSecrets(): Promise<readonly string[]>;
}

/** Asked, it says who asked and with what, as providers do in their errors: by turns as HTTP and as JSON-RPC has them. */
async function echoingUpstream(): Promise<{ readonly port: number } & AsyncDisposable> {
  let asked = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const message = `invalid key: ${request.url} ${request.headers.authorization ?? ''}`;
    const error = { code: -32_000, message };
    const ids = [...(await text(request)).matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
    const answers = ids.map((id) => ({ jsonrpc: '2.0', id, error }));
    response.writeHead(asked++ % 2 === 0 ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answers.length === 1 ? answers[0] : answers));
  };
  const server = createServer((request, response) => {
    // A client that breaks off hears nothing.
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, [Symbol.asyncDispose]: stop };
}

/** Starts a node on the official chain, with upstreams that refuse it, and logs all there is to log. */
export async function startKnownNode(ring: Keyring, seed: number): Promise<KnownNode> {
  await using starting = new AsyncDisposableStack();
  const random = new Random(seed, 0x736563);
  const secret = (): string => Buffer.from(random.bytes(12)).toString('hex');
  const [user, password, inPath, inQuery, ofSend, ofStream] = random.list(6, secret);
  const dir = starting.use(await tempDir('known'));
  const { port } = starting.use(await echoingUpstream());
  const [data, log] = [join(dir.path, 'data'), join(dir.path, 'log')];
  await runCli(importArguments(data));
  await writeFile(join(dir.path, 'keys.yaml'), ring.keyFile, { mode: 0o600 });
  await writeFile(join(dir.path, 'jwks.json'), JSON.stringify(ring.jwks), { mode: 0o600 });
  const host = `127.0.0.1:${port}`;
  const upstreams = [
    ...['--upstream', `http://${user}:${password}@${host}/v2/${inPath}?apikey=${inQuery}`],
    ...['--upstream', `ws://${user}:${password}@${host}/ws/${inPath}?apikey=${inQuery}`],
    ...['--flashblocks', `ws://${host}/${ofStream}`],
  ];
  const options = [...upstreams, '--send-to', `http://${host}/${ofSend}`];
  const files = ['--keys', join(dir.path, 'keys.yaml'), '--jwks', join(dir.path, 'jwks.json')];
  const serving = starting.use(
    await startServing(data, {
      args: [
        ...options,
        ...files,
        '--log-level',
        'trace',
        '--profile',
        'public.rate=0',
        '--forward',
        'eth_accounts',
      ],
      // All of its log, not only its end.
      under: ['sh', '-c', 'exec "$0" "$@" 2>"$LOG_FILE"'],
      env: { LOG_FILE: log },
    }),
  );
  const heard: string[] = [];
  const secrets = new Set([user, password, inPath, inQuery, ofSend, ofStream, ...ring.secrets].map(String));
  secrets.add(Buffer.from(`${user}:${password}`).toString('base64'));
  const outputs = async (): Promise<Readonly<Record<string, string>>> => ({
    'the log': await readFile(log, 'utf8'),
    answers: heard.join('\n'),
    '/metrics': (await get(`${serving.adminUrl}/metrics`)).text,
    '/readyz': (await get(`${serving.adminUrl}/readyz`)).text,
    'config print': await outputOf('config', 'print', '--data', data, ...options, ...files),
    'config check': await outputOf('config', 'check', '--data', data, ...options, ...files),
    'keys list': await outputOf('keys', 'list', ...files.slice(0, 2)),
    doctor: await outputOf('doctor', '--data', join(dir.path, 'other'), ...upstreams),
  });
  const resources = starting.move();
  return {
    serving,
    heard: (answer) => void heard.push(answer),
    async findSecrets() {
      const found: string[] = [];
      for (const [where, said] of Object.entries(await outputs())) {
        if (said === '') found.push(`${where} is empty`);
        for (const known of secrets) if (said.includes(known)) found.push(`${known} in ${where}`);
        for (const [shown] of said.matchAll(ANY_CREDENTIAL)) found.push(`${shown} in ${where}`);
        // Else nothing was hidden, and nothing shown by finding nothing.
        if (NAMES_UPSTREAMS.has(where) && !said.includes(`${host}/`)) found.push(`no upstream in ${where}`);
      }
      return found;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function outputOf(...args: readonly string[]): Promise<string> {
  return (await runProgram(args)).output;
}

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';
import { afterAll, expect, it } from 'vitest';
import { NatsLink, type NatsLinkOptions } from '../../../src/feed/nats/link.ts';
import { startTcpProxy } from '../../support/proxies/tcp-proxy.ts';
import { startNats } from '../../support/servers/fleet/nats.ts';
import { repoRoot } from '../../support/servers/paths.ts';
import { runToEnd, tempDir, until } from '../../support/servers/process.ts';
import { at, CHAIN, Follower, itemAt, publisherTo } from './followed.ts';

const dir = await tempDir('nats-login');
afterAll(() => dir[Symbol.asyncDispose]());

/** What comes of these options: a connection, or what is said of the first failure. */
async function outcomeOf(options: Omit<NatsLinkOptions, 'name'>): Promise<string> {
  const said: Error[] = [];
  const link = new NatsLink({ ...options, name: 'test' }, (error) => said.push(error));
  try {
    return await until('a connection or a failure', () => {
      if (link.connected) return 'connected';
      return said[0] && `${said[0].stack} ${String(said[0].cause)}`;
    });
  } finally {
    await link.close();
  }
}

it('enters with a user and a password, and never says the password', async () => {
  await using nats = await startNats({
    settings: 'authorization { users: [{ user: me, password: "right-s3cret" }] }',
  });
  const [server = ''] = nats.servers;
  expect(await outcomeOf({ servers: [`nats://me:right-s3cret@${server}`] })).toBe('connected');
  const refused = await outcomeOf({ servers: [`nats://me:wrong-s3cret@${server}`] });
  expect(refused).toMatch(/authorization violation/i);
  expect(refused).not.toContain('s3cret');
  expect(await outcomeOf({ servers: [`nats://${server}`] })).toMatch(/authorization violation/i);
  // A server that cannot hide what it is sent is not told the password.
  expect(await outcomeOf({ servers: [`tls://me:right-s3cret@${server}`] })).toContain(
    "does not support 'tls'",
  );
});

it('enters with a token', async () => {
  await using nats = await startNats({ settings: 'authorization { token: "right-s3cret" }' });
  const [server = ''] = nats.servers;
  expect(await outcomeOf({ servers: [`nats://right-s3cret@${server}`] })).toBe('connected');
  expect(await outcomeOf({ servers: [`nats://wrong-s3cret@${server}`] })).not.toContain('s3cret');
});

it('enters over TLS, and only servers whose certificate it can check', async () => {
  const [cert, key] = [join(dir.path, 'server.pem'), join(dir.path, 'server.key')];
  const files = ['-keyout', key, '-out', cert];
  await runToEnd('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', ...files],
  ]);
  await using nats = await startNats({ settings: `tls { cert_file: "${cert}", key_file: "${key}" }` });
  const [server = ''] = nats.servers;
  expect(await outcomeOf({ servers: [`tls://${server}`] })).toMatch(/self-signed/);
  // Its certificate is for a name that its address is not.
  expect(await outcomeOf({ servers: [`tls://${server}`], tlsCaFile: cert })).toMatch(/altnames/i);
  await using proxy = await startTcpProxy(`http://${server}`);
  const { port } = new URL(proxy.url);
  for (const name of ['127.0.0.1', 'localhost']) {
    expect(await outcomeOf({ servers: [`tls://${name}:${port}`], tlsCaFile: cert })).toBe('connected');
  }
  const missing = await outcomeOf({ servers: [`tls://${server}`], tlsCaFile: join(dir.path, 'none') });
  expect(missing).toContain("doesn't exist");
});

it('enters with a credentials file, and says nothing of what is in it', async () => {
  const { settings, credentials, seed } = madeAccounts();
  const [good, bad] = [join(dir.path, 'user.creds'), join(dir.path, 'bad.creds')];
  await writeFile(good, credentials);
  await writeFile(bad, `no credentials ${seed}`);
  await using nats = await startNats({ settings });
  const [server = ''] = nats.servers;
  const servers = [`nats://${server}`];
  expect(await outcomeOf({ servers, credentialsFile: good })).toBe('connected');
  const refused = await outcomeOf({ servers, credentialsFile: bad });
  expect(refused).toContain('unable to parse credentials');
  expect(refused).not.toContain(seed);
});

it('needs no more rights than the docs name', async () => {
  const quoted = (subjects: readonly string[]): string =>
    subjects.map((subject) => `"${subject}"`).join(', ');
  const users = Object.entries(await rightsInDocs()).map(
    ([user, subjects]) =>
      `{ user: ${user}, password: s3cret, permissions: { publish: [${quoted(subjects)}], subscribe: ["_INBOX.>"] } }`,
  );
  await using nats = await startNats({ settings: `authorization { users: [${users.join(', ')}] }` });
  const urlsOf = (user: string): string[] => nats.servers.map((server) => `nats://${user}:s3cret@${server}`);
  await using stack = new AsyncDisposableStack();
  const publisher = publisherTo(urlsOf('writer'));
  stack.defer(() => publisher.close());
  await using follower = new Follower(urlsOf('reader'));
  publisher.publish(itemAt(at(1)));
  await follower.reaches(at(1));
  expect(publisher.state).toMatchObject({ acknowledged: 1, retries: 0 });
  // A reader cannot speak for the writer.
  const intruder = publisherTo(urlsOf('reader'), { epoch: 2 });
  stack.defer(() => intruder.close());
  intruder.publish(itemAt(at(1, 2)));
  await until('a refusal', () => (intruder.state.retries > 1 ? true : undefined));
  expect(follower.subscriber.state.last).toEqual(at(1));
});

/** The subjects that docs/feed.md has writers and readers publish to, for the chain of the tests. */
async function rightsInDocs(): Promise<Record<string, string[]>> {
  const docs = await readFile(join(repoRoot, 'docs/feed.md'), 'utf8');
  const rows = ['writer', 'reader'].map((who) => {
    const [, cells = ''] = new RegExp(`^\\| ${who} \\|(.*)\\|$`, 'm').exec(docs) ?? [];
    return [
      who,
      Array.from(cells.matchAll(/`([^`]+)`/g), ([, subject = '']) => subject.replaceAll('CHAIN', CHAIN)),
    ];
  });
  return Object.fromEntries(rows);
}

/** An operator, an account and a user of it, as `nsc` would make them. */
function madeAccounts(): { readonly settings: string; readonly credentials: string; readonly seed: string } {
  const [operator, system, account, user] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
    nkeys.createUser(),
  ];
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sign = (by: typeof operator, subject: string, claims: object): string => {
    const head = encode({ typ: 'JWT', alg: 'ed25519-nkey' });
    const body = encode({
      jti: subject,
      iat: 1,
      iss: by.getPublicKey(),
      name: 'test',
      sub: subject,
      nats: claims,
    });
    const signature = Buffer.from(by.sign(Buffer.from(`${head}.${body}`))).toString('base64url');
    return `${head}.${body}.${signature}`;
  };
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  };
  const asAccount = (key: typeof account): string =>
    sign(operator, key.getPublicKey(), { type: 'account', version: 2, limits });
  const operatorJwt = sign(operator, operator.getPublicKey(), { type: 'operator', version: 2 });
  const userJwt = sign(account, user.getPublicKey(), {
    type: 'user',
    version: 2,
    subs: -1,
    data: -1,
    payload: -1,
  });
  const seed = Buffer.from(user.getSeed()).toString();
  const preload = [system, account].map((key) => `${key.getPublicKey()}: "${asAccount(key)}"`);
  return {
    settings: `operator: "${operatorJwt}"
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload: { ${preload.join(', ')} }`,
    credentials: `-----BEGIN NATS USER JWT-----
${userJwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`,
    seed,
  };
}

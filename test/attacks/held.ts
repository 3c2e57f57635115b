import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { say } from '../support/checks.ts';
import { closed } from '../support/closed.ts';
import { importArguments, runCli } from '../support/servers/node.ts';
import { tempDir } from '../support/servers/process.ts';
import { type AttackedNode, startAttackedNode } from './attacked-node.ts';
import { type Attacked, judge } from './by-clients.ts';
import { COMPLETE_ATTACKS } from './clients/catalogue.ts';
import { ACTOR } from './evm.ts';
import { FRAMING, ODD_JSON } from './held-cases.ts';
import type { Scene } from './scene.ts';
import { plainRequest, rpc } from './target.ts';

const ANSWER_MS = 1_500;
const SHUTDOWN_MS = 10_000;
const TRIE_KEYS = 300;
/** An account of the official chain, and its head. */
const OLD_STATES = { list: '0x7dcd17433742f4c0ca53122ab541d0ba67fc27df', block: '0x36' } as const;

/** What has always held, and must go on doing so: framing, odd JSON, and an end under load. */
export async function heldAttacks(scene: Scene): Promise<void> {
  const { checks } = scene;
  await using data = await tempDir('held');
  const folder = join(data.path, 'data');
  await runCli(importArguments(folder));
  // The trie of one state has room, and no second one.
  await using node = await startAttackedNode(['--data', folder, '--trie-keys', String(TRIE_KEYS)]);
  for (const [name, bytes, expected] of FRAMING) {
    const statuses = (await exchange(node, bytes))
      .split(/(?=HTTP\/1\.1 \d)/)
      .map((answer) => answer.slice(9, 12));
    checks.check(
      `framing: ${name}`,
      statuses.join(' ') === expected,
      `${statuses.join(' ')}, not ${expected}`,
    );
  }
  for (const [name, body, expected] of ODD_JSON) {
    const response = await fetch(node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await response.text();
    checks.check(`JSON: ${name}`, expected.test(text), text.slice(0, 200));
  }
  const complete: Attacked = { node, sealedAt: new Map(), place: OLD_STATES, emitsLogs: false };
  for (const [name, kind] of Object.entries(COMPLETE_ATTACKS)) await judge(scene, complete, name, kind);
  checks.check('the node stays up', node.death === undefined, node.death);
  await endUnderLoad(checks, node);
}

/** Everything that comes back on one connection, until it is closed or quiet. */
async function exchange({ port }: AttackedNode, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  const ended = closed(socket);
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'connect');
  socket.write(bytes, 'latin1');
  // A connection that is kept has answered long before; what is refused is closed at once.
  const isQuiet = async (): Promise<void> => {
    for (let before = -1; before !== text.length; ) {
      before = text.length;
      await pause(text.length === 0 ? ANSWER_MS : 60);
    }
  };
  await Promise.race([ended, isQuiet()]);
  socket.destroy();
  return text;
}

/** SIGTERM while calls run that would never end, and others that do. */
async function endUnderLoad(checks: Scene['checks'], node: AttackedNode): Promise<void> {
  let lost = 0;
  let answered = 0;
  const over = new AbortController();
  const ask = async (body: string): Promise<void> => {
    while (!over.signal.aborted) {
      const socket = connect(node.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const isOpen = await Promise.race([once(socket, 'connect'), once(socket, 'close')]).then(
        () => !socket.destroyed,
        () => false,
      );
      if (!isOpen) return;
      let text = '';
      let settle: (isWhole: boolean) => void = () => undefined;
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (/\r\n\r\n\{.*\}$/s.test(text)) settle(true);
      });
      socket.on('close', () => settle(false));
      while (!over.signal.aborted && !socket.destroyed) {
        text = '';
        const whole = new Promise<boolean>((resolve) => {
          settle = resolve;
        });
        socket.write(plainRequest(body));
        if (await whole) answered++;
        else if (text !== '') lost++;
      }
      socket.destroy();
    }
  };
  const loop = rpc('eth_call', [{ to: ACTOR }, 'latest', { [ACTOR]: { code: '0x5b5f56' } }]);
  const clients = [
    ...Array.from({ length: 20 }, () => ask(rpc('eth_blockNumber', []))),
    ...Array.from({ length: 10 }, () => ask(loop)),
  ];
  await pause(1_500);
  const started = performance.now();
  process.kill(node.pid, 'SIGTERM');
  const code = await node.running.exited;
  const took = performance.now() - started;
  over.abort();
  await Promise.all(clients);
  say(
    `SIGTERM under load: ended with ${code} after ${took.toFixed(0)} ms; ${answered} answered, ${lost} cut off`,
  );
  checks.check(
    'SIGTERM under load ends it in time',
    code === 0 && took < SHUTDOWN_MS + 2_000,
    node.death ?? took,
  );
  checks.check('SIGTERM under load cuts no answer in two', lost === 0, lost);
}

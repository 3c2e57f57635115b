import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { boundAddresses } from '../support/servers/node.ts';
import { type FollowingNode, whereItListens } from '../support/servers/our-node.ts';
import { startProgram } from '../support/servers/serving.ts';
import type { PreconfirmedRig } from './rig.ts';

/** Our node with a public and a dedicated listener, both on all serving threads. */
export interface ServedNode extends FollowingNode {
  readonly publicUrl: string;
}

export interface ServedOptions {
  readonly dataDir: string;
  readonly threads: number;
  readonly more: readonly string[];
  /** One that has ended, in whose place it listens. */
  readonly like?: ServedNode | undefined;
  /** Another program than the sources here. */
  readonly program?: string | undefined;
}

/** Starts our node on a rig's chain and streams. Its process is the program itself, whose memory can be read. */
export async function startServed(rig: PreconfirmedRig, options: ServedOptions): Promise<ServedNode> {
  const { dataDir, threads, more, program, like } = options;
  const portFile = join(dataDir, 'ports.json');
  await rm(portFile, { force: true });
  const place = (url: string | undefined): string => (url === undefined ? '127.0.0.1:0' : new URL(url).host);
  const args = [
    ...['serve', '--data', join(dataDir, 'data'), '--chain', rig.node.genesisFile],
    ...['--listen-port-file', portFile, '--public', place(like?.publicUrl)],
    ...['--dedicated', place(like?.url), '--admin', place(like?.adminUrl)],
    ...['--threads', `${threads}`, '--upstream-poll-ms', '50', '--upstream', rig.node.ws],
    ...rig.servers.flatMap(({ url }) => ['--flashblocks', url]),
    ...more,
  ];
  const running = startProgram(args, {}, program);
  try {
    const addresses = await boundAddresses(running, portFile);
    return { ...whereItListens(running, addresses), publicUrl: `http://${addresses['public']}` };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

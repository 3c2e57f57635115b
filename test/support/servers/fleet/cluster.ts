import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Running, tempDir, until } from '../process.ts';

/** Servers that are one service together. Nodes are counted from 0. */
export interface Cluster extends AsyncDisposable {
  /** The address of each node, without a port. */
  readonly addresses: readonly string[];
  /** Where the files of a node are. */
  folder(node: number): string;
  /** The last output of a node. */
  output(node: number): string;
  /** Ends a node without warning. */
  kill(node: number): Promise<void>;
  /** Has a node do nothing, as in a long pause of its machine, until it is resumed. */
  pause(node: number): void;
  resume(node: number): void;
  /** Starts a node that was killed, with what it had on disk. Done when it says that it is ready: others may not have noticed yet. */
  restart(node: number): Promise<void>;
}

/** One node of a cluster, as whoever starts it needs to know it. */
export interface Member {
  readonly index: number;
  readonly address: string;
  readonly folder: string;
}

export interface Service {
  readonly name: string;
  launch(member: Member, all: readonly Member[]): Running | Promise<Running>;
  /** Found in the output of a node that can be used. */
  readonly ready: RegExp;
}

/** How long nodes may take to start: three JVMs share two cores with whatever else runs. */
const START_DEADLINE_MS = 180_000;

/** Starts all nodes at once on loopback addresses of their own, so that their ports collide with nobody's. */
export async function startCluster(service: Service, size: number): Promise<Cluster> {
  const dir = await tempDir(service.name);
  const network = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const members = Array.from({ length: size }, (_, index) => ({
    index,
    address: `${network}.${index + 1}`,
    folder: join(dir.path, `node-${index}`),
  }));
  const running = new Map<number, Running>();
  const at = <T>(found: T | undefined, node: number): T => {
    if (found === undefined) throw new Error(`${service.name} has no node ${node} that runs`);
    return found;
  };
  const kill = async (node: number): Promise<void> => {
    const killed = at(running.get(node), node);
    running.delete(node);
    killed.signal('SIGKILL');
    await killed.exited;
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...running.keys()].map(kill));
    await dir[Symbol.asyncDispose]();
  };
  const run = async (member: Member): Promise<void> => {
    const node = await service.launch(member, members);
    running.set(member.index, node);
    const what = `node ${member.index} of ${service.name}`;
    await Promise.race([
      until(`${what} to be ready`, () => service.ready.exec(node.output())?.[0], START_DEADLINE_MS),
      node.exited.then((code) => Promise.reject(new Error(`${what} ended with ${code}`))),
    ]).catch((cause: unknown) => {
      throw new Error(`${what} did not start:\n${node.output().slice(-4_000)}`, { cause });
    });
  };
  try {
    await Promise.all(members.map(({ folder }) => mkdir(folder)));
    await Promise.all(members.map(run));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses: members.map(({ address }) => address),
    folder: (node) => at(members[node], node).folder,
    output: (node) => at(running.get(node), node).output(),
    kill,
    pause: (node) => at(running.get(node), node).signal('SIGSTOP'),
    resume: (node) => at(running.get(node), node).signal('SIGCONT'),
    restart: (node) => run(at(members[node], node)),
    [Symbol.asyncDispose]: stop,
  };
}

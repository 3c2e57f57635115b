import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A process that was given its plan and said that it is ready; each thing it is told then has one answer. */
export interface Child extends AsyncDisposable {
  ask(message: object | string): Promise<unknown>;
}

/** Starts a file in a process of its own, so that its work is not the bench's. */
export async function startChild(file: string, what: string, plan: object): Promise<Child> {
  const child: ChildProcess = fork(file, { serialization: 'advanced' });
  const exited = once(child, 'exit');
  const ended = exited.then(([code]) => {
    throw new Error(`${what} ended with ${code}`);
  });
  ended.catch(() => {});
  const ask = async (message: object | string): Promise<unknown> => {
    const said = Promise.race([once(child, 'message'), ended]);
    child.send(message);
    return (await said)[0];
  };
  await ask(plan);
  return {
    ask,
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}

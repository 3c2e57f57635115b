import { randomBytes } from 'node:crypto';
import { clientFrame, rpc, type Target } from '../target.ts';

const many = (length: number, bytes: number): string[] =>
  Array.from({ length }, () => `0x${randomBytes(bytes).toString('hex')}`);

const idOf = (answer: string): string => /"result":"(0x[0-9a-f]+)"/.exec(answer)?.[1] ?? '0x0';

/** As many filters as there may be, of all kinds, some as large as they may be; nobody ever asks for them. */
export async function filtersNeverPolled(target: Target): Promise<void> {
  const large = { address: many(1_000, 20), topics: [0, 1, 2, 3].map(() => many(1_000, 32)) };
  const bodies = [
    rpc('eth_newFilter', [{ toBlock: 'pending' }]),
    rpc('eth_newFilter', [{}]),
    rpc('eth_newBlockFilter', []),
    rpc('eth_newPendingTransactionFilter', []),
  ];
  let count = 0;
  await target.repeat(20, () =>
    ++count % 100 === 0 ? rpc('eth_newFilter', [large]) : (bodies[count % bodies.length] ?? ''),
  );
}

/** A filter of everything, and a hundred polls of it at once, again and again. */
export async function pollsOfEverything(target: Target): Promise<void> {
  const id = idOf(await target.post(rpc('eth_newFilter', [{ toBlock: 'pending' }])));
  await target.repeat(100, () => rpc('eth_getFilterChanges', [id]));
}

/** Hundreds of filters of all logs, asked at once for all that came since. */
export async function pollsOfManyLogs(target: Target): Promise<void> {
  const made = Array.from({ length: 300 }, () => target.post(rpc('eth_newFilter', [{ toBlock: 'pending' }])));
  const ids = (await Promise.all(made)).map(idOf);
  await target.part(0.6);
  await Promise.all(ids.map((id) => target.post(rpc('eth_getFilterChanges', [id]))));
  await Promise.all(ids.map((id) => target.post(rpc('eth_uninstallFilter', [id]))));
}

/** All logs of filters that begin with the chain, on many connections. */
export async function allLogsOfFilters(target: Target): Promise<void> {
  const id = idOf(await target.post(rpc('eth_newFilter', [{ fromBlock: 'earliest' }])));
  await target.repeat(20, () => rpc('eth_getFilterLogs', [id]));
}

/** Filters of many connections, each of which is left at once: as many as there may be of all clients. */
export async function filtersLeft(target: Target): Promise<void> {
  const batch = `[${Array.from({ length: 100 }, () => rpc('eth_newBlockFilter', [])).join(',')}]`;
  const leave = async (): Promise<void> => {
    const socket = await target.webSocket();
    let answers = 0;
    const answered = new Promise<void>((resolve) => {
      socket.on('data', (data: Buffer) => {
        answers += data.toString('latin1').split('"id"').length - 1;
        if (answers >= 1_000) resolve();
      });
      socket.on('close', () => resolve());
    });
    await target.write(socket, Buffer.concat(Array.from({ length: 10 }, () => clientFrame(batch))));
    await answered;
    socket.destroy();
  };
  for (let connection = 0; connection < 12 && !target.isOver; connection++) await leave();
  await target.postAfterwards(rpc('eth_newBlockFilter', []));
}

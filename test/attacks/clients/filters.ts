import { randomBytes } from 'node:crypto';
import { rpc, type Target } from '../target.ts';

const many = (length: number, bytes: number): string[] =>
  Array.from({ length }, () => `0x${randomBytes(bytes).toString('hex')}`);

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
  const answer = await target.post(rpc('eth_newFilter', [{ toBlock: 'pending' }]));
  const id = /"result":"(0x[0-9a-f]+)"/.exec(answer)?.[1] ?? '0x0';
  await target.repeat(100, () => rpc('eth_getFilterChanges', [id]));
}

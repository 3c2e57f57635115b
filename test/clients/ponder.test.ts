import { expect, inject, it } from 'vitest';
import { until } from '../support/servers/process.ts';
import { type Rows, startPonder } from './ponder-app.ts';
import { counter, readerOf, walletOf } from './wallets.ts';

const dev = inject('dev');
const ports = [42_169, 42_170] as const;

it('ponder makes the same database from our node as from op-geth', async () => {
  const [reader, wallet] = [readerOf(dev), walletOf(dev)];
  const increment = async (): Promise<void> => {
    const hash = await wallet.writeContract({ ...counter, functionName: 'increment' });
    await reader.waitForTransactionReceipt({ hash });
  };
  // Some of it is history when the apps begin, some comes after.
  for (let sent = 0; sent < 3; sent += 1) await increment();
  await using apps = new AsyncDisposableStack();
  const starting = [startPonder(dev.dedicatedUrl, ports[0]), startPonder(dev.chainUrl, ports[1])];
  const started = (await Promise.all(starting)).map((app) => apps.use(app));
  for (let sent = 0; sent < 3; sent += 1) await increment();
  const last = await reader.readContract({ ...counter, functionName: 'count' });
  const upTo = await reader.getBlockNumber({ cacheTime: 0 });
  const isWhole = ({ increments, blocks }: Rows): boolean =>
    increments.length === Number(last) && blocks.length > Number(upTo);
  const [one, other] = await Promise.all(
    started.map((app) =>
      until(
        'all rows',
        async () => {
          const rows = await app.rows();
          return isWhole(rows) ? rows : undefined;
        },
        40_000,
      ).catch((cause: unknown) => {
        throw new Error(`ponder has not all rows: ${app.output().slice(-2_000)}`, { cause });
      }),
    ),
  );
  expect(one?.increments).toEqual(other?.increments);
  const known = (rows: Rows | undefined) =>
    rows?.blocks.filter(({ number }) => Number(number) <= Number(upTo));
  expect(known(one)).toEqual(known(other));
  expect(known(one)?.length).toBe(Number(upTo));
}, 180_000);

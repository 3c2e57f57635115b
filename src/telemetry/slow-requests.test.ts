import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { SlowRequests } from './slow-requests.ts';

const REQUEST = { requestId: 'r-1' };

function slowRequests(ms: number, maxLines = 10) {
  const lines: string[] = [];
  const registry = new Registry();
  const logger = createLogger('info', { write: (line) => void lines.push(line) });
  const clock = { ms: 0 };
  const hear = new SlowRequests({ ms, maxLines }, { registry, logger, now: () => clock.ms }).of('public');
  const counted = async (name: string): Promise<number | undefined> =>
    (await registry.getSingleMetric(`chain_query_${name}`)?.get())?.values[0]?.value;
  return { hear, lines, clock, counted };
}

it('writes a line for a call that took at least as long, with its id and not its params', async () => {
  const { hear, lines, counted } = slowRequests(2_000);
  hear('eth_call', undefined, 1.999, REQUEST);
  hear('eth_getLogs', undefined, 2, REQUEST);
  hear('eth_call', -32_000, 5.0004, REQUEST);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: 'warn',
      msg: 'slow request',
      method: 'eth_getLogs',
      milliseconds: 2_000,
      listener: 'public',
      ...REQUEST,
    },
    { method: 'eth_call', milliseconds: 5_000, code: -32_000 },
  ]);
  expect(await counted('slow_requests_total')).toBe(2);
});

it('writes only so many a second, and counts the others', async () => {
  const { hear, lines, clock, counted } = slowRequests(1, 3);
  for (let call = 0; call < 5; call++) hear('eth_call', undefined, 1, REQUEST);
  expect(lines).toHaveLength(3);
  clock.ms = 999;
  hear('eth_call', undefined, 1, REQUEST);
  expect(lines).toHaveLength(3);
  expect(await counted('slow_request_lines_dropped_total')).toBe(3);
  clock.ms = 1_000;
  hear('eth_call', undefined, 1, REQUEST);
  expect(lines).toHaveLength(4);
  expect(await counted('slow_requests_total')).toBe(7);
});

it('takes nothing for slow with 0', async () => {
  const { hear, lines, counted } = slowRequests(0);
  hear('eth_call', undefined, 3_600, REQUEST);
  expect(lines).toEqual([]);
  expect(await counted('slow_requests_total')).toBe(0);
});

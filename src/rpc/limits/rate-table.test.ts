import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newRateMemory, type Rate, RateTable } from './rate-table.ts';

const SECOND = 1_000_000_000n;
const RATE: Rate = { perSecond: 10, burstSeconds: 2 };

function table(): { readonly rates: RateTable; pass(seconds: number): void } {
  let now = 5n * SECOND;
  return {
    rates: new RateTable(newRateMemory(), () => now),
    pass: (seconds) => {
      now += BigInt(Math.round(seconds * 1e9));
    },
  };
}

describe('a rate', () => {
  it('lets through what was saved, then as much as it says, and tells how long to wait', () => {
    const { rates, pass } = table();
    const client = rates.account('10.0.0.1');
    for (let count = 0; count < 20; count++) expect(client.take(1, RATE)).toBe(0);
    expect(client.take(1, RATE)).toBeCloseTo(0.1);
    expect(client.take(5, RATE)).toBeCloseTo(0.5);
    pass(0.5);
    expect(client.take(5, RATE)).toBe(0);
    expect(client.take(1, RATE)).toBeGreaterThan(0);
    pass(100);
    expect(client.take(20, RATE)).toBe(0);
    expect(client.take(1, RATE)).toBeGreaterThan(0);
  });

  it('takes what was found to cost more whatever is left, up to twice what can be saved', () => {
    const { rates, pass } = table();
    const client = rates.account('10.0.0.1');
    client.charge(15, RATE);
    expect(client.take(5, RATE)).toBe(0);
    expect(client.take(1, RATE)).toBeCloseTo(0.1);
    client.charge(1_000, RATE);
    expect(client.take(1, RATE)).toBeCloseTo(2.1);
    pass(2.2);
    expect(client.take(1, RATE)).toBe(0);
  });

  it('serves what costs more than can be saved to who has saved all, and has it paid afterwards', () => {
    const { rates, pass } = table();
    const client = rates.account('10.0.0.1');
    expect(client.take(100, RATE)).toBe(0);
    pass(8);
    expect(client.take(1, RATE)).toBeCloseTo(0.1);
    pass(0.2);
    expect(client.take(1, RATE)).toBe(0);
  });

  it('is of one client, whichever thread it is connected to', () => {
    const memory = newRateMemory();
    const [one, other] = [new RateTable(memory, () => SECOND), new RateTable(memory, () => SECOND)];
    expect(one.account('a').take(20, RATE)).toBe(0);
    expect(other.account('a').take(1, RATE)).toBeGreaterThan(0);
    expect(other.account('b').take(1, RATE)).toBe(0);
  });

  it('never lets more through than was saved and has become due', () => {
    const uses = fc.array(
      fc.record({ units: fc.integer({ min: 1, max: 20 }), wait: fc.double({ min: 0, max: 3, noNaN: true }) }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(uses, (all) => {
        const { rates, pass } = table();
        const client = rates.account('c');
        let [taken, passed] = [0, 0];
        for (const { units, wait } of all) {
          if (client.take(units, RATE) === 0) taken += units;
          expect(taken).toBeLessThanOrEqual(20 + passed * 10 + 0.001);
          pass(wait);
          passed += wait;
        }
      }),
    );
  });
});

it('holds the debts of many clients, and forgets only what is paid or least', () => {
  const { rates } = table();
  const clients = Array.from({ length: 20_000 }, (_, index) => rates.account(`client ${index}`));
  for (const client of clients) expect(client.take(20, RATE)).toBe(0);
  const forgotten = clients.filter((client) => client.take(1, RATE) === 0).length;
  expect(forgotten).toBeLessThan(200);
});

import type { Outcome } from '../../src/chain/outcome.ts';
import type { SlotKey } from '../../src/chain/state-key.ts';
import { toHex } from '../../src/primitives/hex.ts';
import { markdown } from '../report.ts';
import { MATCHES } from './content.ts';
import type { CqlTables } from './cql.ts';
import type { Peer } from './peers.ts';
import { describeTimes, milliseconds, note, summarise } from './timing.ts';

interface Questions {
  readonly head: number;
  readonly middle: number;
  /** Keys that are asked for at the head, and at a block below: some of those changed after it. */
  readonly latest: readonly SlotKey[];
  readonly settled: readonly SlotKey[];
  readonly changedSince: readonly SlotKey[];
  readonly transactions: readonly Uint8Array[];
}

export function questionsOf(blocks: readonly Outcome[]): Questions {
  const middle = blocks[Math.floor(blocks.length / 2)]?.number ?? 0;
  const spans = new Map<string, { key: SlotKey; first: number; last: number }>();
  for (const { number, diff } of blocks) {
    for (const [address, slot] of diff.slots) {
      const text = toHex(address) + toHex(slot);
      const first = spans.get(text)?.first ?? number;
      spans.set(text, { key: { kind: 'slot', address, slot }, first, last: number });
    }
  }
  const all = [...spans.values()];
  const keys = (is: (span: { first: number; last: number }) => boolean): readonly SlotKey[] =>
    all.filter(is).map(({ key }) => key);
  return {
    head: blocks.at(-1)?.number ?? 0,
    middle,
    latest: keys(() => true),
    settled: keys(({ last }) => last <= middle),
    changedSince: keys(({ first, last }) => first <= middle && last > middle),
    transactions: blocks.flatMap(({ receipts }) => receipts.map(({ transactionHash }) => transactionHash)),
  };
}

/** Other items each turn, spread over all of them. */
function pick<T>(items: readonly T[], count: number, turn: number): readonly T[] {
  return Array.from({ length: count }, (_, at) => items[((turn * count + at) * 7_919) % items.length] as T);
}

export async function measureReads(
  peers: readonly Peer[],
  cql: CqlTables,
  questions: Questions,
  { repeats, plants }: { readonly repeats: number; readonly plants: number },
): Promise<string> {
  const mixed = (turn: number): readonly SlotKey[] => [
    ...pick(questions.settled, 27, turn),
    ...pick(questions.changedSince, 3, turn),
  ];
  const flat: Peer = {
    ...{ name: 'CQL without eras', state: cql.flatState.bind(cql) },
    ...{ logs: cql.logs.bind(cql), receipt: cql.receipt.bind(cql) },
  };
  const find = async (peer: Peer, turn: number, ofHot: boolean): Promise<void> => {
    const found = await peer.logs(turn % plants, ofHot);
    if (found !== MATCHES) throw new Error(`${peer.name} found ${found} logs, not ${MATCHES}`);
  };
  const cases: [string, number, boolean, (peer: Peer, turn: number) => Promise<void>][] = [
    [
      '1 slot at the head',
      1,
      true,
      (peer, turn) => peer.state(pick(questions.latest, 1, turn), questions.head),
    ],
    [
      '30 slots at once, at the head',
      1,
      true,
      (peer, turn) => peer.state(pick(questions.latest, 30, turn), questions.head),
    ],
    [
      '30 slots at once, 3 of them changed since',
      1,
      true,
      (peer, turn) => peer.state(mixed(turn), questions.middle),
    ],
    [
      '8 rounds of 4 slots, each after the last',
      1,
      true,
      async (peer, turn) => {
        for (let round = 0; round < 8; round++)
          await peer.state(pick(questions.latest, 4, turn * 8 + round), questions.head);
      },
    ],
    [`${MATCHES} logs of a rare topic`, 0.5, false, (peer, turn) => find(peer, turn, false)],
    [`${MATCHES} logs of a hot address and a rare topic`, 0.5, false, (peer, turn) => find(peer, turn, true)],
    [
      'a receipt by its hash',
      1,
      false,
      (peer, turn) => peer.receipt(pick(questions.transactions, 1, turn)[0] as Uint8Array),
    ],
  ];
  const lines: string[][] = [];
  for (const [title, share, isState, run] of cases) {
    const asked = isState ? [...peers, flat] : peers;
    const times = asked.map((): number[] => []);
    const count = Math.ceil(repeats * share);
    // In turns, so that noise of the machine hits all alike; the first quarter does not count.
    for (let turn = -Math.ceil(count / 4); turn < count; turn++) {
      for (const [at, peer] of asked.entries()) {
        const taken = await milliseconds(() => run(peer, turn + count));
        if (turn >= 0) times[at]?.push(taken);
      }
    }
    const cells = [title, ...times.map((some) => describeTimes(summarise(some))), ...(isState ? [] : [''])];
    lines.push(cells);
    note(cells.join(' | '));
  }
  return markdown(['p50 / p99, ms', ...[...peers, flat].map(({ name }) => name)], lines);
}

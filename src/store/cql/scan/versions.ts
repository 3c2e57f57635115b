import type { StateKey } from '../../../chain/state-key.ts';
import { toHex } from '../../../primitives/hex.ts';
import type { StateVersion } from '../../interface.ts';
import { scanCodes } from '../index-rows.ts';
import { copyOf, type Root } from '../root.ts';
import type { Session } from '../session.ts';
import { scanHistory, scanSubjects } from '../state-rows.ts';
import { isWipe, type Subject, subjectText, type Tail, wipeSubject, writesOf } from '../tail.ts';

type Known = Extract<StateKey, { kind: 'account' | 'slot' }>;

/** Where versions are read. */
export interface VersionSource {
  readonly session: Session;
  readonly root: Root;
  readonly tail: Tail;
  /** Values as of the first block that is wanted. */
  readonly values: (keys: readonly Known[]) => Promise<readonly (Uint8Array | undefined)[]>;
}

/** Keys that are read together. */
const PAGE = 512;

/** What is known as of block `from`, and every version above up to `to`; the tail is as it was at the start. */
export async function* versionsBetween(
  source: VersionSource,
  from: number,
  to: number,
): AsyncGenerator<StateVersion, void, undefined> {
  const { session, root } = source;
  const copy = copyOf(root);
  const recent = source.tail.blocks.filter(({ number }) => number <= to);
  const wiped = new Map<string, Uint8Array>();
  const wipes: StateVersion[] = [];
  const note = (address: Uint8Array, number: number): void => {
    if (number > from) wipes.push({ kind: 'wipe', address, number });
    else wiped.set(toHex(address), address);
  };
  if (root.wipes) {
    const { slot } = wipeSubject(new Uint8Array(0));
    for await (const { subject, number } of scanHistory(session, copy, slot))
      if (number <= Math.min(to, root.indexed)) note(subject.address, number);
    for (const { diff, number } of recent) for (const address of diff.wiped) note(address, number);
  }
  if (root.partial) for (const address of wiped.values()) yield { kind: 'wipe', address, number: from };
  yield* wipes;

  for await (const keys of pagesOfKeys(source)) {
    const values = await source.values(keys);
    for (const [index, key] of keys.entries()) {
      const value = values[index];
      const isSaid = !root.partial || (key.kind === 'slot' && wiped.has(toHex(key.address)));
      if (value !== undefined && (value.length > 0 || !isSaid)) yield { ...key, number: from, value };
    }
  }
  for await (const { subject, number, value } of scanHistory(session, copy)) {
    const key = keyOf(subject);
    if (key !== undefined && number > from && number <= Math.min(to, root.indexed))
      yield { ...key, number, value };
  }
  for (const outcome of recent) {
    if (outcome.number <= Math.max(from, root.indexed)) continue;
    for (const [subject, value] of writesOf(outcome)) {
      const key = keyOf(subject);
      if (key !== undefined) yield { ...key, number: outcome.number, value };
    }
  }
  const codes = new Map(
    source.tail.blocks.flatMap(({ diff }) => diff.codes.map((code) => [toHex(code[0]), code])),
  );
  for await (const [hash, value] of scanCodes(session, copy, root.indexed)) {
    codes.delete(toHex(hash));
    yield { kind: 'code', hash, value };
  }
  for (const [hash, value] of codes.values()) yield { kind: 'code', hash, value };
}

/** Every account and slot that has rows or is in the tail, each once. */
async function* pagesOfKeys({
  session,
  root,
  tail,
}: VersionSource): AsyncGenerator<readonly Known[], void, undefined> {
  const left = new Map([...tail.subjects()].map((subject) => [subjectText(subject), subject]));
  let page: Known[] = [];
  for await (const subject of scanSubjects(session, copyOf(root))) {
    left.delete(subjectText(subject));
    page.push(...keysOf([subject]));
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield [...page, ...keysOf(left.values())];
}

function keysOf(subjects: Iterable<Subject>): Known[] {
  return [...subjects].map(keyOf).filter((key) => key !== undefined);
}

/** The key of an account or a slot; undefined for wipes. */
function keyOf(subject: Subject): Known | undefined {
  const { address, slot } = subject;
  if (isWipe(subject)) return undefined;
  return slot.length === 0 ? { kind: 'account', address } : { kind: 'slot', address, slot };
}

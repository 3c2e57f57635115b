import { createHash } from 'node:crypto';
import type { BlockRef } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import { otherForm } from '../../store/form.ts';
import type { Marks } from '../../store/interface.ts';
import { SnapshotError } from './error.ts';

/** The form of manifests and segments. Others are refused, never misread: raise it with any change of a codec. */
export const FORMAT = 1;

/** What a segment holds: texts of the copy, the state that it begins with, what is known of it beside that, or blocks. */
export const SEGMENT_KINDS = ['texts', 'start', 'pins', 'history'] as const;
export type SegmentKind = (typeof SEGMENT_KINDS)[number];

/** A file of the snapshot, by the hash of its bytes. */
export interface SegmentRef {
  readonly kind: SegmentKind;
  readonly sha256: string;
  readonly bytes: number;
  readonly rawBytes: number;
  /** Blocks, keys or texts. */
  readonly count: number;
  /** Of blocks their numbers, of state its keys. */
  readonly first: number | string;
  readonly last: number | string;
  /** Of blocks, the hash of the last. */
  readonly hash?: Hex;
  /** Of blocks, the first that comes with what it changed in the state; left out when none does. */
  readonly diffsFrom?: number;
}

/** A segment of blocks. */
export interface HistoryRef extends SegmentRef {
  readonly kind: 'history';
  readonly first: number;
  readonly last: number;
  readonly hash: Hex;
}

/** What a snapshot is of, and which files it is. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly chainId: string;
  readonly partial: boolean;
  readonly marks: Marks;
  /** The lowest block that the chain could be taken back to. */
  readonly undoFloor: number;
  readonly segments: readonly SegmentRef[];
}

/** Limits of what is read: no honest snapshot comes near them. */
export const LIMITS = {
  manifestBytes: 2 ** 26,
  segments: 400_000,
  /** Of one segment; the largest block fits in with all it gave. */
  rawBytes: 2 ** 28,
  /** Of the state that a copy begins with, which is written in one step. */
  startBytes: 2 ** 30,
  number: 2 ** 47,
} as const;

/** The manifest as text, with the seal that shows that it is whole. */
export function renderManifest(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, seal: sealOf(manifest) }, undefined, 1)}\n`;
}

/** What names one snapshot: the hash of all it says. */
export function sealOf(manifest: Manifest): string {
  const { format, chainId, partial, marks, undoFloor, segments } = manifest;
  const { lowest, anchor, head, safe, finalized, byDiffs } = marks;
  const fixed = [lowest, anchor, head, safe, finalized, byDiffs].map((ref) => ref && [ref.number, ref.hash]);
  const files = segments.map(({ kind, sha256, bytes, rawBytes, count, first, last, hash, diffsFrom }) => [
    ...[kind, sha256, bytes, rawBytes, count, first, last, hash, diffsFrom],
  ]);
  return sha256Of(JSON.stringify([format, chainId, partial, fixed, undoFloor, files]));
}

/** The hash that a file goes by. */
export function sha256Of(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads a manifest; whatever is not exactly one is refused. */
export function parseManifest(text: string): Manifest {
  const json = objectOf(parsed(text), 'the manifest');
  const format = json['format'];
  if (format !== FORMAT) throw new SnapshotError(otherForm('the snapshot', format, FORMAT));
  const segments = json['segments'];
  if (!Array.isArray(segments) || segments.length > LIMITS.segments) throw refused('its list of segments');
  const manifest: Manifest = {
    format,
    chainId: textOf(json['chainId'], /^\d{1,20}$/, 'its chain id'),
    partial: json['partial'] === true,
    marks: marksOf(objectOf(json['marks'], 'its marks')),
    undoFloor: numberOf(json['undoFloor'], 'its undo floor'),
    segments: segments.map(segmentOf),
  };
  if (json['seal'] !== sealOf(manifest))
    throw new SnapshotError('the manifest is damaged: its seal is another');
  expectWhole(manifest);
  return manifest;
}

/** The segments of blocks, ascending. */
export function historyOf({ segments }: Pick<Manifest, 'segments'>): readonly HistoryRef[] {
  return segments.filter((segment): segment is HistoryRef => segment.kind === 'history');
}

/** The blocks must be all of the copy's, in order and without a gap. */
function expectWhole(manifest: Manifest): void {
  const { lowest, anchor, head } = manifest.marks;
  let next = lowest.number;
  for (const { first, last, count } of historyOf(manifest)) {
    if (first !== next || last < first || count !== last - first + 1)
      throw refused(`its blocks: those from ${next} on are missing, or there twice`);
    next = last + 1;
  }
  if (next !== head.number + 1 || historyOf(manifest).at(-1)?.hash !== head.hash) throw refused('its head');
  if (anchor.number < lowest.number || anchor.number > head.number) throw refused('its anchor');
  const start = manifest.segments.filter(({ kind }) => kind === 'start');
  if (start.reduce((sum, { rawBytes }) => sum + rawBytes, 0) > LIMITS.startBytes)
    throw refused('the size of its first state');
}

function segmentOf(value: unknown): SegmentRef {
  const json = objectOf(value, 'a segment');
  const kind = SEGMENT_KINDS.find((candidate) => candidate === json['kind']);
  if (kind === undefined) throw refused('the kind of a segment');
  const common = {
    sha256: textOf(json['sha256'], /^[0-9a-f]{64}$/, 'the hash of a segment'),
    bytes: numberOf(json['bytes'], 'the size of a segment', LIMITS.rawBytes),
    rawBytes: numberOf(json['rawBytes'], 'the size of a segment', LIMITS.rawBytes),
    count: numberOf(json['count'], 'the count of a segment', LIMITS.rawBytes),
  };
  if (kind !== 'history') {
    const key = /^[\w.-]{0,128}$/;
    const [first, last] = [textOf(json['first'], key, 'a key'), textOf(json['last'], key, 'a key')];
    return { kind, ...common, first, last };
  }
  const diffsFrom = json['diffsFrom'];
  const blocks = {
    first: numberOf(json['first'], 'the first block of a segment'),
    last: numberOf(json['last'], 'the last block of a segment'),
    hash: hashOf(json['hash']),
  };
  return {
    ...{ kind, ...common, ...blocks },
    ...(diffsFrom !== undefined && { diffsFrom: numberOf(diffsFrom, 'where diffs begin') }),
  };
}

function marksOf(json: Readonly<Record<string, unknown>>): Marks {
  const optional = (name: string): BlockRef | undefined =>
    json[name] === undefined ? undefined : refOf(json[name]);
  const byDiffs = optional('byDiffs');
  return {
    lowest: refOf(json['lowest']),
    anchor: refOf(json['anchor']),
    head: refOf(json['head']),
    safe: optional('safe'),
    finalized: optional('finalized'),
    ...(byDiffs && { byDiffs }),
  };
}

function refOf(value: unknown): BlockRef {
  const json = objectOf(value, 'a mark');
  return { number: numberOf(json['number'], 'a mark'), hash: hashOf(json['hash']) };
}

function hashOf(value: unknown): Hex {
  return textOf(value, /^0x[0-9a-f]{64}$/, 'a block hash') as Hex;
}

function numberOf(value: unknown, what: string, most: number = LIMITS.number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
  throw refused(what);
}

function textOf(value: unknown, form: RegExp, what: string): string {
  if (typeof value === 'string' && form.test(value)) return value;
  throw refused(what);
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw refused(what);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SnapshotError('the manifest is not JSON', { cause });
  }
}

function refused(what: string): SnapshotError {
  return new SnapshotError(`the manifest is not valid: ${what}`);
}

import { type Hex, keccak256, toRlp } from 'viem';

type Node = Hex | readonly Node[];
interface Entry {
  /** Hex digits of the key, one character each. */
  readonly path: string;
  readonly value: Hex;
}

/** The path of a leaf or an extension in the form a trie stores it. */
function compact(path: string, isLeaf: boolean): Hex {
  const flag = (isLeaf ? 2 : 0) + (path.length % 2);
  return `0x${flag.toString(16)}${path.length % 2 === 0 ? '0' : ''}${path}`;
}

const isOneOf = (node: Node): node is Hex => typeof node === 'string';

/** A node inside another: itself if short, otherwise by its hash. */
function reference(node: Node): Node {
  if (isOneOf(node)) return node;
  const encoded = toRlp(node as never);
  return (encoded.length - 2) / 2 < 32 ? node : keccak256(encoded);
}

function commonLength(entries: readonly Entry[], from: number): number {
  const first = entries[0]?.path ?? '';
  let length = from;
  while (length < first.length && entries.every(({ path }) => path[length] === first[length])) length += 1;
  return length - from;
}

function build(entries: readonly Entry[], depth: number): Node {
  const [first] = entries;
  if (first === undefined) return '0x';
  if (entries.length === 1) return [compact(first.path.slice(depth), true), first.value];
  const shared = commonLength(entries, depth);
  if (shared > 0) {
    const path = first.path.slice(depth, depth + shared);
    return [compact(path, false), reference(build(entries, depth + shared))];
  }
  const children = Array.from({ length: 16 }, (_, digit) => {
    const inside = entries.filter(({ path }) => path[depth] === digit.toString(16));
    return reference(build(inside, depth + 1));
  });
  return [...children, entries.find(({ path }) => path.length === depth)?.value ?? '0x'];
}

/** The root of a list as blocks have it: of transactions, receipts and withdrawals. */
export function listRoot(values: readonly Hex[]): Hex {
  const entries = values.map((value, at) => ({
    path: toRlp(at === 0 ? '0x' : `0x${at.toString(16).padStart(at < 256 ? 2 : 4, '0')}`).slice(2),
    value,
  }));
  return keccak256(toRlp(build(entries, 0) as never));
}

/** Places of the header's fields that a builder may leave out: the roots of the state and of the withdrawals. */
const LEFT_OUT: ReadonlySet<number> = new Set([3, 16]);
/** RLP: strings up to 55 bytes, longer ones, short lists and long ones begin at these bytes. */
const [SHORT, LONG, LIST, LONG_LIST] = [0x80, 0xb7, 0xc0, 0xf7];

/** Whether two headers (RLP) are the same in every field but the roots of state and of withdrawals. */
export function isSameButStateRoots(one: Uint8Array, other: Uint8Array): boolean {
  const [ours, theirs] = [fieldsOf(one), fieldsOf(other)];
  return (
    ours.length === theirs.length &&
    ours.every((field, at) => LEFT_OUT.has(at) || Buffer.compare(field, theirs[at] ?? field) === 0)
  );
}

/** The fields of a header, each as it is encoded. The native core has checked both. */
function fieldsOf(header: Uint8Array): readonly Uint8Array[] {
  const first = header[0] ?? LIST;
  const fields: Uint8Array[] = [];
  let at = 1 + (first > LONG_LIST ? first - LONG_LIST : 0);
  while (at < header.length) {
    const kind = header[at] ?? 0;
    const end = at + lengthOf(header, at, kind);
    fields.push(header.subarray(at, end));
    at = end;
  }
  return fields;
}

function lengthOf(bytes: Uint8Array, at: number, kind: number): number {
  if (kind < SHORT) return 1;
  if (kind <= LONG) return 1 + kind - SHORT;
  const digits = bytes.subarray(at + 1, at + 1 + kind - LONG);
  return 1 + digits.length + digits.reduce((length, digit) => length * 256 + digit, 0);
}

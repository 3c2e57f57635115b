import { isDeepStrictEqual } from 'node:util';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return /^0x[0-9a-f]*$/.test(value) ? 'hex' : 'string';
  return typeof value;
}

/** What servers leave out where it does not apply to them. */
const OPTIONAL: ReadonlySet<string> = new Set(['deleteStrategy']);

/** Same kinds of values at the same places; an array of any length, each element shaped like the first expected. */
export function sameShape(expected: Json, actual: Json): boolean {
  if (kindOf(expected) !== kindOf(actual)) return false;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const [first] = expected;
    return first === undefined || actual.every((element) => sameShape(first, element));
  }
  if (typeof expected === 'object' && expected !== null && typeof actual === 'object' && actual !== null) {
    const [wanted, given] = [expected as Record<string, Json>, actual as Record<string, Json>];
    const keys = Object.keys(wanted).filter((key) => key in given || !OPTIONAL.has(key));
    if (keys.length !== Object.keys(given).length) return false;
    return keys.every((key) => given[key] !== undefined && sameShape(wanted[key] as Json, given[key]));
  }
  return true;
}

/** Equal as JSON: the order of an object's keys is the only freedom. What is equal has the shape, too, also where elements of a list differ in theirs. */
export function matches(expected: unknown, actual: unknown, shapeOnly: boolean): boolean {
  return isDeepStrictEqual(expected, actual) || (shapeOnly && sameShape(expected as Json, actual as Json));
}

import fc from 'fast-check';
import type { JsonSchema } from '../../../src/methods/method.ts';

const KNOWN = new Set([
  ...['type', 'enum', 'const', 'anyOf', 'pattern', 'minimum', 'maximum', 'items', 'minItems', 'maxItems'],
  ...['properties', 'required', 'additionalProperties', 'propertyNames'],
]);
/** Longer lists show nothing more. */
const MOST_ITEMS = 3;

/** For tests only: values that a schema allows. A keyword that it does not know is an error, not left out. */
export function schemaValue(schema: JsonSchema): fc.Arbitrary<unknown> {
  const unknown = Object.keys(schema).find((name) => !KNOWN.has(name));
  if (unknown !== undefined) throw new Error(`the generator of values does not know ${unknown}`);
  if ('const' in schema) return fc.constant(schema['const']);
  if ('enum' in schema) return fc.constantFrom(...(schema['enum'] as readonly unknown[]));
  if ('anyOf' in schema) {
    const { anyOf, ...rest } = schema;
    return fc.oneof(...(anyOf as readonly JsonSchema[]).map((one) => schemaValue(both(rest, one))));
  }
  switch (schema['type']) {
    case undefined:
      return fc.jsonValue({ maxDepth: 1 });
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'string':
      return schema['pattern'] === undefined
        ? fc.string({ maxLength: 20 })
        : textOf(schema['pattern'] as string);
    case 'array':
      return fc.array(schemaValue((schema['items'] ?? {}) as JsonSchema), {
        minLength: (schema['minItems'] as number | undefined) ?? 0,
        maxLength: Math.min(MOST_ITEMS, (schema['maxItems'] as number | undefined) ?? MOST_ITEMS),
      });
    case 'object':
      return objectOf(schema);
    default:
      throw new Error(`the generator of values does not know the type ${String(schema['type'])}`);
  }
}

const texts = new Map<string, fc.Arbitrary<string>>();

/** Made once a pattern: reading it takes milliseconds. */
function textOf(pattern: string): fc.Arbitrary<string> {
  const known = texts.get(pattern) ?? fc.stringMatching(new RegExp(pattern));
  texts.set(pattern, known);
  return known;
}

/** A schema and one of its alternatives, as one. */
function both(schema: JsonSchema, alternative: JsonSchema): JsonSchema {
  const properties = { ...(schema['properties'] as object), ...(alternative['properties'] as object) };
  const has = Object.keys(properties).length > 0;
  return { ...schema, ...alternative, ...(has && { properties }) };
}

function numberOf(schema: JsonSchema): fc.Arbitrary<number> {
  const min = (schema['minimum'] as number | undefined) ?? -1e9;
  const max = (schema['maximum'] as number | undefined) ?? 1e9;
  if (schema['type'] === 'integer') {
    return fc.oneof(fc.integer({ min, max: Math.min(max, 2 ** 31) }), fc.constantFrom(min, max));
  }
  return fc.double({ min, max, noNaN: true });
}

function objectOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const named = fc.record(Object.fromEntries(properties.map(([name, one]) => [name, schemaValue(one)])), {
    requiredKeys: (schema['required'] as string[] | undefined) ?? [],
  });
  const { propertyNames, additionalProperties } = schema;
  if (propertyNames === undefined) return named;
  const others = fc.dictionary(
    schemaValue(propertyNames as JsonSchema) as fc.Arbitrary<string>,
    schemaValue(additionalProperties as JsonSchema),
    { maxKeys: 2 },
  );
  return fc.tuple(named, others).map(([a, b]) => ({ ...a, ...b }));
}

import { createRequire } from 'node:module';
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';
import { allMethods } from '../support/schemas/methods.ts';
import { ask, dispatcherOf } from '../support/serve/dispatcher.ts';
import { FakeChain } from '../support/serve/head.ts';

// Their typings say what documents are, and nothing of the schemas that they export.
const require = createRequire(import.meta.url);
const { openrpcDocument } = require('@open-rpc/meta-schema') as { openrpcDocument: AnySchemaObject };
const { jsonSchema } = require('@json-schema-tools/meta-schema') as { jsonSchema: AnySchemaObject };

const methods = allMethods();
const dedicatedOnly = new Set(
  [...methods.values()].filter((method) => method.dedicatedOnly).map(({ name }) => name),
);

/** Each names itself, or the other, as what it is written in: Ajv is to take both for draft 7, which they are. */
function withoutDialect({ $schema: _dialect, ...schema }: AnySchemaObject): AnySchemaObject {
  return schema;
}

function officialCheck(): ValidateFunction {
  // Formats are only notes in draft 7, and other keywords of theirs (`additionalItems` beside one schema) do nothing.
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(withoutDialect(jsonSchema), 'https://meta.json-schema.tools');
  return ajv.compile(withoutDialect(openrpcDocument));
}

describe.each([
  ['public', dedicatedOnly],
  ['dedicated', new Set<string>()],
])('rpc.discover of a %s listener (B12)', (_, forbidden) => {
  const isOfficial = officialCheck();
  let document: { methods: { name: string; params: { name: string; schema: object }[] }[] };
  beforeAll(async () => {
    const head = await new FakeChain().add(0).head();
    const dispatcher = dispatcherOf(head, { forbidden }, { methods });
    const { text } = await ask(dispatcher, '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}');
    document = (JSON.parse(text) as { result: typeof document }).result;
  });

  it('is a document by the official meta-schema', () => {
    isOfficial(document);
    expect(isOfficial.errors ?? []).toEqual([]);
    expect(document.methods.length).toBe(methods.size);
  });

  it('would not be one with a method, a parameter or a schema that is wrong', () => {
    const [first, ...others] = document.methods;
    const [param] = first?.params ?? [];
    const wrong = [
      { ...first, name: 1 },
      { ...first, params: [{ name: 'filter' }] },
      { ...first, params: [{ ...param, schema: { type: 'quantity' } }] },
      { ...first, undefinedByOpenRpc: true },
    ];
    for (const method of wrong) expect(isOfficial({ ...document, methods: [method, ...others] })).toBe(false);
  });

  it('names each method once, and each of its parameters', () => {
    const names = document.methods.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, params } of document.methods) {
      expect(new Set(params.map((param) => param.name)).size, name).toBe(params.length);
    }
  });
});

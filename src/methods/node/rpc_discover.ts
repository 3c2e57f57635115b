import type { Method } from '../method.ts';

/** The method that describes `methods` and itself as an OpenRPC document. */
export function rpcDiscover(methods: readonly Method[], version: string): Method {
  let document: string | undefined;
  const method: Method = {
    name: 'rpc.discover',
    summary: 'Describes this API as an OpenRPC document.',
    rules: ['B12'],
    cost: 5,
    params: [],
    result: { name: 'document', description: 'OpenRPC 1.3.', schema: { type: 'object' } },
    handle() {
      document ??= JSON.stringify(openRpc([...methods, method], version));
      return document;
    },
  };
  return method;
}

function openRpc(methods: readonly Method[], version: string): object {
  return {
    openrpc: '1.3.2',
    info: {
      title: 'Chain Query',
      description: 'Reads of an Ethereum or OP-stack chain.',
      license: { name: 'Apache-2.0' },
      version,
    },
    methods: methods.map(({ name, summary, params, result }) => ({
      name,
      summary,
      paramStructure: 'by-position',
      params,
      result,
    })),
  };
}

import { InvalidParamsError } from '../../primitives/errors.ts';
import { MethodError } from '../errors.ts';
import { ethGetLogs } from '../logs/eth_getLogs.ts';
import { ENVELOPE_BYTES } from '../logs/log-range.ts';
import type { Method, MethodContext, ParamDoc, RawJson } from '../method.ts';
import { hashSchema, logSchema } from '../schemas.ts';
import { answerOf, type FilterHost } from './host.ts';

const idParam: ParamDoc = {
  name: 'filter',
  required: true,
  description: 'The id of the filter.',
  schema: { type: 'string' },
};

/** The methods that read a filter, or end it. */
export function filterChangeMethods(host: FilterHost): readonly Method[] {
  return [
    {
      name: 'eth_getFilterChanges',
      summary: 'What has changed for a filter since it was last asked.',
      rules: ['A4', 'B2', 'B12'],
      cost: 2,
      params: [idParam],
      result: {
        name: 'changes',
        description:
          'Logs, those that a reorg or a retraction took back first (`removed: true`); or hashes of blocks or transactions.',
        schema: { type: 'array', items: { oneOf: [logSchema, hashSchema] } },
      },
      handle(params, context) {
        const filter = idOf(params[0]);
        // Most polls are of this kind, and need neither another thread nor a turn of this one.
        return host.hasNothingNew(filter) ? '[]' : changes(host, filter, context);
      },
    },
    {
      name: 'eth_getFilterLogs',
      summary: 'All logs of a filter, as `eth_getLogs` gives them.',
      rules: ['A4', 'A5', 'B8', 'B12'],
      cost: 20,
      params: [idParam],
      result: {
        name: 'logs',
        description: 'Under the limits of `eth_getLogs`, and in its words.',
        schema: { type: 'array', items: logSchema },
      },
      async handle(params, context) {
        const asked = host.ask({ op: 'read', filter: idOf(params[0]) });
        const { criteria } = await answerOf(asked, 'criteria');
        if (criteria.kind !== 'logs')
          throw new MethodError({ code: 'FILTER_NOT_FOUND', reason: 'it is not one of logs' });
        return ethGetLogs.handle([criteria.filter], context);
      },
    },
    {
      name: 'eth_uninstallFilter',
      summary: 'Ends a filter.',
      rules: ['B12'],
      params: [idParam],
      result: { name: 'known', description: 'Whether there was one.', schema: { type: 'boolean' } },
      async handle(params, context) {
        const filter = idOf(params[0]);
        const { kind } = await host.ask({ op: 'read', filter });
        context.whenSettled((isAnswered) => {
          if (isAnswered) host.tell({ op: 'remove', filter });
        });
        return String(kind === 'criteria');
      },
    },
  ];
}

async function changes(host: FilterHost, filter: string, context: MethodContext): Promise<RawJson> {
  const { maxResults, maxResponseBytes } = context.settings.logs;
  const limits = { maxResults, maxBytes: maxResponseBytes - ENVELOPE_BYTES };
  const { json, poll } = await answerOf(host.ask({ op: 'poll', filter, limits }), 'changes');
  context.whenSettled((isSent) => host.tell({ op: 'settle', filter, poll, isSent }));
  return json;
}

function idOf(value: unknown): string {
  if (typeof value !== 'string') throw new InvalidParamsError('invalid argument 0: expected a string');
  return value;
}

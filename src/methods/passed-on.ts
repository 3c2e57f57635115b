import { MethodError } from './errors.ts';
import type { Method } from './method.ts';

/** A method that an upstream answers as it likes (`--forward`). */
export function passedOn(name: string): Method {
  return {
    name,
    summary: 'Passed on to an upstream, and answered as it answers.',
    rules: ['B12'],
    params: [],
    takesAnything: true,
    result: { name: 'result', description: 'Whatever the upstream says.', schema: {} },
    async handle(params, context) {
      context.namesUpstream();
      const answer = await context.settings.services.passOn(
        { kind: 'request', method: name, params },
        context,
      );
      if (answer.kind === 'result') return answer.json;
      throw new MethodError({ ...answer, code: 'UPSTREAM_ERROR', number: answer.code });
    },
  };
}

import { expect, it } from 'vitest';
import { runMethod, testServices } from '../../test/support/serve/methods.ts';
import type { PassedAnswer, PassedRequest } from '../chain/pass-on.ts';
import { checkParamCount } from './method.ts';
import { passedOn } from './passed-on.ts';
import { createMethods } from './registry.ts';

function run(answer: PassedAnswer, asked: PassedRequest[] = []): Promise<unknown> {
  const passOn = async (request: PassedRequest): Promise<PassedAnswer> => {
    asked.push(request);
    return answer;
  };
  const settings = { services: { ...testServices, passOn } };
  return runMethod(passedOn('txpool_status'), ['a', { b: 1 }], { settings });
}

it('passes parameters on as they are, and gives back what the upstream says', async () => {
  const asked: PassedRequest[] = [];
  expect(await run({ kind: 'result', json: '{"pending":"0x1"}' }, asked)).toEqual({ pending: '0x1' });
  expect(asked).toEqual([{ kind: 'request', method: 'txpool_status', params: ['a', { b: 1 }] }]);
  expect(() => checkParamCount(passedOn('x'), [1, 2, 3])).not.toThrow();
});

it('gives back an error, too', async () => {
  await expect(run({ kind: 'error', code: -32_601, message: 'no', data: '1' })).rejects.toMatchObject({
    type: { code: 'UPSTREAM_ERROR', number: -32_601, message: 'no', data: '1' },
  });
});

it('is never a method that is served here', () => {
  expect(createMethods('1', [passedOn('txpool_status')]).has('txpool_status')).toBe(true);
  expect(() => createMethods('1', [passedOn('eth_call')])).toThrow('--forward: eth_call is served here');
});

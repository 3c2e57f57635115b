import { expect, it } from 'vitest';
import { ask, dispatcherOf, textOf } from '../../../test/support/serve/dispatcher.ts';
import { FakeChain } from '../../../test/support/serve/head.ts';
import { HeadError } from '../../head/errors.ts';
import type { Method } from '../../methods/method.ts';
import type { DispatcherOptions } from './dispatcher.ts';

/** A method that says what becomes of its answers; `reorgs` times the chain changes under it. */
async function start(options: Partial<DispatcherOptions> = {}, reorgs = 0) {
  const settled: string[] = [];
  let left = reorgs;
  let calls = 0;
  const gate = Promise.withResolvers<void>();
  const doc = { summary: '', rules: [], params: [], result: { name: '', description: '', schema: {} } };
  const methods: Method[] = [
    {
      ...{ ...doc, name: 'effect' },
      handle: async (_params, context) => {
        const call = ++calls;
        context.whenSettled((isAnswered) => settled.push(`${call} ${isAnswered}`));
        return `"${'x'.repeat(100)}"`;
      },
    },
    {
      ...{ ...doc, name: 'reorg' },
      handle: async () => {
        if (left-- > 0) throw new HeadError({ code: 'REORGANISED' });
        return 'true';
      },
    },
    { ...{ ...doc, name: 'hang' }, handle: () => gate.promise.then(() => 'true') },
  ];
  const head = await new FakeChain().add(0).head();
  const dispatcher = dispatcherOf(head, options, { methods: new Map(methods.map((one) => [one.name, one])) });
  const batch = (...names: readonly string[]): string =>
    JSON.stringify(names.map((method, id) => ({ jsonrpc: '2.0', id, method })));
  return { dispatcher, settled, batch, release: gate.resolve };
}

it('tells a call that its result is in the answer', async () => {
  const { dispatcher, settled, batch } = await start();
  await ask(dispatcher, '{"jsonrpc":"2.0","id":1,"method":"effect"}');
  await ask(dispatcher, batch('effect', 'effect'));
  expect(settled).toEqual(['1 true', '3 true', '2 true']);
});

it('undoes what a run did that is run again, the last first', async () => {
  const { dispatcher, settled, batch } = await start({}, 1);
  const { text } = await ask(dispatcher, batch('effect', 'effect', 'reorg'));
  expect(text).toContain('true');
  expect(settled).toEqual(['2 false', '1 false', '4 true', '3 true']);
});

it('tells those whose results had no room', async () => {
  const { dispatcher, settled, batch } = await start({ maxResponseBytes: 260 });
  await ask(dispatcher, batch('effect', 'effect'));
  expect(settled).toEqual(['2 false', '1 true']);
});

it('tells those of a request that is out of time, and of a client that is gone', async () => {
  const { dispatcher, settled, batch, release } = await start({ answerTimeoutMs: 5 });
  await ask(dispatcher, batch('effect', 'hang'));
  expect(settled).toEqual(['1 false']);
  release();
  const body = Buffer.from(batch('effect'));
  const response = await dispatcher.handle(body, { signal: AbortSignal.abort(), client: 'test' });
  expect(textOf(response.body)).toContain('xxx');
  expect(settled).toEqual(['1 false', '2 false']);
});

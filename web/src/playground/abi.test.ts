import { encodeAbiParameters, encodeEventTopics } from 'viem';
import { expect, it } from 'vitest';
import { decodeLog, decodeResult, encodeCall, encodeTopics, eventsOf, functionsOf, readAbi } from './abi.ts';

it('reads signatures as people write them, and the JSON of compilers', () => {
  expect(functionsOf(readAbi('balanceOf(address owner) view returns (uint256)'))[0]?.name).toBe('balanceOf');
  expect(readAbi('function a();\nevent B(uint256 indexed c)')).toHaveLength(2);
  const json = '{"abi":[{"type":"function","name":"a","inputs":[],"outputs":[],"stateMutability":"view"}]}';
  expect(functionsOf(readAbi(json))).toHaveLength(1);
  expect(readAbi(' ')).toEqual([]);
  expect(() => readAbi('function (')).toThrow(/signature/);
});

it('encodes what is typed, tuples and arrays as JSON', () => {
  const [item] = functionsOf(readAbi('function f((uint256 a, bool b)[] x, int8 y, bytes z)'));
  if (item === undefined) throw new Error('not read');
  const data = encodeCall(item, ['[{"a":"12345678901234567890","b":true},["0x1",false]]', '-3', '0xab']);
  expect(data).toMatch(/^0x[\da-f]+$/);
  expect(data).toContain('ab54a98ceb1f0ad2');
});

it('gives values as text, cut where they are huge', () => {
  const [item] = functionsOf(readAbi('function f() returns (string, uint256[] n)'));
  if (item === undefined) throw new Error('not read');
  const data = encodeAbiParameters(
    [{ type: 'string' }, { type: 'uint256[]' }],
    ['<b>'.repeat(5_000), [1n, 2n]],
  );
  const [text, numbers] = decodeResult(item, data);
  expect(text?.value.length).toBeLessThan(2_100);
  expect(text?.value.startsWith('<b><b>')).toBe(true);
  expect(numbers).toMatchObject({ name: 'n', value: '[\n "1",\n "2"\n]' });
});

it('decodes logs by the event that they are of', () => {
  const abi = readAbi('event Other(uint256 a)\nevent Moved(address indexed by, uint256 count)');
  const by = `0x${'11'.repeat(20)}` as const;
  const topics = encodeEventTopics({ abi, eventName: 'Moved', args: { by } });
  const data = encodeAbiParameters([{ type: 'uint256' }], [7n]);
  expect(decodeLog(abi, { topics: topics as never, data })).toMatchObject({
    event: 'Moved',
    values: [{ name: 'by' }, { name: 'count', value: '7' }],
  });
  expect(decodeLog(abi, { topics: [`0x${'00'.repeat(32)}`], data })).toBeUndefined();
  const [, moved] = eventsOf(abi);
  if (moved === undefined) throw new Error('not read');
  expect(encodeTopics(moved, {})).toHaveLength(2);
  expect(encodeTopics(moved, { by })).toEqual(topics);
});

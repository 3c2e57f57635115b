import { describe, expect, it } from 'vitest';
import { idSource, scanIds } from './request-id.ts';

const source = (text: string): string =>
  idSource(text, (JSON.parse(text) as { id: string | number | null }).id);

describe('idSource', () => {
  it.each([
    '1',
    '0',
    '-0',
    '1.0',
    '1e2',
    '1E+2',
    '0.1',
    '-1',
    '12345678901234567890',
    '"x"',
    '""',
    '"\\u0041"',
    '"a\\"b"',
    '"\\ud800"',
    '"é😀"',
    'null',
  ])('echoes %s as it came, wherever it stands', (id) => {
    expect(source(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toBe(id);
    expect(source(`{"jsonrpc":"2.0","method":"m","params":[],"id":${id}}`)).toBe(id);
    expect(source(`{"method":"m","params":[],"id":${id},"jsonrpc":"2.0"}`)).toBe(id);
    expect(source(` { "id" :\t${id} , "params" : [ { "id" : 7 }, "\\"id\\":8" ] } `)).toBe(id);
    expect(source(`{"params":[{"id":9}],"x":"\\\\","i\\u0064":${id}}`)).toBe(id);
  });

  it('is not misled by an id inside the parameters', () => {
    expect(source('{"id":1.0,"method":"m","params":[{"id":1}]}')).toBe('1.0');
    expect(source('{"id":1.0,"x":{"a":0,"id":1}}')).toBe('1.0');
  });
});

it('scanIds finds the id of each entry of a batch', () => {
  const text = '[{"id":1.0},2,"x,]",[{"id":3}],{"a":[1,{"id":4}]},{"id":"\\u0035","b":{}} , {} ]';
  expect(JSON.parse(text)).toHaveLength(7);
  expect(scanIds(text)).toEqual(['1.0', undefined, undefined, undefined, undefined, '"\\u0035"', undefined]);
});

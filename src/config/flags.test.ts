import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asksForHelp } from './flags.ts';
import { loadOptions } from './load.ts';

const seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Of every kind: values that look like flags and assignments, repeated ones, and switches, which take none. */
const FLAGS: readonly { readonly flag: string; readonly value?: string }[] = [
  { flag: '--upstream', value: 'http://host/?a=b' },
  { flag: '--archive', value: 'wss://archive' },
  { flag: '--verify-state' },
  { flag: '--odd-transactions-roots' },
  { flag: '--threads', value: '2' },
  { flag: '--public', value: 'off' },
  { flag: '--listen-port-file', value: '-odd=name' },
  { flag: '--max-body-bytes', value: '1MiB' },
  { flag: '--compat', value: 'execution-apis' },
];

function serve(args: readonly string[]) {
  return loadOptions('serve', { args: ['--data', 'd', ...args], env: {} });
}

describe('a flag', () => {
  it('does not take the next argument after =', () => {
    const args = ['--upstream=http://one', '--verify-state', '--upstream=http://two', '--threads=3'];
    expect(serve(args)).toMatchObject({
      upstream: ['http://one', 'http://two'],
      verifyState: true,
      threads: 3,
    });
  });

  it('takes a value that begins with a dash, and after = one that begins with two', () => {
    expect(serve(['--listen-port-file', '-ports']).listenPortFile).toBe('-ports');
    expect(serve(['--listen-port-file=--ports=1']).listenPortFile).toBe('--ports=1');
  });

  it('that is a switch is on alone, on or off after =', () => {
    const options = serve(['--verify-state=on', '--odd-transactions-roots', '--reanchor=off']);
    expect(options).toMatchObject({ verifyState: true, oddTransactionsRoots: true, reanchor: false });
  });

  it(`means the same in every order and in both forms (TEST_SEED=${seed})`, () => {
    const forms = FLAGS.map(({ flag, value }) => {
      const whole = `${flag}=${value ?? 'on'}`;
      return fc.constantFrom([whole], value === undefined ? [flag] : [flag, value]);
    });
    const chosen = fc.tuple(...forms).chain((given) => fc.shuffledSubarray(given));
    fc.assert(
      fc.property(chosen, (given) => {
        const sorted = FLAGS.filter(({ flag }) => given.some(([first]) => first?.split('=', 1)[0] === flag));
        const plain = sorted.map(({ flag, value = 'on' }) => `${flag}=${value}`);
        expect(serve(given.flat())).toEqual(serve(plain));
      }),
      { seed, numRuns: 500 },
    );
  });
});

it.each([
  [['--treads', '2'], 'unknown option --treads. Did you mean --threads?'],
  [['--completely-else', '2'], 'unknown option --completely-else.'],
  [['-threads', '2'], 'unknown option -threads. Did you mean --threads?'],
  [['-t'], 'unknown option -t.'],
  [['--blocks', 'x'], '--blocks is not an option of serve'],
  [['--threads'], '--threads needs a value'],
  [['--threads', '--public', 'off'], '--threads needs a value'],
  [['--threads', '--'], '--threads needs a value'],
  [['--threads', '1', '--threads', '2'], '--threads is given twice'],
  [['--verify-state', '--verify-state'], '--verify-state is given twice'],
  [['--verify-state', 'off'], 'unexpected argument "off"'],
  [['stray'], 'unexpected argument "stray"'],
  [['--', '--threads', '2'], 'unexpected argument "--threads"'],
  [['--threads='], '--threads: expected a whole number from 1 to 1024, not ""'],
])('refuses %j', (args, message) => {
  expect(() => serve(args)).toThrow(expect.objectContaining({ name: 'UsageError', message }));
});

it.each([
  [['--upstream', 'user:s3cret@host'], '--upstream: expected URLs that begin with http, https, ws or wss'],
  [['--flashblocks=host/s3cret'], '--flashblocks: expected URLs that begin with http, https, ws or wss'],
  [['--verify-state', 'user:s3cret@host'], 'unexpected argument (number 4)'],
  [['--upstrem=user:s3cret@host'], 'unknown option --upstrem. Did you mean --upstream?'],
])('does not repeat what may be a credential: %j', (args, message) => {
  expect(() => serve(args)).toThrow(expect.objectContaining({ name: 'UsageError', message }));
});

it.each([
  [['--help'], true],
  [['--data', 'd', '-h'], true],
  [['--treads', '--help'], true],
  [['-threads', '2'], false],
  [['--data=--help'], false],
  [['--', '--help'], false],
  [['--data', 'd'], false],
])('%j asks for help: %j', (args, expected) => {
  expect(asksForHelp(args)).toBe(expected);
});

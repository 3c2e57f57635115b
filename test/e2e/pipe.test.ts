import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

const program = ['src/cli/main.ts'];

it('ends without a word when whoever reads what it prints has seen enough', async () => {
  const child = spawn(process.execPath, [...program, 'chains'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect({ said, code }).toEqual({ said: '', code: 141 });
});

it('says in a line that what it prints cannot be written', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [...program, 'chains'], { stdio: ['ignore', full, 'pipe'] });
  const [said, [code]] = await Promise.all([text(child.stderr ?? process.stdin), once(child, 'exit')]);
  expect(said).toMatch(/^chain-query: the output cannot be written: ENOSPC[^\n]*\n$/);
  expect(code).toBe(1);
});

/** Through a shell, which alone can close a stream before the program begins. */
async function shell(line: string): Promise<{ readonly said: string; readonly code: number }> {
  const child = spawn('bash', ['-c', line, process.execPath, ...program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { said: out + err, code: code as number };
}

describe('has no stack to show', () => {
  it.each([
    ['stdin is closed', '"$0" "$@" chains <&- | head -1', 0],
    ['stdin is closed where it would ask', '"$0" "$@" serve --chain op-mainnet <&-', 2],
    ['stdout is closed', '"$0" "$@" chains >&-', 0],
    ['stderr is closed', '"$0" "$@" serve 2>&-', 2],
    [
      'nobody reads its failure',
      'set -o pipefail; { sleep 0.1; "$0" "$@" plan --chain nope; } 2>&1 >/dev/null | true',
      2,
    ],
    ['its help is cut', '"$0" "$@" serve --help --all | head -2', 0],
  ])('when %s', async (_, line, expected) => {
    const { said, code } = await shell(line);
    expect(said).not.toMatch(/^\s+at |node:internal|Unhandled|EBADF/m);
    expect(code).toBe(expected);
  });
});

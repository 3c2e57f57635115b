import { describe, expect, it } from 'vitest';
import { flagOf, OPTION_ROWS, rowsOf } from '../rows.ts';
import { COMMAND_GROUPS, COMMANDS, type Command } from '../spec.ts';
import { renderAllOptions, renderCommandHelp, renderHelp } from './help.ts';

const commands = Object.keys(COMMANDS) as Command[];
const SCREEN = { lines: 30, columns: 80 };

function measure(text: string): typeof SCREEN {
  const lines = text.trimEnd().split('\n');
  return { lines: lines.length, columns: Math.max(...lines.map((line) => line.length)) };
}

it('lists every command once, and no other', () => {
  const listed = [...renderHelp().matchAll(/^ {2}([a-z]+) {2}/gm)].map((match) => match[1]);
  expect(listed).toEqual(commands);
  expect(Object.values(COMMAND_GROUPS).flat()).toEqual(commands);
});

it('fits a screen', () => {
  const { lines, columns } = measure(renderHelp());
  expect(lines).toBeLessThanOrEqual(SCREEN.lines);
  expect(columns).toBeLessThanOrEqual(SCREEN.columns);
});

describe.each(commands)('the help of %s', (command) => {
  it('fits a screen', () => {
    const { lines, columns } = measure(renderCommandHelp(command));
    expect(lines).toBeLessThanOrEqual(SCREEN.lines);
    expect(columns).toBeLessThanOrEqual(SCREEN.columns);
  });

  it('has every option that is required, and with --all every one', () => {
    const [screen, all] = [renderCommandHelp(command), renderAllOptions(command)];
    for (const [name, spec] of rowsOf(command)) {
      const flag = new RegExp(`^  ${flagOf(name)}(?: |$)`, 'm');
      expect(all).toMatch(flag);
      if (spec.required?.includes(command) === true) expect(screen).toMatch(flag);
    }
    expect(measure(all).columns).toBeLessThanOrEqual(SCREEN.columns);
  });
});

it('lists only the options of the command', () => {
  const help = renderCommandHelp('import');
  expect(help).toMatch(/--genesis FILE +Genesis file.* \[required\]/);
  expect(help).not.toContain('--public');
});

it('lists every option of every command', () => {
  const all = renderAllOptions();
  for (const [name] of OPTION_ROWS)
    expect(all.match(new RegExp(`^  ${flagOf(name)}(?: |$)`, 'gm'))).toHaveLength(1);
});

/** What a script can rely on, and what each means. docs/cli.md has the same table. */
export const EXIT_CODES = {
  ok: { code: 0, means: 'done; or a node was stopped by a signal and has drained' },
  failure: { code: 1, means: 'it could not be done: the message says why and what to do next' },
  usage: { code: 2, means: 'the command, an option, a variable or the config file is wrong' },
  faults: { code: 3, means: '`doctor` found what will not work, or `verify` found damage' },
  hungUp: { code: 129, means: 'its terminal was closed before the work was done (128 + 1)' },
  interrupted: { code: 130, means: 'SIGINT came before the work was done (128 + 2)' },
  brokenPipe: { code: 141, means: 'whoever read the output had seen enough (128 + 13), as with `head`' },
  terminated: { code: 143, means: 'SIGTERM came before the work was done (128 + 15)' },
} as const;

/** The table of docs/cli.md. */
export function renderExitCodes(): string {
  const rows = Object.values(EXIT_CODES).map(({ code, means }) => `| ${code} | ${means} |`);
  return ['| code | meaning |', '|---|---|', ...rows].join('\n');
}

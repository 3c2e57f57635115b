import { asksForHelp, isPlainWord } from '../config/flags.ts';
import { loadOptions, type OptionSources } from '../config/load.ts';
import { renderCommandHelp, renderHelp } from '../config/render.ts';
import { COMMANDS, type Command, VERBS } from '../config/spec.ts';
import { suggestion } from '../config/suggest.ts';
import type { CommandOptions } from '../config/table.ts';
import { UsageError } from '../config/usage-error.ts';
import { redactUrls } from '../telemetry/redact.ts';
import { describeError, LoggedError } from './failure.ts';
import type { ProgressStream } from './progress.ts';

/** What a command gets besides its options. */
export interface CommandContext {
  /** Of a command that has some, which of its verbs. */
  readonly verb?: string;
  /** Where its options came from. */
  readonly sources: OptionSources;
  /** Aborted by SIGINT or SIGTERM: finish cleanly and return. */
  readonly signal: AbortSignal;
  readonly stdout: { readonly isTTY?: boolean; write(text: string): unknown };
  readonly stderr: ProgressStream;
}

/** A command's module. Loaded only when it runs, so that help needs no addon. */
interface CommandModule<C extends Command> {
  run(options: CommandOptions<C>, context: CommandContext): Promise<void>;
}

/** How to load each command. */
export type CommandLoaders = { readonly [C in Command]: () => Promise<CommandModule<C>> };

interface Program extends OptionSources, Omit<CommandContext, 'verb' | 'sources'> {
  readonly version: string;
  readonly commands: CommandLoaders;
}

/** Exit codes that scripts can rely on. */
const EXIT = { ok: 0, failure: 1, usage: 2 } as const;

/** Runs the program and gives its exit code. Every failure is one line on stderr: plain text, or one of the log. */
export async function dispatch(program: Program): Promise<number> {
  const [word, ...args] = program.args;
  try {
    if (word === undefined) throw new UsageError('a command is missing');
    if (word === '--version' || word === '-v') program.stdout.write(`${program.version}\n`);
    else if (word === '--help' || word === '-h' || word === 'help') program.stdout.write(renderHelp());
    else await runCommand(commandNamed(word), { ...program, args });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof LoggedError) return EXIT.failure;
    program.stderr.write(`chain-query: ${redactUrls(describeError(error))}\n`);
    if (!(error instanceof UsageError)) return EXIT.failure;
    const command = word !== undefined && Object.hasOwn(COMMANDS, word) ? ` ${word}` : '';
    program.stderr.write(`Try chain-query${command} --help.\n`);
    return EXIT.usage;
  }
}

async function runCommand<C extends Command>(command: C, program: Program): Promise<void> {
  if (asksForHelp(program.args)) {
    program.stdout.write(renderCommandHelp(command));
    return;
  }
  const verb = verbOf(command, program.args);
  const sources = { args: program.args.slice(verb === undefined ? 0 : 1), env: program.env };
  const options = loadOptions(command, sources);
  const { run } = await program.commands[command]();
  await run(options, { ...program, sources, ...(verb !== undefined && { verb }) });
}

function verbOf(command: Command, [word]: readonly string[]): string | undefined {
  const verbs = VERBS[command];
  if (verbs === undefined) return undefined;
  const verb = verbs.find((candidate) => candidate === word);
  if (verb === undefined) throw new UsageError(`${command} needs one of ${verbs.join(', ')}`);
  return verb;
}

function commandNamed(word: string): Command {
  const commands = Object.keys(COMMANDS) as Command[];
  const command = commands.find((candidate) => candidate === word);
  if (command !== undefined) return command;
  throw new UsageError(`unknown command${isPlainWord(word) ? ` ${word}` : ''}.${suggestion(word, commands)}`);
}

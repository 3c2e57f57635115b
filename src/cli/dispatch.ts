import { asksForHelp, isPlainWord } from '../config/flags.ts';
import { renderAllOptions, renderCommandHelp, renderHelp } from '../config/help/help.ts';
import { loadOptions, type OptionSources } from '../config/load.ts';
import { COMMANDS, type Command, VERBS } from '../config/spec.ts';
import { suggestion } from '../config/suggest.ts';
import type { CommandOptions } from '../config/table.ts';
import { UsageError } from '../config/usage-error.ts';
import { redactUrls } from '../telemetry/redact.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { describeError, FaultsFoundError, LoggedError, printable, StoppedError } from './failure.ts';
import { hintsFor } from './hints.ts';
import type { ProgressStream } from './progress.ts';

/** What a command gets besides its options. */
export interface CommandContext {
  /** Of a command that has some, which of its verbs. */
  readonly verb?: string;
  /** Where its options came from. */
  readonly sources: OptionSources;
  readonly version: string;
  /** Aborted by SIGINT or SIGTERM: finish cleanly and return. */
  readonly signal: AbortSignal;
  /** Tells of each wish (`reload`) that a node read its options again. */
  readonly reloads: EventTarget;
  /** Where a person may be asked for what is missing. */
  readonly stdin: () => NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown };
  readonly stderr: ProgressStream;
}

/** A command's module. Loaded only when it runs, so that help needs no addon. */
interface CommandModule<C extends Command> {
  run(options: CommandOptions<C>, context: CommandContext): Promise<void>;
}

/** How to load each command. */
export type CommandLoaders = { readonly [C in Command]: () => Promise<CommandModule<C>> };

interface Program extends OptionSources, Omit<CommandContext, 'verb' | 'sources'> {
  readonly commands: CommandLoaders;
}

/** Runs the program and gives its exit code. A failure is one line on stderr, and what to do next below it; or one line of the log. */
export async function dispatch(program: Program): Promise<number> {
  const [word, ...args] = program.args;
  try {
    if (word === undefined) throw new UsageError('a command is missing');
    if (word === '--version' || word === '-v') program.stdout.write(renderVersion(program));
    else if (word === '--help' || word === '-h' || word === 'help') program.stdout.write(helpOn(args));
    else await runCommand(commandNamed(word), { ...program, args });
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof FaultsFoundError) return EXIT_CODES.faults.code;
    if (error instanceof LoggedError) return EXIT_CODES.failure.code;
    const lines = [`chain-query: ${describeError(error)}`];
    for (const hint of hintsFor(error, word ?? '')) lines.push(`  → ${printable(hint)}`);
    if (error instanceof UsageError) {
      const command = word !== undefined && Object.hasOwn(COMMANDS, word) ? ` ${word}` : '';
      lines.push(`Try chain-query${command} --help.`);
    }
    program.stderr.write(redactUrls(`${lines.join('\n')}\n`));
    return exitCodeOf(error, program.signal);
  }
}

function exitCodeOf(error: unknown, signal: AbortSignal): number {
  if (signal.aborted && signal.reason instanceof StoppedError && isCausedBy(error, signal.reason))
    return signal.reason.exitCode;
  return error instanceof UsageError ? EXIT_CODES.usage.code : EXIT_CODES.failure.code;
}

/** Whether something ended because of that, and of nothing else. */
export function isCausedBy(error: unknown, reason: Error): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause === reason) return true;
  return false;
}

function renderVersion({ version, args }: Program): string {
  if (!args.includes('--json')) return `${version}\n`;
  const { platform, arch } = process;
  return `${JSON.stringify({ version, node: process.versions.node, platform, arch }, undefined, 2)}\n`;
}

/** `help`, `help COMMAND`, either with `--all`. */
function helpOn(args: readonly string[]): string {
  const [word] = args.filter((arg) => arg !== '--all');
  const all = args.includes('--all');
  if (word === undefined) return all ? renderAllOptions() : renderHelp();
  return all ? renderAllOptions(commandNamed(word)) : renderCommandHelp(commandNamed(word));
}

async function runCommand<C extends Command>(command: C, program: Program): Promise<void> {
  if (asksForHelp(program.args)) {
    const all = program.args.includes('--all');
    program.stdout.write(all ? renderAllOptions(command) : renderCommandHelp(command));
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
  if (verb !== undefined) return verb;
  const near = word === undefined ? '' : suggestion(word, verbs);
  throw new UsageError(`${command} needs one of ${verbs.join(', ')}${near === '' ? '' : `.${near}`}`);
}

function commandNamed(word: string): Command {
  const commands = Object.keys(COMMANDS) as Command[];
  const command = commands.find((candidate) => candidate === word);
  if (command !== undefined) return command;
  throw new UsageError(`unknown command${isPlainWord(word) ? ` ${word}` : ''}.${suggestion(word, commands)}`);
}

/** Flags of Node, each unless whoever starts it names it. */
const FLAGS = [
  /**
   * Megabytes of the heap of each thread: half of the space for new objects, and all others. By itself V8 goes by the memory of
   * the machine: on a large one it lets the first grow to 64 in every thread, collects the rest only when it has become four
   * times as much, and keeps the pages.
   */
  '--max-semi-space-size=8',
  '--max-old-space-size=1024',
  /**
   * V8 makes objects old at once where earlier ones lived long, and does not notice that it was wrong: the cursors of each
   * search then fill the heap until it is marked, five times a second.
   */
  '--no-allocation-site-pretenuring',
  /** Has serving threads free what clients left behind. */
  '--expose-gc',
];
/**
 * The C library's heaps. By itself glibc makes eight a core, and keeps what was once used in each; and once a large piece was
 * freed, it takes the next ones of that size from a heap too, where they leave holes, instead of from the system.
 */
const MALLOC = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: String(2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 21),
};

interface Started {
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Start {
  readonly file: string;
  readonly args: string[];
  readonly env: NodeJS.ProcessEnv;
}

/**
 * How a process that runs for long has to be started to keep its memory small, since none of it can be changed once the process
 * has begun. Undefined when it was started so; whoever starts it may choose otherwise.
 */
export function startWithSmallMemory({ execPath, execArgv, argv, env }: Started): Start | undefined {
  const given = `${execArgv.join(' ')} ${env['NODE_OPTIONS'] ?? ''}`.replaceAll('_', '-');
  const flags = FLAGS.filter((flag) => !given.includes(flag.replace(/^--(?:no-)?|=.*/g, '')));
  if (flags.length === 0) return undefined;
  return {
    file: execPath,
    args: [execPath, ...execArgv, ...flags, ...argv.slice(1)],
    env: { ...MALLOC, ...env },
  };
}

/** Where progress is drawn: `process.stderr`, or a stand-in in tests. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** How far a long command has come. `total` is unknown until the input has been measured. */
export interface Progress {
  update(done: number, total: number | undefined): void;
  /** Draws the last state and leaves the line. */
  finish(): void;
}

interface ProgressOptions {
  readonly label: string;
  readonly unit: string;
  readonly stream: ProgressStream;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

const BAR_INTERVAL_MS = 100;
const LINE_INTERVAL_MS = 5000;
const CLEAR_LINE = '\r\u001b[2K';

/** Makes a bar that redraws itself on a terminal, and a plain line every few seconds anywhere else. */
export function createProgress({
  label,
  unit,
  stream,
  now = () => performance.now(),
}: ProgressOptions): Progress {
  // From the first sign of it: what comes before, such as opening a store, says nothing about the rate.
  let started = 0;
  const terminal = stream.isTTY === true;
  const interval = terminal ? BAR_INTERVAL_MS : LINE_INTERVAL_MS;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let first: number | undefined;
  let last: { done: number; total: number | undefined } | undefined;
  let dirty = false;

  function draw(): void {
    if (last === undefined) return;
    const { done, total } = last;
    const seconds = (now() - started) / 1000;
    // A resumed run starts above zero: only what this run did counts for its rate.
    const rate = seconds > 0 ? (done - (first ?? 0)) / seconds : 0;
    const left = total !== undefined && rate > 0 ? (total - done) / rate : undefined;
    const count = total === undefined ? `${done} ${unit}` : `${done}/${total} ${unit}`;
    const facts = `${count}, ${formatRate(rate)} ${unit}/s${left === undefined ? '' : `, ${formatSeconds(left)} left`}`;
    if (!terminal) stream.write(`${label}: ${facts}\n`);
    else
      stream.write(
        `${CLEAR_LINE}${fitLine(label, facts, total === undefined ? undefined : done / total, stream.columns)}`,
      );
    drawnAt = now();
    dirty = false;
  }

  return {
    update(done, total) {
      if (first === undefined) {
        first = done;
        started = now();
      }
      last = { done, total };
      dirty = true;
      if (now() - drawnAt >= interval) draw();
    },
    finish() {
      if (dirty) draw();
      if (terminal && last !== undefined) stream.write('\n');
    },
  };
}

/** Does work that reports its progress, and leaves the terminal clean however it ends. */
export async function withProgress<T>(
  options: ProgressOptions,
  work: (onProgress: Progress['update']) => Promise<T>,
): Promise<T> {
  const progress = createProgress(options);
  try {
    return await work((done, total) => progress.update(done, total));
  } finally {
    progress.finish();
  }
}

/** The same for work in stages, each with its unit, of which one goes on at a time: a line and a rate each. */
export async function withStages<T>(
  options: Omit<ProgressOptions, 'unit'>,
  work: (onProgress: (unit: string, done: number, total: number | undefined) => void) => Promise<T>,
): Promise<T> {
  let current: { readonly unit: string; readonly progress: Progress } | undefined;
  try {
    return await work((unit, done, total) => {
      if (current?.unit !== unit) {
        current?.progress.finish();
        current = { unit, progress: createProgress({ ...options, unit }) };
      }
      current.progress.update(done, total);
    });
  } finally {
    current?.progress.finish();
  }
}

/** One terminal line: a wrapped bar could not be redrawn. */
function fitLine(label: string, facts: string, fraction: number | undefined, width?: number): string {
  // A terminal that does not know its width says 0.
  const columns = width || 80;
  const room = columns - 1 - label.length - facts.length - 4;
  if (fraction === undefined || room < 10) return `${label} ${facts}`.slice(0, columns - 1);
  const bar = Math.min(room, 40);
  const filled = Math.round(Math.min(1, Math.max(0, fraction)) * bar);
  return `${label} [${'#'.repeat(filled)}${'.'.repeat(bar - filled)}] ${facts}`;
}

function formatRate(rate: number): string {
  return rate >= 100 ? rate.toFixed(0) : rate.toFixed(1);
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours > 0) return `${hours}h${String(minutes).padStart(2, '0')}m`;
  return minutes > 0 ? `${minutes}m${String(whole % 60).padStart(2, '0')}s` : `${whole}s`;
}

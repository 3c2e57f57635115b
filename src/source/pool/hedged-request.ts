import type { Clock } from '../clock.ts';
import { SourceError } from '../errors.ts';

export interface HedgedRequest<Member, T> {
  readonly first: Member;
  /** When the first one is late: who else is asked, if anybody. */
  readonly hedgeMs: number | undefined;
  hedge(): Member | undefined;
  run(member: Member, signal: AbortSignal): Promise<T>;
  onFailure(member: Member, failure: SourceError): void;
}

/** Made once: an error notes where it was made, which costs more than the question. */
const ANSWERED = new DOMException('another upstream answered', 'AbortError');

/**
 * Asks one member, and a second one if the first is late; the first answer counts and the other is given up.
 * `undefined` when nobody answered. Rejects when the signal aborts, or with an error that is not an upstream's.
 */
export function hedgedRequest<Member, T>(
  request: HedgedRequest<Member, T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly member: Member; readonly value: T } | undefined> {
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    let running = 0;
    const end = (settle: () => void): void => {
      if (over.signal.aborted) return;
      cancel();
      signal.removeEventListener('abort', onAbort);
      over.abort(signal.aborted ? signal.reason : ANSWERED);
      settle();
    };
    const onAbort = (): void => end(() => reject(signal.reason as Error));
    const start = (member: Member): void => {
      running += 1;
      request.run(member, over.signal).then(
        (value) => end(() => resolve({ member, value })),
        (error: unknown) => {
          if (over.signal.aborted) return;
          if (!(error instanceof SourceError)) return end(() => reject(error));
          request.onFailure(member, error);
          running -= 1;
          if (running === 0) end(() => resolve(undefined));
        },
      );
    };
    const cancel =
      request.hedgeMs === undefined
        ? () => {}
        : clock.after(request.hedgeMs, () => {
            const second = request.hedge();
            if (second !== undefined) start(second);
          });
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    start(request.first);
  });
}

/** Counts what held; a scenario goes on after a failure, so that one run shows all of them. */
export class Checks {
  passed = 0;
  failed = 0;

  check(what: string, holds: boolean, detail?: unknown): void {
    if (holds) this.passed += 1;
    else {
      this.failed += 1;
      console.log(`  FAIL ${what}${detail === undefined ? '' : `: ${brief(detail)}`}`);
    }
  }
}

/** What every scenario is given. */
export interface Scene {
  readonly checks: Checks;
  readonly seed: number;
  /** Without it, each scenario is as short as it can be and still say something. */
  readonly full: boolean;
}

export function say(text: string): void {
  console.log(`  ${text}`);
}

export function brief(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 3000 ? `${text.slice(0, 3000)}…` : text;
}

export function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1000).toFixed(2)} s`;
}

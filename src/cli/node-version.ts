const OLDEST = 24;

/** What to say to an older Node than this program is written for; undefined when it is new enough. */
export function tooOld(version: string, program: string): string | undefined {
  if (Number.parseInt(version, 10) >= OLDEST) return undefined;
  return [
    `chain-query: Node.js ${version} is too old: ${OLDEST} or newer is needed (this is ${program})`,
    `  → install it from your package manager or https://nodejs.org, then look at: node --version\n`,
  ].join('\n');
}

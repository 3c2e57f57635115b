import { isDeepStrictEqual } from 'node:util';
import { type Profile, profilesOf } from '../config/profiles.ts';
import { OPTION_ROWS } from '../config/rows.ts';
import type { CommandOptions, OptionName } from '../config/table.ts';

type ServeOptions = CommandOptions<'serve'>;

/** What of a profile a listener is made of: it cannot change while it listens. */
const FIXED = [
  'listen',
  'auth',
  'origins',
  'tlsCert',
  'tlsKey',
] as const satisfies readonly (keyof Profile)[];

/** What reading the options again comes to. */
export interface Reload {
  /** The options to go by now. */
  readonly options: ServeOptions;
  readonly changed: readonly string[];
  /** What was changed, too, but needs another start. */
  readonly needRestart: readonly string[];
}

/** Takes over what can change while a node runs, and names what cannot. */
export function reload(current: ServeOptions, wanted: ServeOptions): Reload {
  const options: Record<string, unknown> = { ...current };
  const changed: string[] = [];
  const needRestart: string[] = [];
  for (const [name, { isReloaded }] of OPTION_ROWS) {
    if (!(name in current)) continue;
    const key = name as OptionName & keyof ServeOptions;
    if (isDeepStrictEqual(current[key], wanted[key])) continue;
    if (isReloaded === true && (name !== 'profile' || hasSameListeners(current, wanted))) {
      options[name] = wanted[key];
      changed.push(name);
    } else needRestart.push(name);
  }
  // Each value is one of the option of its name.
  return { options: options as ServeOptions, changed, needRestart };
}

function hasSameListeners(current: ServeOptions, { profile }: ServeOptions): boolean {
  const fixed = (profiles: readonly Profile[]): unknown =>
    new Map(profiles.map((each) => [each.name, FIXED.map((setting) => each[setting])]));
  return isDeepStrictEqual(fixed(profilesOf(current)), fixed(profilesOf({ ...current, profile })));
}

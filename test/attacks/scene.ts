import type { Checks } from '../support/checks.ts';

/** What a group of attacks is made with. */
export interface Scene {
  readonly checks: Checks;
  readonly seed: number;
  /** Whether all of the attacks are made, and not a part. */
  readonly isWhole: boolean;
  /** Whether an attack is to be made, by its name and its place among all. */
  readonly chooses: (name: string, place: number) => boolean;
}

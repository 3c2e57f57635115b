// A process of its own, so that attacking does not slow down who measures. Its argument says whom to attack, and how.
import { CLIENT_ATTACKS, COMPLETE_ATTACKS } from './clients/catalogue.ts';
import type { ListPlace } from './clients/long-calls.ts';
import { type Aim, Target } from './target.ts';

export interface Attack extends Aim {
  readonly name: string;
  readonly place: ListPlace;
}

/** What an attack did. */
export interface AttackReport {
  readonly sentBytes: number;
  readonly answers: Readonly<Record<string, number>>;
}

const attack = JSON.parse(process.argv[2] ?? '') as Attack;
const kind = CLIENT_ATTACKS[attack.name] ?? COMPLETE_ATTACKS[attack.name];
if (kind === undefined) throw new Error(`no attack ${attack.name}`);
const target = new Target(attack);
const hang = setTimeout(() => process.exit(3), attack.forMs + 20_000);
await Promise.race([kind.run(target, attack.place), target.end().then(() => kind)]);
const report: AttackReport = { sentBytes: target.sentBytes, answers: target.answers };
target.close();
clearTimeout(hang);
process.stdout.write(JSON.stringify(report), () => process.exit(0));

// All abusers in a process of their own, each from its own address. Its argument says whom they attack.
import type { AttackReport } from '../attacker.ts';
import { Target } from '../target.ts';
import { abuserOf, type Known } from './abusers.ts';

export interface Abuse extends Known {
  /** Who takes part. */
  readonly names: readonly string[];
  readonly forMs: number;
  readonly seed: number;
  /** For the control run: who swallows it, and how many bytes a second each sends. */
  readonly sink?: { readonly port: number; readonly bytesPerSecond: Readonly<Record<string, number>> };
}

/** What each abuser did. */
export type AbuseReport = Readonly<Record<string, AttackReport>>;

const { names, forMs, seed, sink, ...known } = JSON.parse(process.argv[2] ?? '') as Abuse;
const hang = setTimeout(() => process.exit(3), forMs + 20_000);
const reports = await Promise.all(
  names.map(async (name, at): Promise<[string, AttackReport]> => {
    const { run, isDedicated = false } = abuserOf(name);
    const own = isDedicated ? known.dedicatedPort : known.publicPort;
    const limit = sink && { bytesPerSecond: Math.max(1, sink.bytesPerSecond[name] ?? 1) };
    const aim = { port: sink?.port ?? own, forMs, seed, from: `127.0.1.${at + 1}`, ...limit };
    const target = new Target(aim);
    const all: Known = sink ? { ...known, publicPort: sink.port, dedicatedPort: sink.port } : known;
    await Promise.race([run(target, all), target.end()]);
    const report = { sentBytes: target.sentBytes, answers: { ...target.answers } };
    target.close();
    return [name, report];
  }),
);
clearTimeout(hang);
process.stdout.write(JSON.stringify(Object.fromEntries(reports)), () => process.exit(0));

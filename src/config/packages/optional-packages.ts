import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { UsageError } from '../usage-error.ts';

/** What each option loads that most people never need: optional peers of this package. */
const PACKAGES = {
  store: ['cassandra-driver'],
  feed: ['@nats-io/jetstream', '@nats-io/transport-node'],
  otlp: [
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type Option = keyof typeof PACKAGES;
const OPTIONS = Object.keys(PACKAGES) as Option[];

/** Where a package would be loaded from; undefined where it is not installed. */
export type FindPackage = (name: string) => string | undefined;

/**
 * Fails, with the command that installs them, when packages are missing that these options need. Asked before anything is opened: a
 * thread that cannot load one later says it in worse words.
 */
export function expectPackages(
  options: { readonly [O in Option]?: unknown },
  find: FindPackage = findInstalled,
): void {
  const used = OPTIONS.filter((option) => options[option] !== undefined);
  const missing = used.filter((option) => PACKAGES[option].some((name) => find(name) === undefined));
  if (missing.length === 0) return;
  const { name, version, peerDependencies } = manifest();
  const wanted = missing.flatMap((option) =>
    PACKAGES[option].map((peer) => `${peer}@${peerDependencies[peer]}`),
  );
  const flags = missing.map((option) => `--${option}`).join(' and ');
  // With this package itself, since a folder that has both is where `npx` looks first.
  throw new UsageError(
    `${flags} ${missing.length === 1 ? 'needs' : 'need'} packages that are installed on request: run npm install ${name}@${version} ${wanted.join(' ')}`,
  );
}

function findInstalled(name: string): string | undefined {
  try {
    return findPackageJSON(name, import.meta.url);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Manifest;
}

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../usage-error.ts';
import { expectPackages } from './optional-packages.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
const nothing = (): undefined => undefined;

describe('expectPackages', () => {
  it('asks for nothing that is not used', () => {
    expectPackages({}, nothing);
    expectPackages({ store: undefined, feed: undefined, otlp: undefined }, nothing);
  });

  it('finds what a checkout has', () => {
    expectPackages({ store: 'cql://a/b', feed: ['nats://a'], otlp: 'http://a' });
  });

  it('says the command that installs what one option needs', () => {
    const { version, peerDependencies: peers } = manifest;
    expect(() => expectPackages({ store: 'cql://a/b' }, nothing)).toThrow(
      new UsageError(
        `--store needs packages that are installed on request: run npm install chain-query@${version} cassandra-driver@${peers['cassandra-driver']}`,
      ),
    );
  });

  it('says one command for all that is missing, with versions', () => {
    const asked = (): void =>
      expectPackages({ store: 'cql://a/b', feed: ['nats://a'], otlp: 'http://a' }, (name) =>
        name === 'cassandra-driver' ? '/somewhere' : undefined,
      );
    expect(asked).toThrow(/^--feed and --otlp need packages that are installed on request: run npm install /);
    expect(asked).not.toThrow(/cassandra|undefined/);
  });

  it('knows every optional peer, at the version that a checkout tests', () => {
    const { peerDependencies: peers, peerDependenciesMeta: meta, devDependencies, dependencies } = manifest;
    let said = '';
    try {
      expectPackages({ store: '', feed: '', otlp: '' }, nothing);
    } catch (error) {
      said = String(error);
    }
    for (const [name, range] of Object.entries(peers)) {
      expect(said).toContain(` ${name}@${range}`);
      expect(meta[name]?.optional).toBe(true);
      expect(devDependencies[name]).toBe(range);
      expect(dependencies).not.toHaveProperty([name]);
    }
  });
});

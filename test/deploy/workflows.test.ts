import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEPLOY, run, tool } from './tools.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly environment?: string;
  readonly strategy?: { readonly matrix: { readonly include: readonly Readonly<Record<string, string>>[] } };
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = join(DEPLOY, '..');
const files = globSync('.github/workflows/*.yml', { cwd: root }).toSorted();
const text = (file: string): string => readFileSync(join(root, file), 'utf8');
const workflow = (file: string): Workflow => parse(text(file)) as Workflow;
const release = workflow('.github/workflows/release.yml');
const PLATFORMS = [
  ...['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu', 'linux-arm64-musl'],
  ...['linux-x64-gnu', 'linux-x64-musl', 'win32-x64-msvc'],
];

describe.each(files)('%s', (file) => {
  const { on, permissions, jobs } = workflow(file);
  const steps = Object.values(jobs).flatMap((job) => job.steps ?? []);

  it('is what actionlint takes', () => {
    run('actionlint', ['-no-color', join(root, file)]);
  });

  it('pins every action by a commit, and says which version that is', () => {
    const lines = text(file)
      .split('\n')
      .filter((line) => /^\s*(?:- )?uses:/.test(line));
    const given = lines.filter((line) => !line.includes('uses: ./'));
    expect(given.length).toBeGreaterThan(0);
    for (const line of given) expect(line).toMatch(/uses: [\w-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    // One version of each in all workflows, or an update was forgotten.
    const pins = files.flatMap((other) => [...text(other).matchAll(/uses: (\S+)@([0-9a-f]{40}) # (\S+)/g)]);
    const versions = new Map<string, Set<string>>();
    for (const [, name = '', commit, version] of pins)
      versions.set(name, (versions.get(name) ?? new Set()).add(`${commit} ${version}`));
    expect([...versions].filter(([, of]) => of.size > 1)).toEqual([]);
  });

  it('may read the code and no more, but where a job says so', () => {
    expect(permissions).toEqual({ contents: 'read' });
    for (const [name, job] of Object.entries(jobs)) {
      if (job.uses === undefined) expect(job['timeout-minutes'], name).toBeLessThanOrEqual(180);
      for (const [what, right] of Object.entries(job.permissions ?? {}))
        if (right === 'write') expect(WRITERS[name] ?? [], name).toContain(what);
    }
  });

  it('runs nothing that a stranger wrote', () => {
    for (const event of ['pull_request_target', 'workflow_run', 'issue_comment'])
      expect(on).not.toHaveProperty(event);
    // What an expression gives is pasted into the script: variables go by env.
    for (const step of steps) expect(step.run ?? '').not.toMatch(/\$\{\{/);
    expect(text(file)).not.toMatch(/secrets\./);
    for (const step of steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@')))
      expect(step.with).toEqual({ 'persist-credentials': false });
  });
});

/** What a job may write, and nobody else. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  pack: ['id-token', 'attestations'],
  image: ['packages'],
  'publish-image': ['packages', 'id-token', 'attestations'],
  'publish-npm': ['id-token'],
  'publish-release': ['contents'],
};

describe('a release', () => {
  it('has the addon of every platform', () => {
    const matrix = release.jobs['addons']?.strategy?.matrix.include ?? [];
    expect(new Set(matrix.map(({ platform }) => platform))).toEqual(new Set(PLATFORMS));
  });

  it('shows nothing outside before the gate has passed and everything is built', () => {
    for (const name of ['publish-npm', 'publish-image']) {
      expect(release.jobs[name]?.needs).toEqual(['gate', 'version', 'pack', 'image']);
      expect(release.jobs[name]?.environment).toBe('release');
    }
    expect(release.jobs['publish-release']?.needs).toEqual(['version', 'publish-npm', 'publish-image']);
  });

  it('uses the Node and the Rust of the image', () => {
    const { env } = parse(text('.github/workflows/release.yml')) as { env: Record<string, string> };
    const dockerfile = readFileSync(join(DEPLOY, 'docker/Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`=node:${env['NODE_VERSION']}-`);
    expect(dockerfile).toContain(`=rust:${env['RUST_VERSION']}-`);
  });

  it('publishes what is needed first, and not without all platforms', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chain-query-release-'));
    const pack = (name: string): void => {
      mkdirSync(join(folder, 'package'), { recursive: true });
      writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ name, version: '1.2.3' }));
      const file = `${name.replace('@', '').replace('/', '-')}-1.2.3.tgz`;
      spawnSync('tar', ['czf', file, 'package'], { cwd: folder });
    };
    const publish = (): ReturnType<typeof tool> =>
      tool('env', ['DRY_RUN=1', join(DEPLOY, 'release/publish-npm.sh'), folder, '1.2.3']);
    try {
      for (const name of ['chain-query', '@chain-query/client', '@chain-query/native']) pack(name);
      for (const platform of PLATFORMS.slice(1)) pack(`@chain-query/native-${platform}`);
      expect(publish()).toMatchObject({ status: 1, stderr: 'there are addons for 6 platforms, not 7\n' });
      pack(`@chain-query/native-${PLATFORMS[0]}`);
      const names = publish().stdout.trim().split('\n');
      expect(names.slice(0, 7)).toEqual(PLATFORMS.map((platform) => `@chain-query/native-${platform}`));
      expect(names[7]).toBe('@chain-query/native');
      expect(names.slice(8).toSorted()).toEqual(['@chain-query/client', 'chain-query']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

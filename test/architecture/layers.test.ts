import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  findCycles,
  findLargeFolders,
  findLayerViolations,
  findLongFiles,
  findPackageViolations,
  findShippedSupport,
  findSuiteViolations,
  findTableErrors,
  type SourceFiles,
} from './layers.ts';
import { MAX_FILES, MAX_LINES, type Room } from './table.ts';

const root = new URL('../../', import.meta.url);
const sources: SourceFiles = new Map(
  globSync('{src,packages/*/src,test,bench,scripts}/**/*.ts', { cwd: root.pathname }).map((path) => [
    path,
    readFileSync(new URL(path, root), 'utf8'),
  ]),
);

describe('the code', () => {
  it('is read at all', () => {
    expect(sources.has('src/primitives/hex.ts')).toBe(true);
    expect(sources.has('test/support/random.ts')).toBe(true);
  });

  it('has imports that only point down', () => {
    expect(findLayerViolations(sources)).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  it(`has no file over ${MAX_LINES} lines and no folder over ${MAX_FILES} files`, () => {
    expect(findLongFiles(sources)).toEqual([]);
    expect(findLargeFolders(sources)).toEqual([]);
  });

  it('has a table whose rows list what stands before them, and what they import indeed', () => {
    expect(findTableErrors(sources)).toEqual([]);
  });

  it('has suites that use each other only as listed, and support that uses none', () => {
    expect(findSuiteViolations(sources)).toEqual([]);
  });

  it('has packages that import nothing of the server', () => {
    expect([...sources.keys()]).toContain('packages/client/src/index.ts');
    expect(findPackageViolations(sources)).toEqual([]);
  });

  it('ships no support for tests', () => {
    expect(findShippedSupport(sources)).toEqual([]);
  });
});

describe('the rules can fail', () => {
  const files = (content: Record<string, string>): SourceFiles => new Map(Object.entries(content));

  it('on an upward import', () => {
    const upward = files({ 'src/store/a.ts': `import { b } from '../head/b.ts';`, 'src/head/b.ts': '' });
    expect(findLayerViolations(upward)).toEqual(['src/store/a.ts: store may not import head']);
  });

  it('on an unlisted import, in each form of import', () => {
    const forms = [
      `import '../store/b.ts';`,
      `import type { B } from '../store/b.ts';`,
      `import {\n  b,\n} from '../store/b.ts';`,
      `export * from '../store/b.ts';`,
      `const b = await import('../store/b.ts');`,
      `new Worker(new URL('../store/b.ts', import.meta.url));`,
    ];
    for (const form of forms) {
      const sideways = files({ 'src/executor/a.ts': form, 'src/store/b.ts': '' });
      expect(findLayerViolations(sideways), form).toHaveLength(1);
    }
  });

  it('on follow and head importing each other', () => {
    const meeting = files({
      'src/follow/a.ts': `import '../head/b.ts';`,
      'src/head/b.ts': `import '../follow/a.ts';`,
    });
    expect(findLayerViolations(meeting)).toHaveLength(2);
  });

  it('on a room that imports the folder it is in', () => {
    const inward = files({ 'src/follow/state/a.ts': `import '../b.ts';`, 'src/follow/b.ts': '' });
    expect(findLayerViolations(inward)).toEqual([
      'src/follow/state/a.ts: follow/state may not import follow',
    ]);
  });

  it('on the addon outside executor', () => {
    const direct = `import { native } from '@chain-query/native';`;
    expect(findLayerViolations(files({ 'src/executor/a.ts': direct }))).toEqual([]);
    expect(findLayerViolations(files({ 'src/rpc/http/a.ts': direct }))).toHaveLength(1);
  });

  it('on a test that reaches up, but not on one that reaches down or to test support', () => {
    const content = {
      'src/rpc/http/a.test.ts': `import '../../store/b.ts';\nimport '../../../test/support/d.ts';`,
      'src/store/b.ts': '',
      'src/cli/c.ts': '',
    };
    expect(findLayerViolations(files(content))).toEqual([]);
    const upward = { ...content, 'src/rpc/http/a.test.ts': `import '../../cli/c.ts';` };
    expect(findLayerViolations(files(upward))).toHaveLength(1);
  });

  it('on a package that imports the server, or what its users do not have', () => {
    const path = 'packages/client/src/a.ts';
    const own = files({
      [path]: `import './b.ts';\nimport { http } from 'viem';`,
      'packages/client/src/b.ts': '',
    });
    expect(findPackageViolations(own)).toEqual([]);
    const outside = files({ [path]: `import '../../../src/head/b.ts';\nimport 'ws';` });
    expect(findPackageViolations(outside)).toHaveLength(2);
  });

  it('on a folder that is not in the table', () => {
    expect(findLayerViolations(files({ 'src/utils/a.ts': '' }))).toEqual([
      'src/utils/a.ts: no row of the table of rooms has it',
    ]);
  });

  it('on an import from outside src', () => {
    expect(findLayerViolations(files({ 'src/head/a.ts': `import '../../test/support/b.ts';` }))).toHaveLength(
      1,
    );
  });

  it('on a row in the wrong order, and on one that lists what it does not import', () => {
    const room = (...imports: string[]): Room => ({ holds: '', imports });
    const content = files({ 'src/a/x.ts': '', 'src/b/y.ts': `import '../a/x.ts';`, 'src/c/z.ts': '' });
    expect(findTableErrors(content, { a: room(), b: room('a'), c: room() })).toEqual([]);
    expect(findTableErrors(content, { b: room('a'), a: room() })).toHaveLength(1);
    expect(findTableErrors(content, { a: room(), b: room('a'), c: room('a') })).toEqual([
      'c lists a, which it does not import',
    ]);
  });

  it('on a suite that uses another', () => {
    const crossing = { 'test/soak/a.ts': `import '../fuzz/b.ts';`, 'test/fuzz/b.ts': '' };
    expect(findSuiteViolations(files(crossing))).toContain('test/soak/a.ts: soak may not use fuzz');
    const support = { 'test/support/a.ts': `import '../fuzz/b.ts';`, 'test/fuzz/b.ts': '' };
    expect(findSuiteViolations(files(support))).toContain('test/support/a.ts: support may not use fuzz');
  });

  it('on a cycle, within a room too', () => {
    const cyclic = files({
      'src/store/a.ts': `import './b.ts';`,
      'src/store/b.ts': `import './c.ts';`,
      'src/store/c.ts': `import './a.ts';`,
    });
    expect(findCycles(cyclic)).toEqual(['src/store/a.ts → src/store/b.ts → src/store/c.ts → src/store/a.ts']);
  });

  it('on a long file, a large folder, and test support that would ship', () => {
    expect(findLongFiles(files({ 'src/head/a.ts': '\n'.repeat(MAX_LINES + 1) }))).toHaveLength(1);
    const many = Array.from({ length: MAX_FILES + 1 }, (_, index) => [`src/head/a${index}.ts`, ''] as const);
    expect(findLargeFolders(new Map(many))).toEqual([
      `src/head: ${MAX_FILES + 1} files, at most ${MAX_FILES}`,
    ]);
    expect(
      findShippedSupport(files({ 'src/head/fixture.ts': '', 'src/head/test-world.ts': '' })),
    ).toHaveLength(2);
  });

  it('but not on text in comments and strings', () => {
    const harmless = `// see import '../cli/b.ts'\nconst text = "from '../cli/b.ts'";`;
    expect(findLayerViolations(files({ 'src/store/a.ts': harmless, 'src/cli/b.ts': '' }))).toEqual([]);
  });
});

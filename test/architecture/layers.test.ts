import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  findCycles,
  findLayerViolations,
  findLongFiles,
  findTableErrors,
  MAX_LINES,
  type SourceFiles,
} from './layers.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

const sources: SourceFiles = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path, readFileSync(`${SRC}${path}`, 'utf8')]),
);

describe('src', () => {
  it('is read at all', () => {
    expect(sources.has('primitives/hex.ts')).toBe(true);
  });

  it('has imports that only point down', () => {
    expect(findLayerViolations(sources)).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  it(`has no file over ${MAX_LINES} lines`, () => {
    expect(findLongFiles(sources)).toEqual([]);
  });

  it('has a table whose rows only list what stands below', () => {
    expect(findTableErrors()).toEqual([]);
  });
});

describe('the rules can fail', () => {
  const files = (content: Record<string, string>): SourceFiles => new Map(Object.entries(content));

  it('on an upward import', () => {
    const upward = files({
      'store/a.ts': `import { b } from '../head/b.ts';`,
      'head/b.ts': '',
    });
    expect(findLayerViolations(upward)).toEqual(['store/a.ts: store may not import head']);
  });

  it('on an unlisted sideways import, in each form of import', () => {
    const forms = [
      `import '../store/b.ts';`,
      `import type { B } from '../store/b.ts';`,
      `import {\n  b,\n} from '../store/b.ts';`,
      `export * from '../store/b.ts';`,
      `const b = await import('../store/b.ts');`,
      `new Worker(new URL('../store/b.ts', import.meta.url));`,
    ];
    for (const form of forms) {
      expect(findLayerViolations(files({ 'executor/a.ts': form, 'store/b.ts': '' })), form).toHaveLength(1);
    }
  });

  it('on ingest and head importing each other', () => {
    const meeting = files({
      'ingest/a.ts': `import '../head/b.ts';`,
      'head/b.ts': `import '../ingest/a.ts';`,
    });
    expect(findLayerViolations(meeting)).toHaveLength(2);
  });

  it('on the addon outside executor', () => {
    const direct = `import { native } from '@chain-query/native';`;
    expect(findLayerViolations(files({ 'executor/a.ts': direct }))).toEqual([]);
    expect(findLayerViolations(files({ 'rpc/a.ts': direct }))).toHaveLength(1);
  });

  it('on a test that reaches up, but not on one that reaches down', () => {
    const content = { 'rpc/a.test.ts': `import '../store/b.ts';`, 'store/b.ts': '', 'cli/c.ts': '' };
    expect(findLayerViolations(files(content))).toEqual([]);
    expect(findLayerViolations(files({ ...content, 'rpc/a.test.ts': `import '../cli/c.ts';` }))).toHaveLength(
      1,
    );
  });

  it('on a folder that is not in the table', () => {
    expect(findLayerViolations(files({ 'utils/a.ts': '' }))).toEqual([
      'utils/a.ts: utils is not in the table of layers',
    ]);
  });

  it('on an import from outside src', () => {
    expect(findLayerViolations(files({ 'rpc/a.ts': `import '../../test/b.ts';` }))).toHaveLength(1);
  });

  it('on a cycle, within a layer too', () => {
    const cyclic = files({
      'store/a.ts': `import './b.ts';`,
      'store/b.ts': `import './c.ts';`,
      'store/c.ts': `import './a.ts';`,
    });
    expect(findCycles(cyclic)).toEqual(['store/a.ts → store/b.ts → store/c.ts → store/a.ts']);
  });

  it('on a long file', () => {
    expect(findLongFiles(files({ 'rpc/a.ts': '\n'.repeat(MAX_LINES + 1) }))).toHaveLength(1);
  });

  it('but not on text in comments and strings', () => {
    const harmless = `// see import '../cli/b.ts'\nconst text = "from '../cli/b.ts'";`;
    expect(findLayerViolations(files({ 'store/a.ts': harmless, 'cli/b.ts': '' }))).toEqual([]);
  });
});

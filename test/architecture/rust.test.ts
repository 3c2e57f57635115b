import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findLargeFolders, type SourceFiles } from './layers.ts';
import { findModuleViolations, findRustCycles } from './rust.ts';
import { CRATE } from './table.ts';

const root = new URL('../../', import.meta.url);
const sources: SourceFiles = new Map(
  globSync('native/crates/*/src/**/*.rs', { cwd: root.pathname }).map((path) => [
    path,
    readFileSync(new URL(path, root), 'utf8'),
  ]),
);

describe('the native core', () => {
  it('is read at all', () => {
    expect(sources.has(`${CRATE}evm/meter.rs`)).toBe(true);
  });

  it('has modules that only use those before them, as listed', () => {
    expect(findModuleViolations(sources)).toEqual([]);
  });

  it('has no files that use each other in a circle, and no large folder', () => {
    expect(findRustCycles(sources)).toEqual([]);
    expect(findLargeFolders(sources)).toEqual([]);
  });
});

describe('the rules can fail', () => {
  const files = (content: Record<string, string>): SourceFiles =>
    new Map(Object.entries(content).map(([path, text]) => [CRATE + path, text]));
  const modules = { base: [], evm: ['base'] };

  it('on a use of what stands below, in each form', () => {
    for (const form of ['use crate::evm::x;', 'use crate::{evm::x, base::y};', 'let x = crate::evm::x();']) {
      const upward = files({ 'base/a.rs': form, 'evm/b.rs': 'use crate::base::a;' });
      expect(findModuleViolations(upward, modules), form).toEqual([
        `${CRATE}base/a.rs: base may not use evm`,
      ]);
    }
  });

  it('on a row that lists what is not used, and on a module that is not listed', () => {
    expect(findModuleViolations(files({ 'evm/b.rs': '// crate::base' }), modules)).toEqual([
      'evm lists base, which it does not use',
    ]);
    expect(findModuleViolations(files({ 'utils.rs': '' }), { base: [] })).toHaveLength(1);
  });

  it('on a circle', () => {
    const circle = files({ 'evm/a.rs': 'use crate::evm::b::x;', 'evm/b.rs': 'use super::a::y;' });
    expect(findRustCycles(circle)).toHaveLength(1);
  });
});

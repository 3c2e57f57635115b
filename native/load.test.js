import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAddon } from './load.js';
import { addonFile, addonPackage, PLATFORMS, platformName } from './platforms.js';

const report = (glibc) => ({ getReport: () => ({ header: { glibcVersionRuntime: glibc } }) });

describe('platformName', () => {
  it.each([
    ['darwin', 'arm64', undefined, 'darwin-arm64'],
    ['darwin', 'x64', undefined, 'darwin-x64'],
    ['linux', 'arm64', '2.36', 'linux-arm64-gnu'],
    ['linux', 'arm64', undefined, 'linux-arm64-musl'],
    ['linux', 'x64', '2.36', 'linux-x64-gnu'],
    ['linux', 'x64', undefined, 'linux-x64-musl'],
    ['win32', 'x64', undefined, 'win32-x64-msvc'],
  ])('is what the package of %s %s (glibc %s) is called: %s', (platform, arch, glibc, name) => {
    expect(platformName({ platform, arch, report: report(glibc) })).toBe(name);
    expect(PLATFORMS).toHaveProperty([name]);
    const { os, cpu, libc } = PLATFORMS[name];
    const word = { gnu: 'glibc', musl: 'musl' }[name.split('-')[2]];
    expect({ os, cpu, libc }).toEqual({ os: platform, cpu: arch, libc: word });
  });

  it('has a name for others, too, so that errors can say it', () => {
    expect(platformName({ platform: 'freebsd', arch: 'x64' })).toBe('freebsd-x64');
    expect(platformName({ platform: 'linux', arch: 'riscv64', report: report('2.40') })).toBe(
      'linux-riscv64-gnu',
    );
  });

  it('names this machine', () => {
    expect(platformName(process)).toContain(`${process.platform}-${process.arch}`);
  });
});

describe('loadAddon', () => {
  let folder;
  let load;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'addon with blanks-'));
    const require = createRequire(join(folder, 'index.js'));
    load = (platform) => loadAddon({ folder, platform, version: '1.2.3', require });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  // Of what is loaded only the place matters here: a file that is no addon fails where it is tried.
  const install = (platform, { version = '1.2.3', addon = true } = {}) => {
    const place = join(folder, 'node_modules', addonPackage(platform));
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name: addonPackage(platform), version }));
    if (addon) writeFileSync(join(place, addonFile(platform)), 'no addon');
    return place;
  };

  it.each(Object.keys(PLATFORMS))('says what to do where the package of %s is missing', (platform) => {
    expect(() => load(platform)).toThrow(
      `the native core for this platform (${platform}) is not installed: run npm install @chain-query/native-${platform}@1.2.3, or npm run build:native in a checkout. There are packages for darwin-arm64, darwin-x64, linux-arm64-gnu, linux-arm64-musl, linux-x64-gnu, linux-x64-musl, win32-x64-msvc`,
    );
  });

  it('says which platforms there are where this is none of them', () => {
    expect(() => load('linux-riscv64-gnu')).toThrow(
      /^there is no native core for this platform \(linux-riscv64-gnu\): there are packages for darwin-arm64, .*win32-x64-msvc\. With Rust installed/,
    );
  });

  it('refuses the addon of another release', () => {
    install('linux-x64-gnu', { version: '1.2.2' });
    expect(() => load('linux-x64-gnu')).toThrow(
      '@chain-query/native-linux-x64-gnu is 1.2.2 and the rest is 1.2.3: run npm install @chain-query/native-linux-x64-gnu@1.2.3',
    );
  });

  it('says so when a package lacks its addon, or has a broken one', () => {
    const place = install('linux-x64-gnu');
    expect(() => load('linux-x64-gnu')).toThrow(
      /^the native core of @chain-query\/native-linux-x64-gnu cannot be loaded: /,
    );
    rmSync(join(place, addonFile('linux-x64-gnu')));
    expect(() => load('linux-x64-gnu')).toThrow(
      /^the native core of .* cannot be loaded: .*chain-query\.linux-x64-gnu\.node/,
    );
  });

  it('takes the addon that was built in a checkout first', () => {
    install('linux-x64-gnu', { version: 'another' });
    const built = join(folder, addonFile('linux-x64-gnu'));
    writeFileSync(built, '');
    const require = Object.assign((file) => file, { resolve: () => expect.fail('not asked') });
    expect(loadAddon({ folder, platform: 'linux-x64-gnu', version: '1.2.3', require })).toBe(built);
  });
});

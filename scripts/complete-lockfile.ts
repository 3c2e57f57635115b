// Adds the optional packages of other platforms to package-lock.json. A registry mirror that carries only one
// platform makes npm leave the others out, and `npm ci` then refuses the lock file. Run it after `npm install`.
import { readFileSync, writeFileSync } from 'node:fs';

interface LockedPackage {
  version?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  dev?: boolean;
  optionalDependencies?: Record<string, string>;
}

const LOCKFILE = new URL('../package-lock.json', import.meta.url);
const OS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const CPU = ['arm64', 'arm', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** Reads os, cpu and libc off a platform package's name, such as `@oxlint/binding-linux-x64-musl`. */
function platformOf(name: string): Pick<LockedPackage, 'os' | 'cpu' | 'libc'> {
  const words = name.replace('amd64', 'x64').split(/[/-]/);
  const os = OS.find((word) => words.includes(word));
  const cpu = CPU.find((word) => words.includes(word));
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.includes('gnu')
      ? 'glibc'
      : undefined;
  return { ...(cpu && { cpu: [cpu] }), ...(os && { os: [os] }), ...(libc && { libc: [libc] }) };
}

const lock = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as { packages: Record<string, LockedPackage> };
let added = 0;
for (const locked of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    const platform = platformOf(name);
    // Only exact versions of platform packages: anything else is for npm to resolve.
    if (lock.packages[path] !== undefined || platform.cpu === undefined || !/^\d/.test(version)) continue;
    lock.packages[path] = { version, ...platform, ...(locked.dev && { dev: true }), optional: true };
    added += 1;
  }
}
const [root, ...rest] = Object.entries(lock.packages);
if (root === undefined) throw new Error('package-lock.json lists no packages');
rest.sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries([root, ...rest]);
writeFileSync(LOCKFILE, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} platform packages added`);

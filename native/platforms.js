/** The platforms that the addon is published for, each as a package of its own, with what npm installs it on. */
export const PLATFORMS = {
  'darwin-arm64': { os: 'darwin', cpu: 'arm64' },
  'darwin-x64': { os: 'darwin', cpu: 'x64' },
  'linux-arm64-gnu': { os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'linux-arm64-musl': { os: 'linux', cpu: 'arm64', libc: 'musl' },
  'linux-x64-gnu': { os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl' },
  'win32-x64-msvc': { os: 'win32', cpu: 'x64' },
};

/** What a platform is called, such as `linux-x64-gnu`: an addon built for glibc does not load with musl. */
export function platformName({ platform, arch, report }) {
  if (platform === 'win32') return `win32-${arch}-msvc`;
  if (platform !== 'linux') return `${platform}-${arch}`;
  // The network part of a report looks up names and can take seconds.
  report.excludeNetwork = true;
  return `linux-${arch}-${report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'}`;
}

/** The file of the addon of a platform, in a checkout and in its package. */
export function addonFile(platform) {
  return `chain-query.${platform}.node`;
}

/** The package that brings the addon of a platform. */
export function addonPackage(platform) {
  return `@chain-query/native-${platform}`;
}

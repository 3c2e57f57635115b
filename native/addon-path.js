import { fileURLToPath } from 'node:url';

/** glibc or musl: an addon built for one does not load in the other. */
function linuxLibc() {
  // The network part of a report looks up names and can take seconds.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
}

const platform = `${process.platform}-${process.arch}${process.platform === 'linux' ? `-${linuxLibc()}` : ''}`;

/** The addon built for this platform, such as `chain-query.linux-x64-gnu.node`. */
export const addonPath = fileURLToPath(new URL(`chain-query.${platform}.node`, import.meta.url));

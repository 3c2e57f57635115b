const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A number with its thousands apart. */
export function count(value: number): string {
  return whole.format(value);
}

/** How many of something. */
export function many(value: number, thing: string): string {
  return `${count(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** A rate a second: as many digits as are worth reading. */
export function rate(value: number): string {
  if (value === 0) return '0';
  return value < 10 ? value.toFixed(1) : whole.format(value);
}

/** A time in seconds, in the unit that it is read in. */
export function duration(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(0)} days`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes, in the unit that they are read in. */
export function bytes(value: number | undefined): string {
  if (value === undefined) return '–';
  const power = Math.min(UNITS.length - 1, value > 0 ? Math.floor(Math.log2(value) / 10) : 0);
  const scaled = value / 1_024 ** power;
  return `${scaled >= 100 || power === 0 ? scaled.toFixed(0) : scaled.toFixed(1)} ${UNITS[power]}`;
}

/** A share of 1. All and nothing are said only where they are exact. */
export function share(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value === 1 || value === 0) return `${value * 100} %`;
  const percent = Math.min(99.99, Math.max(0.01, value * 100));
  return `${percent.toFixed(2)} %`;
}

/** The beginning and end of a hash. */
export function short(hash: string): string {
  return `${hash.slice(0, 8)}…${hash.slice(-6)}`;
}

/** The time of day. */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB');
}

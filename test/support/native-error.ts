import type { NativeCode } from '../../src/executor/errors.ts';

/** An error as the native core throws it. */
export function nativeError(code: NativeCode, message: string): Error {
  return Object.assign(new Error(message), { code });
}

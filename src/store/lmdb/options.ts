export interface LmdbStoreOptions {
  /** A directory; created if it does not exist. */
  readonly path: string;
  /** Blocks that can be taken off the head. */
  readonly undoWindow?: number;
  /** Appends are refused once the file is this large. Reserved as address space, not as disk or memory. */
  readonly mapSizeBytes?: number;
  /** Changes are refused while the disk has less room than this. */
  readonly diskReserveBytes?: number;
  /** For another process than the writer's; threads of one process share one environment and open alike. */
  readonly readOnly?: boolean;
  /** For throw-away stores: leaves flushing to the operating system. */
  readonly unsafeNoSync?: boolean;
}

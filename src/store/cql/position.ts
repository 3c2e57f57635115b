import { decodeRoot, type Root, type Stored } from './root.ts';

/** A root row as it was at some time, by the steady clock of this process. */
export interface Position extends Pick<Stored, 'epoch' | 'seq' | 'root'> {
  readonly asked: number;
}

/** As text, for other threads. */
export function writePosition({ epoch, seq, root, asked }: Position): string {
  return JSON.stringify({ epoch: String(epoch), seq: String(seq), root, asked });
}

/** Reads what `writePosition` wrote. */
export function readPosition(text: string): Position {
  const { epoch, seq, root, asked } = JSON.parse(text) as {
    readonly epoch: string;
    readonly seq: string;
    readonly root?: Root;
    readonly asked: number;
  };
  return { epoch: BigInt(epoch), seq: BigInt(seq), root: root && decodeRoot(JSON.stringify(root)), asked };
}

/** Bytes that only one answer has. */
const owned = new WeakSet<Buffer>();

/** Says that whoever sends these bytes may give their memory back. Nothing else may be in their ArrayBuffer. */
export function own(bytes: Buffer): Buffer {
  owned.add(bytes);
  return bytes;
}

/**
 * Gives the memory of bytes back, if they are owned: from here on they are empty. V8 would find them at its next collection,
 * and answers that nobody takes could fill the memory before that.
 */
export function giveBack(bytes: Buffer): void {
  if (owned.delete(bytes)) (bytes.buffer as ArrayBuffer).transfer(0);
}

/** Writes bytes, and gives them back once they are taken, or cannot be any more; `onTaken` hears of it. */
export function writeBytes(
  stream: { write(bytes: Buffer, onTaken?: () => void): boolean },
  bytes: Buffer,
  onTaken?: () => void,
): boolean {
  if (!owned.has(bytes)) return stream.write(bytes, onTaken);
  return stream.write(bytes, () => {
    giveBack(bytes);
    onTaken?.();
  });
}

/** A whole message of text. */
const FINAL_TEXT = 0x81;
const frames = new WeakMap<Buffer, Buffer>();

/**
 * A text message as it goes over the wire. What servers send is not masked, so one frame serves every client that gets
 * the same message: it is made once, and costs each of them one write.
 */
export function frameOf(message: Buffer): Buffer {
  const known = frames.get(message);
  if (known !== undefined) return known;
  const frame = Buffer.concat([headerOf(message.length), message]);
  frames.set(message, frame);
  return frame;
}

/** What goes over the wire before a text message of so many bytes. */
export function headerOf(length: number): Buffer {
  if (length < 126) return Buffer.of(FINAL_TEXT, length);
  if (length < 65_536) return Buffer.of(FINAL_TEXT, 126, length >> 8, length & 255);
  const long = Buffer.alloc(10);
  long[0] = FINAL_TEXT;
  long[1] = 127;
  long.writeBigUInt64BE(BigInt(length), 2);
  return long;
}

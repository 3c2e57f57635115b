import { createHash } from 'node:crypto';
import type { Hex } from 'viem';

export interface BlobSidecar {
  readonly blob: Hex;
  readonly commitment: Hex;
  readonly proof: Hex;
}

/**
 * Multiples of the generator of BLS12-381's G1, compressed. A blob whose field elements all are c is the constant
 * polynomial c: its commitment is c times the generator and its proof, of a quotient of zero, the point at infinity.
 * So blobs need no trusted setup here.
 */
const commitments: readonly Hex[] = [
  `0xc0${'00'.repeat(47)}`,
  '0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb',
  '0xa572cbea904d67468808c8eb50a9450c9721db309128012543902d0ac358a62ae28f75bb8f1c7c42c39a8c5529bf0f4e',
];
const infinity: Hex = `0xc0${'00'.repeat(47)}`;
const elementsPerBlob = 4096;

export const blobKinds = commitments.length;

/** A valid blob; `kind` below `blobKinds` tells them apart. */
export function blobOf(kind: number): BlobSidecar {
  const commitment = commitments[kind];
  if (commitment === undefined) throw new Error(`no blob ${kind}`);
  const element = kind.toString(16).padStart(64, '0');
  return { blob: `0x${element.repeat(elementsPerBlob)}`, commitment, proof: infinity };
}

export function versionedHash(commitment: Hex): Hex {
  const hash = createHash('sha256')
    .update(Buffer.from(commitment.slice(2), 'hex'))
    .digest('hex');
  return `0x01${hash.slice(2)}`;
}

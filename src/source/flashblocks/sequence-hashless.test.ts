import { describe, expect, it } from 'vitest';
import { hashAfter, hashOf, makeFlashblock } from '../../../test/support/source/flashblocks.ts';
import { Drive, DRIVE_LIMITS as limits } from '../../../test/support/source/sequence-drive.ts';

describe.each(['zero-root', 'absent'] as const)('blocks whose hash is not known (%s)', (form) => {
  it('start on each other before any of them is sealed, and stay when they are (B6)', () => {
    const drive = new Drive(0, form);
    drive.block(1);
    expect(drive.come({ number: 2, index: 0 })).toEqual(['start 2:0']);
    for (const index of [1, 2, 3]) expect(drive.come({ number: 2, index })).toEqual([`accept 2:${index}`]);
    expect(drive.come({ number: 1, index: 4 })).toEqual(['stale 1:4']);
    expect(drive.come({ number: 3, index: 0 })).toEqual(['start 3:0']);
    expect(drive.head(1)).toEqual(['confirmed 1']);
    expect(drive.head(2)).toEqual(['confirmed 2']);
    expect(drive.come({ number: 3, index: 1 })).toEqual(['accept 3:1']);
  });

  it('go with all on top of them when the one below is sealed under another hash (B6)', () => {
    const drive = new Drive(0, form);
    drive.block(1);
    drive.block(2);
    drive.block(3, 2);
    expect(drive.head(1, hashOf('other'))).toEqual(['dropped from 1: sealedOtherwise']);
    expect(drive.come({ number: 3, index: 2 })).toEqual(['abandoned 3:2']);
    expect(drive.come({ number: 2, index: 0, attempt: 'x', parent: hashOf('other') })).toEqual(['start 2:0']);
  });

  it('begin again on the sealed block when it has more than was seen of it (B6)', () => {
    const drive = new Drive(0, form);
    drive.block(1, 3);
    drive.block(2, 2);
    expect(drive.head(1, hashAfter(1), [1, 2])).toEqual([
      ...['dropped from 1: sealedOtherwise', 'start 2:0', 'accept 2:1'],
    ]);
    expect(drive.come({ number: 2, index: 1 }, 'b')).toEqual(['duplicate 2:1']);
    expect(drive.come({ number: 2, index: 2 })).toEqual(['accept 2:2']);
    // On a sealed block there is nothing left to be wrong.
    expect(drive.refuse(2)).toEqual(['dropped from 2: refused']);
    expect(drive.come({ number: 2, index: 3 })).toEqual(['abandoned 2:3']);
  });

  it('are said to be sealed otherwise, whatever stands on them', () => {
    const alone = new Drive(0, form);
    alone.block(1, 3);
    expect(alone.head(1, hashOf('other'), [1])).toEqual(['dropped from 1: sealedOtherwise']);
    // What stands on it was executed only after it was sealed, before the validator heard of that.
    const fresh = new Drive(0, form);
    fresh.block(1, 3);
    fresh.block(2, 2);
    expect(fresh.head(1, hashAfter(1), [1])).toEqual(['confirmed 1']);
    // Only what stands on it was executed on something else: it may have been executed before the rest was.
    const above = new Drive(0, form);
    above.block(1);
    above.block(2, 2);
    expect(above.head(1, hashAfter(1), [2])).toEqual([
      ...['confirmed 1', 'dropped from 2: sealedOtherwise', 'start 2:0', 'accept 2:1'],
    ]);
  });

  it('are tried again on the sealed block when they do not fit what was seen of it', () => {
    const drive = new Drive(0, form);
    drive.block(1, 3);
    drive.come({ number: 2, index: 0 });
    expect(drive.refuse(2)).toEqual(['dropped from 2: refused']);
    expect(drive.come({ number: 2, index: 1 })).toEqual(['early 2:1']);
    expect(drive.head(1)).toEqual(['confirmed 1', 'start 2:0', 'accept 2:1']);
    // Or on the next flashblock of the block below, if that is what was missing.
    const late = new Drive(0, form);
    late.block(1, 3);
    late.come({ number: 2, index: 0 });
    late.refuse(2);
    expect(late.come({ number: 1, index: 3 }, 'b')).toEqual(['accept 1:3', 'start 2:0']);
    // In the end nobody waits for it.
    const never = new Drive(0, form);
    never.block(1, 3);
    never.come({ number: 2, index: 0 });
    never.refuse(2);
    expect(never.wait(limits.earlyMs)).toEqual(['dropped from 1: parentUnknown']);
  });

  it('do not start on a block that is known to miss something', () => {
    const drive = new Drive(0, form);
    drive.block(1, 1);
    expect(drive.come({ number: 1, index: 2 })).toEqual(['gap 1:2']);
    expect(drive.come({ number: 2, index: 0 })).toEqual(['early 2:0']);
    expect(drive.come({ number: 1, index: 1 }, 'b')).toEqual([
      ...['accept 1:1, repairs', 'accept 1:2', 'start 2:0'],
    ]);
    // One that came before the block below began was announced on another, of a chain that is left.
    const older = new Drive(0, form);
    expect(older.come({ number: 2, index: 0, parent: hashOf('left') })).toEqual(['early 2:0']);
    older.wait(1);
    expect(older.come({ number: 1, index: 0 })).toEqual(['start 1:0']);
    expect(older.come({ number: 2, index: 0, attempt: 'x' })).toEqual(['start 2:0']);
  });

  it('are replaced by a rebuild, whatever that says of the block below', () => {
    const drive = new Drive(0, form);
    drive.block(1);
    drive.block(2, 2);
    const other = { number: 2, index: 0, attempt: 'x', parent: hashOf('other') };
    expect(drive.come(other)).toEqual(['rebuild 2:0']);
    expect(drive.come({ number: 2, index: 2 })).toEqual(['stale 2:2']);
    expect(drive.head(1, hashOf('other'))).toEqual(['confirmed 1']);
  });

  it('are kept to begin again with only as far as there is room', () => {
    const drive = new Drive(0, form);
    drive.block(1);
    for (let index = 0; index <= limits.maxHeld; index += 1) drive.come({ number: 2, index });
    drive.come({ number: 3, index: 0 });
    expect(drive.state.pending.map(({ arrivals }) => arrivals?.length)).toEqual([undefined, undefined, 1]);
    expect(drive.head(1, hashAfter(1), [1, 2, 3])).toEqual(['dropped from 1: sealedOtherwise']);
    expect(drive.state).toMatchObject({ pending: [], held: [] });
    expect(drive.come({ number: 2, index: 0 })).toEqual(['duplicate 2:0']);
  });
});

it('holds a real hash against the block on top of it', () => {
  const drive = new Drive(0);
  drive.block(1);
  expect(drive.come({ number: 2, index: 0, parent: hashOf('nowhere') })).toEqual(['early 2:0']);
  expect(makeFlashblock({ number: 1, index: 0 }).diff.blockHash).toBe(hashAfter(1, 0));
});

import { describe, expect, it } from 'vitest';
import { hashOf, makeFlashblock } from '../../../test/support/source/flashblocks.ts';
import { Drive, DRIVE_LIMITS as limits } from '../../../test/support/source/sequence-drive.ts';
import { nextDeadline } from './sequence.ts';

describe('the sequence validator', () => {
  it('passes on a block, and the next one on top of it before it is canonical', () => {
    const drive = new Drive(0);
    expect(drive.come({ number: 1, index: 0 })).toEqual(['start 1:0']);
    for (const index of [1, 2, 3]) expect(drive.come({ number: 1, index })).toEqual([`accept 1:${index}`]);
    expect(drive.come({ number: 2, index: 0 })).toEqual(['start 2:0']);
    expect(drive.come({ number: 1, index: 4 })).toEqual(['stale 1:4']);
    expect(drive.head(1)).toEqual(['confirmed 1']);
    expect(drive.come({ number: 2, index: 1 })).toEqual(['accept 2:1']);
    expect(drive.state.pending).toMatchObject([{ number: 2 }]);
  });

  it('ignores what another stream brought before', () => {
    const drive = new Drive(0);
    drive.block(1);
    expect(drive.come({ number: 1, index: 2 }, 'b')).toEqual(['duplicate 1:2']);
    drive.head(1);
    expect(drive.come({ number: 1, index: 2 }, 'b')).toEqual(['duplicate 1:2']);
    drive.head(2);
    expect(drive.come({ number: 2, index: 0 }, 'b')).toEqual(['stale 2:0']);
  });

  it('holds an early index 0, with all behind it, until its parent is the head', () => {
    const drive = new Drive();
    expect(drive.come({ number: 1, index: 0 })).toEqual(['early 1:0']);
    expect(drive.come({ number: 1, index: 1 })).toEqual(['early 1:1']);
    expect(drive.come({ number: 1, index: 1 }, 'b')).toEqual(['duplicate 1:1']);
    drive.wait(limits.earlyMs - 1);
    expect(drive.head(0)).toEqual(['start 1:0', 'accept 1:1']);
    expect(nextDeadline(drive.state)).toBeUndefined();
  });

  it('gives an early index 0 up when its parent does not come', () => {
    const drive = new Drive(0);
    drive.block(1, 2);
    expect(drive.come({ number: 2, index: 0, parent: hashOf('nowhere') })).toEqual(['early 2:0']);
    expect(nextDeadline(drive.state)).toBe(limits.earlyMs);
    expect(drive.wait(limits.earlyMs)).toEqual(['dropped from 1: parentUnknown']);
    expect(drive.come({ number: 2, index: 1 })).toEqual(['abandoned 2:1']);
    expect(drive.come({ number: 1, index: 2 })).toEqual(['abandoned 1:2']);
    // Another attempt at a known block, on a parent nobody knows, takes nothing with it.
    drive.head(2);
    drive.block(3, 2);
    drive.come({ number: 3, index: 0, attempt: 'x', parent: hashOf('nowhere') });
    expect(drive.wait(limits.earlyMs)).toEqual([]);
    expect(drive.come({ number: 3, index: 2 })).toEqual(['accept 3:2']);
  });

  it('repairs a gap from another stream', () => {
    const drive = new Drive(0);
    drive.block(1, 1);
    expect(drive.come({ number: 1, index: 2 })).toEqual(['gap 1:2']);
    expect(drive.come({ number: 1, index: 3 })).toEqual(['gap 1:3']);
    drive.wait(limits.gapMs - 1);
    expect(drive.come({ number: 1, index: 1 }, 'b')).toEqual([
      'accept 1:1, repairs',
      'accept 1:2',
      'accept 1:3',
    ]);
  });

  it('takes an index 0 that comes after the rest', () => {
    const drive = new Drive(0);
    expect(drive.come({ number: 1, index: 1 })).toEqual(['gap 1:1']);
    expect(drive.come({ number: 1, index: 0 })).toEqual(['start 1:0, repairs', 'accept 1:1']);
    const early = new Drive();
    early.come({ number: 1, index: 1 });
    early.come({ number: 1, index: 0 });
    expect(early.wait(limits.gapMs)).toEqual([]);
    expect(early.head(0)).toEqual(['start 1:0', 'accept 1:1']);
  });

  it('drops from a gap that nobody fills until the next index 0', () => {
    const drive = new Drive(0);
    drive.block(1);
    drive.block(2, 1);
    drive.come({ number: 2, index: 2 });
    expect(drive.wait(limits.gapMs)).toEqual(['dropped from 2: gap']);
    expect(drive.come({ number: 2, index: 1 }, 'b')).toEqual(['abandoned 2:1']);
    expect(drive.come({ number: 2, index: 3 })).toEqual(['abandoned 2:3']);
    expect(drive.come({ number: 3, index: 0 })).toEqual(['early 3:0']);
    expect(drive.head(1)).toEqual(['confirmed 1']);
    expect(drive.head(2)).toEqual(['start 3:0']);
  });

  it('finishes an unfinished block from a slower stream before it starts the next', () => {
    const drive = new Drive(0);
    drive.block(1, 2);
    expect(drive.come({ number: 2, index: 0 })).toEqual(['early 2:0']);
    expect(drive.come({ number: 1, index: 2 }, 'b')).toEqual(['accept 1:2']);
    expect(drive.come({ number: 1, index: 3 }, 'b')).toEqual(['accept 1:3', 'start 2:0']);
  });

  it('rebuilds a block, with all on top of it, and does not go back', () => {
    const drive = new Drive(0);
    drive.block(1, 2);
    expect(drive.come({ number: 1, index: 0, attempt: 'again' })).toEqual(['rebuild 1:0']);
    expect(drive.come({ number: 1, index: 0 }, 'b')).toEqual(['duplicate 1:0']);
    expect(drive.come({ number: 1, index: 2 }, 'b')).toEqual(['stale 1:2']);
    expect(drive.come({ number: 1, index: 1, attempt: 'again' })).toEqual(['accept 1:1']);
    const deep = new Drive(0);
    deep.block(1);
    deep.block(2, 2);
    expect(deep.come({ number: 1, index: 0, attempt: 'again' })).toEqual(['rebuild 1:0']);
    expect(deep.state.pending).toMatchObject([{ number: 1 }]);
    expect(deep.come({ number: 2, index: 2 })).toEqual(['stale 2:2']);
  });

  it('names both sides of a contradiction and trusts neither', () => {
    const drive = new Drive(0);
    drive.block(1, 2);
    expect(drive.come({ number: 1, index: 1, twist: 'lie' }, 'b')).toEqual([
      'contradiction 1:1 of a',
      'dropped from 1: contradiction',
    ]);
    expect(drive.come({ number: 1, index: 2 })).toEqual(['abandoned 1:2']);
    // Again, or about the past: said, and nothing more to drop.
    expect(drive.come({ number: 1, index: 0, twist: 'lie' }, 'b')).toEqual(['contradiction 1:0 of a']);
    const early = new Drive();
    early.come({ number: 1, index: 0 });
    expect(early.come({ number: 1, index: 0, twist: 'lie' }, 'b')).toEqual(['contradiction 1:0 of a']);
    expect(early.head(0)).toEqual([]);
  });

  it('says when the sealed block is another one, and goes on from it', () => {
    const drive = new Drive(0);
    drive.block(1);
    drive.block(2, 2);
    expect(drive.head(1, hashOf('other'))).toEqual(['dropped from 1: sealedOtherwise']);
    expect(drive.come({ number: 2, index: 2 })).toEqual(['abandoned 2:2']);
    expect(drive.come({ number: 2, index: 0, attempt: 'x', parent: hashOf('other') })).toEqual(['start 2:0']);
  });

  it('lets go of what the head leaves or passes', () => {
    const drive = new Drive(5);
    drive.block(6, 2);
    expect(drive.head(5)).toEqual([]);
    expect(drive.head(5, hashOf('other'))).toEqual(['dropped from 6: reorganised']);
    const passed = new Drive(5);
    passed.block(6, 2);
    passed.come({ number: 7, index: 0 });
    expect(passed.head(7)).toEqual(['dropped from 6: overtaken', 'stale 7:0']);
  });

  it('drops all in silence, and one block on refusal', () => {
    const drive = new Drive(0);
    drive.block(1);
    drive.block(2, 1);
    const { payloadId } = makeFlashblock({ number: 2, index: 0 });
    expect(drive.input({ kind: 'refuse', payloadId, at: 0 })).toEqual(['dropped from 2: refused']);
    expect(drive.input({ kind: 'refuse', payloadId, at: 0 })).toEqual([]);
    expect(drive.input({ kind: 'dropAll', reason: 'silence', at: 0 })).toEqual(['dropped from 1: silence']);
    expect(drive.input({ kind: 'dropAll', reason: 'silence', at: 0 })).toEqual([]);
    expect(drive.come({ number: 1, index: 4 })).toEqual(['abandoned 1:4']);
  });

  it('holds no more than it may, and builds no higher', () => {
    const drive = new Drive(0);
    for (let index = 1; index <= limits.maxHeld; index += 1) drive.come({ number: 1, index });
    expect(drive.come({ number: 1, index: 9 })).toEqual(['overflow 1:9']);
    expect(drive.come({ number: 1, index: 0 })).toHaveLength(1 + limits.maxHeld);
    const high = new Drive(0);
    for (const number of [1, 2, 3]) high.block(number);
    expect(high.come({ number: 4, index: 0 })).toEqual(['early 4:0']);
    expect(high.head(1)).toEqual(['confirmed 1', 'start 4:0']);
  });

  it('keeps what began after an attempt that lost its beginning, and not what began before', () => {
    const drive = new Drive(0);
    expect(drive.come({ number: 1, index: 1 })).toEqual(['gap 1:1']);
    drive.wait(10);
    expect(drive.come({ number: 1, index: 0, attempt: 'again' })).toEqual(['start 1:0']);
    expect(drive.wait(limits.gapMs)).toEqual([]);
    expect(drive.come({ number: 1, index: 1, attempt: 'again' })).toEqual(['accept 1:1']);
    expect(drive.come({ number: 1, index: 2 })).toEqual(['abandoned 1:2']);
    expect(drive.come({ number: 1, index: 1, attempt: 'third' })).toEqual(['gap 1:1']);
    expect(drive.wait(limits.gapMs)).toEqual(['dropped from 1: gap']);
  });

  it('ignores a payload that changes its number', () => {
    const drive = new Drive(0);
    drive.block(1, 1);
    const flashblock = { ...makeFlashblock({ number: 1, index: 1 }), blockNumber: 2 };
    expect(drive.input({ kind: 'arrival', flashblock, stream: 'a', at: 0 })).toEqual(['stale 2:1']);
  });
});

import type { SequencedBlock } from '../../support/servers/op-sequencer.ts';
import { PreconfirmedRig, type RigOptions } from '../rig.ts';
import { Channels } from './player.ts';
import { Stage } from './scene.ts';
import { streamCount } from './script.ts';

/** A rig whose blocks are built ahead, and whose streams get them wrong as they are told. */
export interface StagedRig {
  readonly rig: PreconfirmedRig;
  readonly stage: Stage;
  readonly channels: Channels;
}

/** Starts one; whoever asked for it disposes of the rig. */
export async function startStagedRig(options: Omit<RigOptions, 'streams' | 'tip'>): Promise<StagedRig> {
  const channels = new Channels();
  const streams = Array.from({ length: streamCount }, (_, at) => ({
    encoding: at === 0 ? ('text' as const) : ('brotli' as const),
    faults: channels.scriptOf(at),
  }));
  let stage: Stage | undefined;
  const tip = (): SequencedBlock => {
    if (stage === undefined) throw new Error('no block is built yet');
    return stage.tip;
  };
  const rig = await PreconfirmedRig.start({ ...options, streams, tip });
  stage = new Stage(rig.sequencer, rig.workload, rig.form !== 'real');
  return { rig, stage, channels };
}

import { concatHex, getContractAddress, type Hex, keccak256, numberToHex, parseEther, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { PreconfirmedRig } from '../preconfirmed/rig.ts';
import { cutIntoParts } from '../support/flashblocks/builder.ts';
import { Random } from '../support/random.ts';
import { opChainId, opFunder } from '../support/servers/op-genesis.ts';

/** Writes its second word to as many slots as its first says, above its third. */
const runtime: Hex = '0x5f355b602035816040350155600190038060025700';
/** Code that no other contract has; the code of as many blocks as our node can take back has to fit beside older code. */
const codeBytes = 2_000;
/** What one flashblock writes; the ranges together are more than our node may keep. */
const slotsPerWrite = 250;
const ranges = 48;
const fees = { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1n } as const;
const blockGasLimit = 200_000_000n;

/** A chain in flashblocks under a random workload, and a contract of which each flashblock changes hundreds of slots. */
export class SoakedChain implements AsyncDisposable {
  readonly rig: PreconfirmedRig;
  readonly #seed: number;
  readonly #writer = privateKeyToAccount(keccak256(toHex('the writer of a soak')));
  readonly #wide: Hex;
  #nonce = 1;
  #writes = 0;
  blocks = 0;
  flashblocks = 0;
  transactions = 0;

  private constructor(rig: PreconfirmedRig, seed: number) {
    this.rig = rig;
    this.#seed = seed;
    this.#wide = getContractAddress({ from: this.#writer.address, nonce: 0n });
    rig.events = {
      published: ({ message }) => {
        this.flashblocks += 1;
        this.transactions += message.diff.transactions.length;
      },
    };
  }

  static async start(seed: number): Promise<SoakedChain> {
    const rig = await PreconfirmedRig.start({ seed, withoutOurs: true });
    const chain = new SoakedChain(rig, seed);
    const writer = chain.#writer;
    const nonce = rig.workload.takeNonce(opFunder);
    const base = { chainId: opChainId, type: 'eip1559', ...fees } as const;
    const transactions = [
      await opFunder.signTransaction({
        ...{ ...base, nonce, gas: 21_000n },
        ...{ to: writer.address, value: parseEther('50') },
      }),
      await writer.signTransaction({ ...base, nonce: 0, gas: 200_000n, data: deploying(runtime) }),
    ];
    await rig.block({ parts: [transactions] });
    await rig.seal();
    return chain;
  }

  /** A block of a few flashblocks; it is sealed when the next has begun, or before. */
  async grow(): Promise<void> {
    const random = new Random(this.#seed ^ 0x51ed270b, this.blocks);
    const { deposits, transactions } = await this.rig.workload.next(random.between(10, 30));
    const parts: Hex[][] = [[await this.#deploy(random)]];
    for (const part of cutIntoParts(transactions, random.between(2, 4))) {
      parts.push([...part, await this.#write()]);
    }
    const isEarly = random.chance(0.3);
    await this.rig.block(
      { deposits, parts, gasLimit: blockGasLimit },
      isEarly ? { early: true, sealAfter: random.between(1, 3) } : {},
    );
    this.blocks += 1;
    const { sequencer } = this.rig;
    await sequencer.setFinalized(Math.max(0, sequencer.head.number - 8));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }

  #write(): Promise<Hex> {
    this.#writes += 1;
    const words = [slotsPerWrite, this.#writes, (this.#writes % ranges) * 1_000];
    const data = concatHex(words.map((word) => numberToHex(word, { size: 32 })));
    return this.#send({ to: this.#wide, gas: 8_000_000n, data });
  }

  /** A contract that begins with STOP. */
  #deploy(random: Random): Promise<Hex> {
    const code = concatHex(['0x00', random.hex(codeBytes) as Hex]);
    return this.#send({ gas: 1_000_000n, data: deploying(code) });
  }

  #send(transaction: { readonly to?: Hex; readonly gas: bigint; readonly data: Hex }): Promise<Hex> {
    const nonce = this.#nonce++;
    return this.#writer.signTransaction({
      chainId: opChainId,
      type: 'eip1559',
      ...fees,
      nonce,
      ...transaction,
    });
  }
}

/** Code that gives `code` to the contract that it makes. */
function deploying(code: Hex): Hex {
  const length = numberToHex((code.length - 2) / 2, { size: 2 });
  return concatHex(['0x61', length, '0x80600a5f395ff3', code]);
}

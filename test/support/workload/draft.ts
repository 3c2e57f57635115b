import { type AccessList, encodeFunctionData, type Hex, type SignedAuthorization } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Random } from '../random.ts';
import { type BlobSidecar, versionedHash } from './blobs.ts';
import type { Catalogue } from './catalogue.ts';
import { type ContractName, workloadContracts } from './contracts.ts';

/** What a chain has, that not every chain has. */
export interface ChainTraits {
  readonly chainId: number;
  readonly funder: PrivateKeyAccount;
  /** Type 3 transactions. */
  readonly blobs: boolean;
  /** Withdrawal and consolidation requests of EIP-7002 and EIP-7251. */
  readonly requests: boolean;
  /** Deposits and withdrawals of the OP stack. */
  readonly deposits: boolean;
  /** Legacy signatures without a chain id. */
  readonly unprotected: boolean;
}

export interface Request {
  readonly to?: Hex;
  readonly data?: Hex;
  readonly value?: bigint;
  readonly gas?: bigint;
  readonly accessList?: AccessList;
}

export const maxFeePerGas = 20_000_000_000n;

/** What a draft takes of the workload that it is part of. */
export interface DraftModules {
  readonly catalogue: Catalogue;
  readonly traits: ChainTraits;
  readonly senders: readonly PrivateKeyAccount[];
  readonly authorities: readonly PrivateKeyAccount[];
  readonly blobSender: PrivateKeyAccount;
  addressOf(name: ContractName): Hex;
  nonceOf(account: PrivateKeyAccount): number;
  takeNonce(account: PrivateKeyAccount): number;
}

/** Adds a transaction or more to a block. */
export type Action = (draft: Draft) => Promise<void>;

/** The least a transaction may carry: what it costs before it runs, and the floor of EIP-7623. */
function leastGas({ to, data = '0x' }: Request, accessList: AccessList): number {
  const bytes = Buffer.from(data.slice(2), 'hex');
  const tokens = bytes.reduce((sum, byte) => sum + (byte === 0 ? 1 : 4), 0);
  const creation = to === undefined ? 32_000 + 2 * Math.ceil(bytes.length / 32) : 0;
  const listed = accessList.reduce((sum, { storageKeys }) => sum + 2400 + 1900 * storageKeys.length, 0);
  return 21_000 + Math.max(4 * tokens + creation + listed, 10 * tokens);
}

/** A block while it is being thought up; actions write into it. */
export class Draft {
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly traits: ChainTraits;
  readonly number: number;
  readonly deposits: Hex[] = [];
  readonly transactions: Hex[] = [];
  private readonly workload: DraftModules;
  private readonly busy = new Set<Hex>();

  constructor(workload: DraftModules, random: Random, number: number) {
    this.workload = workload;
    this.random = random;
    this.number = number;
    this.catalogue = workload.catalogue;
    this.traits = workload.traits;
  }

  get senders(): readonly PrivateKeyAccount[] {
    return this.workload.senders;
  }

  get authorities(): readonly PrivateKeyAccount[] {
    return this.workload.authorities;
  }

  get blobSender(): PrivateKeyAccount {
    return this.workload.blobSender;
  }

  address(name: ContractName): Hex {
    return this.workload.addressOf(name);
  }

  /** An authority that nothing in this block has touched yet: its nonce is certain, and pools hold one of its transactions. */
  freeAuthority(): PrivateKeyAccount | undefined {
    const free = this.authorities.filter(({ address }) => !this.busy.has(address));
    if (free.length === 0) return undefined;
    const chosen = this.random.pick(free);
    this.busy.add(chosen.address);
    return chosen;
  }

  nonceOf(account: PrivateKeyAccount): number {
    return this.workload.nonceOf(account);
  }

  encode(name: ContractName, functionName: string, args: readonly unknown[]): Hex {
    return encodeFunctionData({ abi: workloadContracts()[name].abi, functionName, args });
  }

  /** Signs what any sender could send, as any type of transaction that fits. */
  async send(request: Request, from: PrivateKeyAccount = this.random.pick(this.senders)): Promise<void> {
    const { random } = this;
    const { chainId } = this.traits;
    const fees = { maxFeePerGas, maxPriorityFeePerGas: BigInt(random.below(2_000_000_000)) };
    const gasPrice = maxFeePerGas - BigInt(random.below(5_000_000_000));
    const accessList = request.accessList ?? (random.chance(0.3) ? this.accessList() : []);
    const style = request.accessList === undefined ? random.below(10) : 9;
    const { accessList: _given, gas: wished = 1_000_000n, ...rest } = request;
    const gas = BigInt(Math.max(Number(wished), leastGas(request, accessList)));
    const plain = { ...rest, nonce: this.workload.takeNonce(from), gas };
    if (style === 0 && this.traits.unprotected)
      this.transactions.push(await from.signTransaction({ type: 'legacy', gasPrice, ...plain }));
    else if (style <= 2)
      this.transactions.push(await from.signTransaction({ type: 'legacy', chainId, gasPrice, ...plain }));
    else if (style <= 4)
      this.transactions.push(
        await from.signTransaction({ type: 'eip2930', chainId, gasPrice, ...plain, accessList }),
      );
    else
      this.transactions.push(
        await from.signTransaction({ type: 'eip1559', chainId, ...fees, ...plain, accessList }),
      );
  }

  async sendBlobs(sidecars: readonly BlobSidecar[], request: Request & { readonly to: Hex }): Promise<void> {
    const from = this.blobSender;
    this.transactions.push(
      await from.signTransaction({
        type: 'eip4844',
        chainId: this.traits.chainId,
        nonce: this.workload.takeNonce(from),
        gas: 1_000_000n,
        maxFeePerGas,
        maxPriorityFeePerGas: 1_500_000_000n,
        maxFeePerBlobGas: maxFeePerGas,
        blobVersionedHashes: sidecars.map(({ commitment }) => versionedHash(commitment)),
        sidecars: [...sidecars],
        ...request,
      }),
    );
  }

  async sendDelegations(
    from: PrivateKeyAccount,
    authorizationList: readonly SignedAuthorization[],
    request: Request & { readonly to: Hex },
  ): Promise<void> {
    this.transactions.push(
      await from.signTransaction({
        type: 'eip7702',
        chainId: this.traits.chainId,
        nonce: this.workload.takeNonce(from),
        gas: 1_000_000n,
        maxFeePerGas,
        maxPriorityFeePerGas: BigInt(this.random.below(1_000_000_000)),
        authorizationList: [...authorizationList],
        ...request,
      }),
    );
  }

  private accessList(): AccessList {
    const { random } = this;
    return random.list(random.between(1, 3), () => {
      const known = random.pick(this.catalogue.filled);
      return {
        address: random.chance(0.8) ? known.address : (random.hex(20) as Hex),
        storageKeys: random.list(random.below(3), () =>
          random.chance(0.7) ? known.slot : (random.hex(32) as Hex),
        ),
      };
    });
  }
}

import {
  type AccessList,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  keccak256,
  parseEther,
  type SignedAuthorization,
  toHex,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { Random } from '../differential/random.ts';
import { type BlobSidecar, versionedHash } from './blobs.ts';
import { Catalogue } from './catalogue.ts';
import { actions } from './workload-actions.ts';
import { type ContractName, workloadContracts } from './workload-contracts.ts';

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

/** What to put into one block, in this order. Deposits are encoded, transactions signed (blobs with their sidecars). */
export interface WorkloadBlock {
  readonly deposits: readonly Hex[];
  readonly transactions: readonly Hex[];
}

/** How many transactions these accounts have sent, as the chain has it now. */
export type NonceReader = (addresses: readonly Hex[]) => Promise<readonly number[]>;

interface Request {
  readonly to?: Hex;
  readonly data?: Hex;
  readonly value?: bigint;
  readonly gas?: bigint;
  readonly accessList?: AccessList;
}

const maxFeePerGas = 20_000_000_000n;
const senderCount = 8;
const authorityCount = 6;

function accountOf(seed: number, role: string, index: number): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toHex(`${role} ${index} of ${seed}`)));
}

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
  private readonly workload: Workload;
  private readonly busy = new Set<Hex>();

  constructor(workload: Workload, random: Random, number: number) {
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

/**
 * Transactions of every kind, from a seed: the same blocks every time as long as the chain answers the same nonces.
 * Contracts named in the catalogue may not exist (any more), which is a case of its own.
 */
export class Workload {
  readonly seed: number;
  readonly traits: ChainTraits;
  readonly catalogue = new Catalogue();
  readonly senders: readonly PrivateKeyAccount[];
  readonly authorities: readonly PrivateKeyAccount[];
  /** Sends blobs and nothing else: pools keep such accounts apart. */
  readonly blobSender: PrivateKeyAccount;
  private readonly readNonces: NonceReader;
  private readonly nonces = new Map<Hex, number>();
  private readonly addresses = new Map<ContractName, Hex>();
  private made = 0;

  constructor(seed: number, traits: ChainTraits, readNonces: NonceReader) {
    this.seed = seed;
    this.traits = traits;
    this.readNonces = readNonces;
    this.senders = Array.from({ length: senderCount }, (_, at) => accountOf(seed, 'sender', at));
    this.authorities = Array.from({ length: authorityCount }, (_, at) => accountOf(seed, 'authority', at));
    this.blobSender = accountOf(seed, 'blob sender', 0);
    for (const { address } of this.accounts()) this.catalogue.address(address);
  }

  /** The blocks that everything else stands on: funds, then contracts, one block each. */
  async *setup(): AsyncGenerator<WorkloadBlock> {
    await this.syncNonces();
    yield this.block(
      await Promise.all(
        this.accounts()
          .filter(({ address }) => address !== this.traits.funder.address)
          .map(({ address }) => this.fromFunder({ to: address, value: parseEther('50'), gas: 21_000n })),
      ),
    );
    await this.syncNonces();
    const contracts = workloadContracts();
    const deployments: Hex[] = [];
    for (const [name, { abi, code, runtime }] of Object.entries(contracts)) {
      const address = getContractAddress({
        from: this.traits.funder.address,
        nonce: BigInt(this.nonceOf(this.traits.funder)),
      });
      const args = name === 'Proxy' ? [this.addressOf('Counter')] : [];
      this.addresses.set(name as ContractName, address);
      this.catalogue.contract(address);
      this.catalogue.code(runtime);
      for (let slot = 0; slot < 6; slot += 1) this.catalogue.slot(address, slot);
      deployments.push(
        await this.fromFunder({ data: encodeDeployData({ abi, bytecode: code, args }), gas: 3_000_000n }),
      );
    }
    deployments.push(
      await this.fromFunder({ to: this.addressOf('Workshop'), value: parseEther('5'), gas: 100_000n }),
    );
    yield this.block(deployments);
  }

  /** The next block, of so many actions if that is said; the one before must be mined. */
  async next(actionCount?: number): Promise<WorkloadBlock> {
    await this.syncNonces();
    const random = new Random(this.seed, this.made);
    this.made += 1;
    const draft = new Draft(this, random, this.made);
    const length =
      actionCount ??
      random.weighted([
        [1, () => 0],
        [12, () => random.between(1, 6)],
        [2, () => random.between(8, 16)],
      ]);
    for (let left = length; left > 0; left -= 1) {
      const action = random.weighted(actions.map(([weight, act]) => [weight, () => act] as const));
      await action(draft);
    }
    return { deposits: draft.deposits, transactions: draft.transactions };
  }

  addressOf(name: ContractName): Hex {
    const address = this.addresses.get(name);
    if (address === undefined) throw new Error(`${name} is not deployed`);
    return address;
  }

  nonceOf({ address }: PrivateKeyAccount): number {
    const nonce = this.nonces.get(address);
    if (nonce === undefined) throw new Error(`no nonce of ${address}`);
    return nonce;
  }

  /** The nonce that the account's next transaction has to carry. */
  takeNonce(account: PrivateKeyAccount): number {
    const nonce = this.nonceOf(account);
    this.nonces.set(account.address, nonce + 1);
    return nonce;
  }

  private accounts(): readonly PrivateKeyAccount[] {
    return [this.traits.funder, ...this.senders, ...this.authorities, this.blobSender];
  }

  private async syncNonces(): Promise<void> {
    const addresses = this.accounts().map(({ address }) => address);
    const nonces = await this.readNonces(addresses);
    addresses.forEach((address, at) => this.nonces.set(address, nonces[at] ?? 0));
  }

  private fromFunder(request: Request): Promise<Hex> {
    const { funder, chainId } = this.traits;
    const nonce = this.takeNonce(funder);
    return funder.signTransaction({
      type: 'eip1559',
      ...{ chainId, nonce, maxFeePerGas, maxPriorityFeePerGas: 1n, gas: 1_000_000n },
      ...request,
    });
  }

  private block(transactions: readonly Hex[]): WorkloadBlock {
    return { deposits: [], transactions };
  }
}

import { encodeDeployData, getContractAddress, type Hex, keccak256, parseEther, toHex } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { Random } from '../random.ts';
import { actions } from './actions.ts';
import { Catalogue } from './catalogue.ts';
import { type ContractName, workloadContracts } from './contracts.ts';
import { type ChainTraits, Draft, maxFeePerGas, type Request } from './draft.ts';

/** What to put into one block, in this order. Deposits are encoded, transactions signed (blobs with their sidecars). */
export interface WorkloadBlock {
  readonly deposits: readonly Hex[];
  readonly transactions: readonly Hex[];
}

/** How many transactions these accounts have sent, as the chain has it now. */
export type NonceReader = (addresses: readonly Hex[]) => Promise<readonly number[]>;

const senderCount = 8;
const authorityCount = 6;

function accountOf(seed: number, role: string, index: number): PrivateKeyAccount {
  return privateKeyToAccount(keccak256(toHex(`${role} ${index} of ${seed}`)));
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

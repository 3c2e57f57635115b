import { BlockList, isIP } from 'node:net';

/** Where proxies say whom they ask for. */
export const FORWARDED_HEADER = 'x-forwarded-for';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  return isIn(loopback, address);
}

/** Who a connection or request comes from, where proxies stand before us. */
export class ClientAddresses {
  #trusted = new BlockList();

  /** `proxies` are addresses and subnets whose word is taken for whom they ask. */
  constructor(proxies?: readonly string[]) {
    this.trust(proxies);
  }

  /** Takes the word of these from now on, and of no others. */
  trust(proxies: readonly string[] = []): void {
    this.#trusted = new BlockList();
    for (const proxy of proxies) {
      const [address = '', bits] = proxy.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /** Whether `x-forwarded-for` of this peer counts. */
  trusts(peer: string): boolean {
    return isIn(this.#trusted, peer);
  }

  /**
   * The network of a client: the peer's, or what trusted proxies say. Each proxy adds whom it saw at the end, so what is before the first
   * that we do not trust may be made up.
   */
  of(peer: string, forwardedFor: string | undefined): string {
    let client = peer;
    const named = forwardedFor?.split(',') ?? [];
    while (this.trusts(client)) {
      const before = named.pop()?.trim();
      if (before === undefined || isIP(before) === 0) break;
      client = before;
    }
    return networkOf(client);
  }
}

/** The name that an address is counted under: one customer of a network has a whole /64 of IPv6. */
export function networkOf(address: string): string {
  const plain = unmapped(address);
  if (isIP(plain) !== 6) return plain;
  if (isLoopback(plain)) return '::1';
  const [head = '', tail] = (plain.split('%')[0] ?? '').split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = tail === undefined ? 0 : 8 - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array<string>(Math.max(zeros, 0)).fill('0'), ...(after ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

function isIn(list: BlockList, address: string): boolean {
  const plain = unmapped(address);
  const family = isIP(plain);
  return family !== 0 && list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

/** An IPv4 client of a listener on all addresses has one of IPv6 that holds it. */
function unmapped(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  return mapped !== undefined && isIP(mapped) === 4 ? mapped : address;
}

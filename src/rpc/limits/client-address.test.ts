import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClientAddresses, isLoopback, networkOf } from './client-address.ts';

const PROXIES = new ClientAddresses(['10.0.0.0/8', '2001:db8::1']);

describe('a client behind proxies', () => {
  it.each([
    ['203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['10.0.0.1', undefined, '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['2001:db8::1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '127.0.0.1, 198.51.100.1, 10.2.2.2', '198.51.100.1'],
    ['10.0.0.1', '198.51.100.1, not an address', '10.0.0.1'],
    ['10.0.0.1', '10.0.0.2,10.0.0.3', '10.0.0.2'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', undefined, '2001:db8:1:2::/64'],
  ])('that comes from %s for %s is %s', (peer, forwarded, client) => {
    expect(PROXIES.of(peer, forwarded)).toBe(client);
  });

  it('cannot choose who it is by what it writes', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (made) => {
        expect(PROXIES.of('10.0.0.1', `${made}, 198.51.100.1`)).toBe('198.51.100.1');
        expect(PROXIES.of('198.51.100.1', made)).toBe('198.51.100.1');
      }),
    );
  });
});

describe('the network of an address', () => {
  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::2', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('%s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('is the same for all of 64 bits', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const half = fc.array(group, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(half, half, (network, host) => {
        const address = [...network, ...host].join(':');
        // As the URL parser of the platform writes it, with zeros left out.
        const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
        if (!short.startsWith('::ffff:')) expect(networkOf(short)).toBe(networkOf(address));
      }),
    );
  });
});

it('knows the addresses of this machine', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
  expect(['128.0.0.1', '::2', 'unknown', ''].some(isLoopback)).toBe(false);
});

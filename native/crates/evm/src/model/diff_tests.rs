#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use crate::random::Random;

fn account(random: &mut Random) -> Option<Account> {
    let code_hash = if random.once_in(2) { KECCAK256_EMPTY } else { B256::from(random.array()) };
    let balance = U256::from_be_bytes::<32>(random.array()) >> random.below(256);
    let nonce = random.next() >> random.below(64);
    (!random.once_in(4)).then_some(Account { nonce, balance, code_hash })
}

fn diff(random: &mut Random) -> Diff {
    let mut diff = Diff::default();
    for _ in 0..random.below(4) {
        let address = Address::from(random.array());
        diff.wiped.push(address);
        diff.accounts.push((address, account(random)));
        let value = U256::from_be_bytes::<32>(random.array()) >> random.below(257);
        diff.slots.push((address, B256::from(random.array()), value));
        let length = random.below(100) as usize;
        diff.codes.push((B256::from(random.array()), random.bytes(length).into()));
    }
    diff.sort();
    diff
}

#[test]
fn diffs_are_read_as_they_were_written() {
    let mut random = Random::from_env();
    for _ in 0..1_000 {
        let diff = diff(&mut random);
        assert_eq!(Diff::decode(&diff.encode()).unwrap(), diff);
    }
}

#[test]
fn accounts_are_read_as_they_were_written() {
    let mut random = Random::from_env();
    for _ in 0..1_000 {
        let account = account(&mut random);
        assert_eq!(decode_account(&encode_account(account.as_ref())).unwrap(), account);
    }
    assert!(decode_slot(&[1; 33]).is_err());
    assert_eq!(decode_slot(&[]).unwrap(), U256::ZERO);
}

#[test]
fn damaged_diffs_are_refused() {
    let mut random = Random::from_env();
    for _ in 0..20_000 {
        let mut bytes = diff(&mut random).encode();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at, random.next() as u8),
                // Where a count or length is, an absurd one.
                2 => bytes[at] = 0xff,
                _ => bytes[at] ^= 1 << random.below(8),
            }
        }
        // A change may give another valid diff; it may not panic or take memory that is not there.
        if let Ok(diff) = Diff::decode(&bytes) {
            assert_eq!(Diff::decode(&diff.encode()).unwrap(), diff);
        }
        let length = random.below(64) as usize;
        let _ = Diff::decode(&random.bytes(length));
        let _ = decode_account(&random.bytes(length));
        let _ = decode_slot(&random.bytes(length));
    }
    for count in 0..4 {
        let bytes = [vec![0; 4 * count], vec![0xff; 4]].concat();
        assert!(matches!(Diff::decode(&bytes), Err(Error::Malformed(_))));
    }
}

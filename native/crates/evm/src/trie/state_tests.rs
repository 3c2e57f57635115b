use super::StateTrie;
use crate::model::commitment::Commitment;
use crate::model::diff::{Account, Diff};
use crate::random::Random;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use alloy_trie::EMPTY_ROOT_HASH;

/// Few keys, so that they are changed, taken away and come back.
fn diff(random: &mut Random) -> Diff {
    let mut diff = Diff::default();
    for byte in 0..40_u8 {
        let address = Address::repeat_byte(byte);
        if random.below(4) > 0 {
            continue;
        }
        let gone = random.below(4) == 0;
        if gone || random.below(6) == 0 {
            diff.wiped.push(address);
        }
        let account = Account {
            nonce: random.below(3),
            balance: U256::from(random.below(1_000)),
            code_hash: KECCAK256_EMPTY,
        };
        diff.accounts.push((address, (!gone).then_some(account)));
        for slot in 0..12_u8 {
            if !gone && random.below(3) == 0 {
                diff.slots.push((address, B256::repeat_byte(slot), U256::from(random.below(3))));
            }
        }
    }
    diff
}

#[test]
fn its_root_is_that_of_all_keys_after_any_changes() {
    for seed in 0..8 {
        let mut random = Random::from_seed(2 * seed + 1);
        let (mut trie, mut all) = (StateTrie::default(), Commitment::default());
        let mut before = Vec::new();
        for step in 0..30 {
            let diff = diff(&mut random);
            before.push((trie.clone(), trie.root(), trie.keys()));
            trie.apply(&diff);
            all.apply(&diff);
            assert_eq!(trie.root(), all.root(), "seed {seed}, step {step}");
        }
        for (trie, root, keys) in before {
            assert_eq!((trie.root(), trie.keys()), (root, keys), "what shares nodes with others stays as it is");
        }
        for byte in 0..40 {
            trie.remove(Address::repeat_byte(byte));
        }
        assert_eq!((trie.root(), trie.keys()), (EMPTY_ROOT_HASH, 0));
    }
}

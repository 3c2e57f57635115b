use super::StateTrie;
use crate::model::diff::{Account, Diff, encode_account};
use crate::model::proof::check_proof;
use crate::random::Random;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use alloy_trie::root::{state_root_unhashed, storage_root_unhashed};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use serde_json::json;
use std::collections::BTreeMap;

/// All accounts with their slots: the root of it is computed from all leaves, in order.
#[derive(Default)]
struct Accounts(BTreeMap<Address, (Account, BTreeMap<B256, U256>)>);

impl Accounts {
    fn apply(&mut self, diff: &Diff) {
        for address in &diff.wiped {
            if let Some((_, slots)) = self.0.get_mut(address) {
                slots.clear();
            }
        }
        for (address, account) in &diff.accounts {
            match account {
                Some(account) => self.0.entry(*address).or_insert((*account, BTreeMap::new())).0 = *account,
                None => drop(self.0.remove(address)),
            }
        }
        for (address, slot, value) in &diff.slots {
            if let Some((_, slots)) = self.0.get_mut(address) {
                slots.insert(*slot, *value);
                slots.retain(|_, value| !value.is_zero());
            }
        }
    }

    fn root(&self) -> B256 {
        state_root_unhashed(self.0.iter().map(|(address, (account, slots))| {
            let storage_root = storage_root_unhashed(slots.iter().map(|(slot, value)| (*slot, *value)));
            let Account { nonce, balance, code_hash } = *account;
            (*address, TrieAccount { nonce, balance, storage_root, code_hash })
        }))
    }
}

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
        let (mut trie, mut all) = (StateTrie::default(), Accounts::default());
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

fn small_state(accounts: u8) -> StateTrie {
    let mut state = StateTrie::default();
    for at in 0..accounts {
        let account = Account { nonce: u64::from(at), balance: U256::from(7), code_hash: KECCAK256_EMPTY };
        state.load_account(Address::repeat_byte(at), &encode_account(Some(&account))).unwrap();
        for slot in 0..at {
            state.load_slot(Address::repeat_byte(at), B256::repeat_byte(slot), &[slot + 1]).unwrap();
        }
    }
    state
}

#[test]
fn what_it_proves_holds() {
    for accounts in [1, 2, 40] {
        let state = small_state(accounts);
        let root = state.root();
        for asked in 0..accounts + 3 {
            let address = Address::repeat_byte(asked);
            let slots: Vec<B256> = (0..asked + 2).map(B256::repeat_byte).collect();
            let proof = state.prove(address, &slots);
            let TrieAccount { nonce, balance, storage_root, code_hash } = proof.account();
            assert_eq!(proof.account.is_some(), asked < accounts);
            let storage: Vec<_> = slots
                .iter()
                .zip(&proof.slots)
                .map(|(key, slot)| json!({"key": key, "value": slot.value, "proof": slot.nodes}))
                .collect();
            let json = json!({
                "nonce": U256::from(nonce), "balance": balance, "codeHash": code_hash,
                "storageHash": storage_root, "accountProof": proof.nodes, "storageProof": storage,
            });
            check_proof(root, address, &slots, &json.to_string()).unwrap();
        }
    }
}

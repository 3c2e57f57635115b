//! Proofs of accounts and slots, from a complete state.

use crate::model::commitment::{Commitment, Storage};
use crate::model::diff::Account;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::proof::ProofRetainer;
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles, TrieAccount};

/// What `eth_getProof` says of an account.
#[derive(Debug)]
pub struct AccountProof {
    /// `None` where there is none, which the nodes show.
    pub account: Option<TrieAccount>,
    pub nodes: Vec<Bytes>,
    /// In the order they were asked for.
    pub slots: Vec<SlotProof>,
}

/// The same of one of its slots.
#[derive(Debug)]
pub struct SlotProof {
    pub value: U256,
    pub nodes: Vec<Bytes>,
}

impl Commitment {
    /// Proves an account and some of its slots, or that they are not there. Goes over all of the state.
    pub fn prove(&mut self, address: Address, slots: &[B256]) -> AccountProof {
        let hashed = keccak256(address);
        let nodes = self.leaves().prove(hashed);
        let account = self.accounts.get(&hashed).copied();
        let storage = self.storages.get_mut(&hashed);
        let storage_root = storage.map_or(EMPTY_ROOT_HASH, Storage::root);
        AccountProof {
            account: account.map(|Account { nonce, balance, code_hash }| TrieAccount {
                nonce,
                balance,
                storage_root,
                code_hash,
            }),
            nodes,
            slots: slots.iter().map(|slot| self.prove_slot(hashed, keccak256(slot))).collect(),
        }
    }

    fn leaves(&mut self) -> Leaves {
        let (accounts, storages) = (&self.accounts, &mut self.storages);
        Leaves(
            accounts
                .iter()
                .map(|(hashed, account)| {
                    let storage_root = storages.get_mut(hashed).map_or(EMPTY_ROOT_HASH, Storage::root);
                    let Account { nonce, balance, code_hash } = *account;
                    (*hashed, alloy_rlp::encode(TrieAccount { nonce, balance, storage_root, code_hash }))
                })
                .collect(),
        )
    }

    fn prove_slot(&self, account: B256, slot: B256) -> SlotProof {
        let Some(storage) = self.storages.get(&account) else {
            return SlotProof { value: U256::ZERO, nodes: Vec::new() };
        };
        let leaves = storage.slots.iter().map(|(key, value)| (*key, alloy_rlp::encode(value)));
        SlotProof {
            value: storage.slots.get(&slot).copied().unwrap_or_default(),
            nodes: Leaves(leaves.collect()).prove(slot),
        }
    }
}

/// The leaves of a trie, by key.
struct Leaves(Vec<(B256, Vec<u8>)>);

impl Leaves {
    /// The nodes from the root down to a key, or to where it would be. Nodes that their parents hold inside are not listed.
    fn prove(&self, key: B256) -> Vec<Bytes> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let target = Nibbles::unpack(key);
        let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(vec![target]));
        for (leaf, value) in &self.0 {
            builder.add_leaf(Nibbles::unpack(leaf), value);
        }
        let _ = builder.root();
        let nodes = builder.take_proof_nodes().into_nodes_sorted().into_iter();
        let own = nodes.filter(|(path, node)| path.is_empty() || node.len() >= B256::len_bytes());
        own.map(|(_, node)| node).collect()
    }
}

/// The account that proofs of what does not exist are of.
pub const NO_ACCOUNT: TrieAccount =
    TrieAccount { nonce: 0, balance: U256::ZERO, storage_root: EMPTY_ROOT_HASH, code_hash: KECCAK256_EMPTY };

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::model::diff::encode_account;
    use crate::model::proof::check_proof;
    use serde_json::json;

    fn small_state(accounts: u8) -> Commitment {
        let mut state = Commitment::default();
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
            let mut state = small_state(accounts);
            let root = state.root();
            for asked in 0..accounts + 3 {
                let address = Address::repeat_byte(asked);
                let slots: Vec<B256> = (0..asked + 2).map(B256::repeat_byte).collect();
                let proof = state.prove(address, &slots);
                let TrieAccount { nonce, balance, storage_root, code_hash } = proof.account.unwrap_or(NO_ACCOUNT);
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
}

//! Proofs of accounts and slots, from the trie of a complete state.

use alloy_primitives::{B256, Bytes, U256};
use alloy_trie::TrieAccount;

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

impl AccountProof {
    /// The account; where there is none all of it is zero, as geth says it.
    pub fn account(&self) -> TrieAccount {
        self.account.unwrap_or(TrieAccount {
            nonce: 0,
            balance: U256::ZERO,
            storage_root: B256::ZERO,
            code_hash: B256::ZERO,
        })
    }
}

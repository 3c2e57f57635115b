//! The trie of one state.

use super::node::{Leaf, Trie};
use super::proof::{AccountProof, SlotProof};
use crate::base::error::Error;
use crate::model::diff::{Account, Diff, decode_account, decode_slot};
use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_rlp::encode;
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use revm::database::BundleState;
use revm::state::EvmState;

/// Every account and slot of one state; a copy of it shares what they have in common.
#[derive(Debug, Clone, Default)]
pub struct StateTrie {
    accounts: Trie<AccountLeaf>,
    keys: usize,
}

#[derive(Debug, Clone)]
struct AccountLeaf {
    account: Account,
    slots: Trie<SlotLeaf>,
    /// Of its slots.
    keys: usize,
}

#[derive(Debug, Clone)]
struct SlotLeaf(U256);

impl Leaf for SlotLeaf {
    fn encode(&self) -> Vec<u8> {
        encode(self.0)
    }
}

impl Leaf for AccountLeaf {
    fn encode(&self) -> Vec<u8> {
        encode(self.committed())
    }
}

impl AccountLeaf {
    fn committed(&self) -> TrieAccount {
        let Account { nonce, balance, code_hash } = self.account;
        TrieAccount { nonce, balance, storage_root: self.slots.root(), code_hash }
    }

    fn prove(&self, slot: &B256) -> SlotProof {
        let key = keccak256(slot);
        let value = self.slots.get(&key).map_or(U256::ZERO, |leaf| leaf.0);
        SlotProof { value, nodes: self.slots.prove(&key) }
    }

    fn set(&mut self, slot: &B256, value: U256) {
        let key = keccak256(slot);
        if !value.is_zero() {
            self.keys += usize::from(self.slots.insert(&key, SlotLeaf(value)));
        } else if self.slots.remove(&key) {
            self.keys -= 1;
        }
    }

    fn clear(&mut self) {
        (self.slots, self.keys) = (Trie::default(), 0);
    }
}

impl StateTrie {
    /// Adds a stored account, for a state that exists already; its slots come after it.
    pub fn load_account(&mut self, address: Address, stored: &[u8]) -> Result<(), Error> {
        if let Some(account) = decode_account(stored)? {
            self.change(address, Some(account), |_| {});
        }
        Ok(())
    }

    /// Adds a stored slot, likewise.
    pub fn load_slot(&mut self, address: Address, slot: B256, stored: &[u8]) -> Result<(), Error> {
        let value = decode_slot(stored)?;
        self.change(address, None, |leaf| leaf.set(&slot, value));
        Ok(())
    }

    /// Accounts and slots that it holds.
    pub const fn keys(&self) -> usize {
        self.keys
    }

    pub fn root(&self) -> B256 {
        self.accounts.root()
    }

    /// The storage root of one account.
    pub fn storage_root(&self, address: Address) -> B256 {
        self.accounts.get(&keccak256(address)).map_or(EMPTY_ROOT_HASH, |leaf| leaf.slots.root())
    }

    /// Proves an account and some of its slots, or that they are not there.
    pub fn prove(&self, address: Address, slots: &[B256]) -> AccountProof {
        let key = keccak256(address);
        let leaf = self.accounts.get(&key);
        let absent = || SlotProof { value: U256::ZERO, nodes: Vec::new() };
        AccountProof {
            account: leaf.map(AccountLeaf::committed),
            nodes: self.accounts.prove(&key),
            slots: slots.iter().map(|slot| leaf.map_or_else(absent, |leaf| leaf.prove(slot))).collect(),
        }
    }

    /// Applies what a block changed.
    pub fn apply(&mut self, diff: &Diff) {
        for address in &diff.wiped {
            self.change(*address, None, AccountLeaf::clear);
        }
        for (address, account) in &diff.accounts {
            match account {
                Some(account) => self.change(*address, Some(*account), |_| {}),
                None => self.remove(*address),
            }
        }
        for (address, slot, value) in &diff.slots {
            self.change(*address, None, |leaf| leaf.set(slot, *value));
        }
    }

    /// Applies what one transaction changed, as revm's journal reports it: for the roots in old receipts.
    pub(crate) fn apply_transaction(&mut self, state: &EvmState) {
        for (address, changed) in state {
            if !changed.is_touched() {
                continue;
            }
            if changed.is_selfdestructed() || (changed.is_empty() && !changed.is_created()) {
                self.remove(*address);
                continue;
            }
            self.change(*address, Some((&changed.info).into()), |leaf| {
                if changed.is_created() {
                    leaf.clear();
                }
                for (slot, value) in &changed.storage {
                    leaf.set(&B256::from(*slot), value.present_value);
                }
            });
        }
    }

    /// Applies what revm says that was changed.
    pub(crate) fn apply_bundle(&mut self, bundle: &BundleState) {
        for (address, changed) in &bundle.state {
            let Some(info) = &changed.info else {
                self.remove(*address);
                continue;
            };
            self.change(*address, Some(info.into()), |leaf| {
                if changed.was_destroyed() {
                    leaf.clear();
                }
                for (slot, value) in &changed.storage {
                    leaf.set(&B256::from(*slot), value.present_value);
                }
            });
        }
    }

    /// Changes an account; one that does not exist is made if it is given, and left alone if not.
    fn change(&mut self, address: Address, account: Option<Account>, change: impl FnOnce(&mut AccountLeaf)) {
        let key = keccak256(address);
        let known = self.accounts.get(&key).cloned();
        let before = known.as_ref().map_or(0, |leaf| 1 + leaf.keys);
        let fresh = || account.map(|account| AccountLeaf { account, slots: Trie::default(), keys: 0 });
        let Some(mut leaf) = known.or_else(fresh) else {
            return;
        };
        leaf.account = account.unwrap_or(leaf.account);
        change(&mut leaf);
        self.keys = self.keys - before + 1 + leaf.keys;
        self.accounts.insert(&key, leaf);
    }

    fn remove(&mut self, address: Address) {
        let key = keccak256(address);
        if let Some(leaf) = self.accounts.get(&key) {
            self.keys -= 1 + leaf.keys;
            self.accounts.remove(&key);
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;

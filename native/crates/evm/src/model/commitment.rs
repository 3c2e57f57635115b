//! The state root of a complete, small state: every account and slot in memory, hashed in key order.
//!
//! alloy-trie builds a root from sorted leaves and keeps no trie, so a storage root is computed again when its
//! account's storage changed and kept otherwise. That is right for chains imported from genesis in development and
//! tests; a chain with millions of slots is followed from an anchor, where roots are proven per key.

use crate::base::error::Error;
use crate::model::diff::{Account, Diff, decode_account, decode_slot};
use alloy_primitives::map::B256Map;
use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount, root};
use revm::state::EvmState;
use std::collections::BTreeMap;

/// All accounts and slots of one state, by hashed key.
#[derive(Debug, Default)]
pub struct Commitment {
    pub(in crate::model) accounts: BTreeMap<B256, Account>,
    pub(in crate::model) storages: B256Map<Storage>,
}

#[derive(Debug)]
pub(in crate::model) struct Storage {
    pub(in crate::model) slots: BTreeMap<B256, U256>,
    root: Option<B256>,
}

impl Default for Storage {
    fn default() -> Self {
        Self { slots: BTreeMap::new(), root: Some(EMPTY_ROOT_HASH) }
    }
}

impl Commitment {
    /// Adds a stored account, for loading a state that exists already.
    pub fn load_account(&mut self, address: Address, stored: &[u8]) -> Result<(), Error> {
        self.set_account(keccak256(address), decode_account(stored)?);
        Ok(())
    }

    /// Adds a stored slot, likewise.
    pub fn load_slot(&mut self, address: Address, slot: B256, stored: &[u8]) -> Result<(), Error> {
        self.set_slot(keccak256(address), slot, decode_slot(stored)?);
        Ok(())
    }

    /// Applies what a block changed.
    pub fn apply(&mut self, diff: &Diff) {
        for address in &diff.wiped {
            self.storages.remove(&keccak256(address));
        }
        for (address, account) in &diff.accounts {
            self.set_account(keccak256(address), *account);
        }
        for (address, slot, value) in &diff.slots {
            self.set_slot(keccak256(address), *slot, *value);
        }
    }

    /// Applies what one transaction changed, as revm's journal reports it: for the roots in old receipts.
    pub(crate) fn apply_transaction(&mut self, state: &EvmState) {
        for (address, account) in state {
            if !account.is_touched() {
                continue;
            }
            let hashed = keccak256(address);
            if account.is_selfdestructed() || (account.is_empty() && !account.is_created()) {
                self.set_account(hashed, None);
                self.storages.remove(&hashed);
                continue;
            }
            if account.is_created() {
                self.storages.remove(&hashed);
            }
            self.set_account(hashed, Some(Account::from(&account.info)));
            for (slot, value) in &account.storage {
                self.set_slot(hashed, B256::from(*slot), value.present_value);
            }
        }
    }

    fn set_account(&mut self, hashed: B256, account: Option<Account>) {
        match account {
            Some(account) => self.accounts.insert(hashed, account),
            None => self.accounts.remove(&hashed),
        };
    }

    fn set_slot(&mut self, hashed: B256, slot: B256, value: U256) {
        let storage = self.storages.entry(hashed).or_default();
        let key = keccak256(slot);
        let before = if value.is_zero() { storage.slots.remove(&key) } else { storage.slots.insert(key, value) };
        if before.unwrap_or_default() != value {
            storage.root = None;
        }
    }

    /// The storage root of one account.
    pub fn storage_root(&mut self, address: Address) -> B256 {
        self.storages.get_mut(&keccak256(address)).map_or(EMPTY_ROOT_HASH, Storage::root)
    }

    /// The state root.
    pub fn root(&mut self) -> B256 {
        let storages = &mut self.storages;
        root::state_root(self.accounts.iter().map(|(hashed, account)| {
            let storage_root = storages.get_mut(hashed).map_or(EMPTY_ROOT_HASH, Storage::root);
            let leaf = TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root,
                code_hash: account.code_hash,
            };
            (*hashed, leaf)
        }))
    }
}

impl Storage {
    pub(in crate::model) fn root(&mut self) -> B256 {
        let slots = &self.slots;
        *self.root.get_or_insert_with(|| root::storage_root(slots.iter().map(|(key, value)| (*key, *value))))
    }
}

//! What pre-confirmed blocks changed, merged for readers.

use crate::db::bytecode;
use crate::diff::{Account, Diff};
use alloy_consensus::Header;
use alloy_primitives::map::{AddressMap, AddressSet, B256Map, HashMap};
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use std::sync::Arc;

/// The changes of all pre-confirmed blocks as one map each: what is here is newer than hot state at the head they
/// stand on. Never changed once readers can see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overlay {
    accounts: AddressMap<Option<Account>>,
    slots: HashMap<(Address, B256), U256>,
    codes: B256Map<Bytecode>,
    /// Accounts whose slots are zero if they are not in `slots`.
    wiped: AddressSet,
    /// Of the pre-confirmed blocks below the newest, few.
    hashes: Vec<(u64, B256)>,
}

impl Overlay {
    pub(crate) fn account(&self, address: &Address) -> Option<Option<Account>> {
        self.accounts.get(address).copied()
    }

    pub(crate) fn slot(&self, address: Address, slot: B256) -> Option<U256> {
        let found = self.slots.get(&(address, slot)).copied();
        found.or_else(|| (!self.wiped.is_empty() && self.wiped.contains(&address)).then_some(U256::ZERO))
    }

    pub(crate) fn code(&self, hash: &B256) -> Option<Bytecode> {
        self.codes.get(hash).cloned()
    }

    pub(crate) fn hash(&self, number: u64) -> Option<B256> {
        self.hashes.iter().find(|(at, _)| *at == number).map(|(_, hash)| *hash)
    }

    /// Accounts and slots held.
    pub(crate) fn entries(&self) -> (usize, usize) {
        (self.accounts.len(), self.slots.len())
    }

    /// Keeps the hash of a pre-confirmed block that another one stands on.
    pub(crate) fn add_hash(&mut self, number: u64, hash: B256) {
        self.hashes.push((number, hash));
    }

    /// Adds what came after everything that is here.
    pub(crate) fn apply(&mut self, diff: &Diff) {
        for address in &diff.wiped {
            self.slots.retain(|(owner, _), _| owner != address);
            self.wiped.insert(*address);
        }
        self.accounts.extend(diff.accounts.iter().copied());
        self.slots.extend(diff.slots.iter().map(|(address, slot, value)| ((*address, *slot), *value)));
        self.codes.extend(diff.codes.iter().map(|(hash, code)| (*hash, bytecode(code.clone()))));
    }
}

/// A pre-confirmed state as readers see it: a block of hot state and what comes on top of it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) base_number: u64,
    pub(crate) base_hash: B256,
    pub(crate) overlay: Arc<Overlay>,
    /// The newest block so far.
    pub(crate) header: Header,
    /// Its hash so far, as its builder says.
    pub(crate) hash: B256,
    /// Its last flashblock.
    pub(crate) index: u64,
}

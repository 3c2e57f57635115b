//! What pre-confirmed blocks changed: merged for readers, and per block for promotion.

use crate::db::bytecode;
use crate::diff::{Account, Diff};
use alloy_consensus::Header;
use alloy_primitives::map::{AddressMap, AddressSet, B256Map, HashMap};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use revm::database::BundleState;
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

/// A value at the start of a block and now.
#[derive(Debug, Clone, Copy)]
struct Change<T> {
    before: T,
    now: T,
}

/// What the pieces of one block changed so far. Values before the block are kept too: what was changed back is not a
/// change of the block.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    accounts: AddressMap<Change<Option<Account>>>,
    slots: HashMap<(Address, B256), Change<U256>>,
    wiped: AddressSet,
    codes: B256Map<Bytes>,
}

impl Changes {
    /// Adds what the next piece changed: revm's bundle, and the diff made of it.
    pub(crate) fn add(&mut self, bundle: &BundleState, diff: &Diff) {
        for address in &diff.wiped {
            self.wiped.insert(*address);
            for (_, change) in self.slots.iter_mut().filter(|((owner, _), _)| owner == address) {
                change.now = U256::ZERO;
            }
        }
        for (address, now) in &diff.accounts {
            let before = || bundle.state.get(address)?.original_info.as_ref().map(Account::from);
            self.accounts.entry(*address).or_insert_with(|| Change { before: before(), now: None }).now = *now;
        }
        for (address, slot, now) in &diff.slots {
            let before = || {
                let slots = &bundle.state.get(address)?.storage;
                slots.get(&U256::from_be_bytes(slot.0)).map(|slot| slot.previous_or_original_value)
            };
            self.slots
                .entry((*address, *slot))
                .or_insert_with(|| Change { before: before().unwrap_or_default(), now: U256::ZERO })
                .now = *now;
        }
        self.codes.extend(diff.codes.iter().cloned());
    }

    /// What executing the whole block at once changes.
    pub(crate) fn diff(&self) -> Diff {
        let code_of = |account: Option<Account>| account.map_or(KECCAK256_EMPTY, |account| account.code_hash);
        let mut diff = Diff::default();
        let mut codes = B256Map::default();
        for (address, change) in self.accounts.iter().filter(|(_, change)| change.before != change.now) {
            diff.accounts.push((*address, change.now));
            let hash = code_of(change.now);
            if hash != code_of(change.before)
                && let Some(code) = self.codes.get(&hash)
            {
                codes.insert(hash, code.clone());
            }
        }
        // Storage that vanished is worth a mark only if it was there before the block.
        let was_there = |address: &&Address| {
            self.accounts.get(*address).is_none_or(|change| code_of(change.before) != KECCAK256_EMPTY)
        };
        diff.wiped = self.wiped.iter().filter(was_there).copied().collect();
        for ((address, slot), change) in &self.slots {
            let changed =
                if self.wiped.contains(address) { !change.now.is_zero() } else { change.now != change.before };
            if changed {
                diff.slots.push((*address, *slot, change.now));
            }
        }
        diff.codes = codes.into_iter().collect();
        diff.sort();
        diff
    }
}

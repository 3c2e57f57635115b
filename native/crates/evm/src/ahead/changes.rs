//! What pieces of a block changed, and from what: enough to tell what the block changed as a whole.

use crate::model::diff::{Account, Diff};
use alloy_primitives::map::{AddressMap, AddressSet, B256Map, HashMap};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::database::BundleState;

/// A value at the start of a block or piece, and after it.
#[derive(Debug, Clone, Copy)]
struct Change<T> {
    before: T,
    now: T,
}

/// What one piece changed, with the values before it.
#[derive(Debug)]
pub(crate) struct PieceChanges {
    pub(crate) diff: Diff,
    /// In the order of `diff`.
    accounts_before: Vec<Option<Account>>,
    slots_before: Vec<U256>,
}

impl PieceChanges {
    /// From revm's bundle of the piece, and the diff made of it.
    pub(crate) fn new(bundle: &BundleState, diff: Diff) -> Self {
        let account = |address: &Address| bundle.state.get(address)?.original_info.as_ref().map(Account::from);
        let slot = |address: &Address, slot: &B256| {
            let slots = &bundle.state.get(address)?.storage;
            slots.get(&U256::from_be_bytes(slot.0)).map(|slot| slot.previous_or_original_value)
        };
        Self {
            accounts_before: diff.accounts.iter().map(|(address, _)| account(address)).collect(),
            slots_before: diff.slots.iter().map(|(at, key, _)| slot(at, key).unwrap_or_default()).collect(),
            diff,
        }
    }
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
    /// Adds what the next piece changed.
    pub(crate) fn add(&mut self, piece: &PieceChanges) {
        let diff = &piece.diff;
        for address in &diff.wiped {
            self.wiped.insert(*address);
            for (_, change) in self.slots.iter_mut().filter(|((owner, _), _)| owner == address) {
                change.now = U256::ZERO;
            }
        }
        for ((address, now), before) in diff.accounts.iter().zip(&piece.accounts_before) {
            self.accounts.entry(*address).or_insert(Change { before: *before, now: None }).now = *now;
        }
        for ((address, slot, now), before) in diff.slots.iter().zip(&piece.slots_before) {
            let change = Change { before: *before, now: U256::ZERO };
            self.slots.entry((*address, *slot)).or_insert(change).now = *now;
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

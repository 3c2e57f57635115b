//! What pre-confirmed blocks changed, in pieces that states share.

use crate::model::code::bytecode;
use crate::model::diff::{Account, Diff};
use alloy_consensus::Header;
use alloy_primitives::map::{AddressMap, AddressSet, B256Map, HashMap};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use std::sync::Arc;

/// A part takes the one before it in unless that is more than so many times larger: few parts to look through, and an entry
/// is copied a few times in its life, not once a flashblock.
const GROWTH: usize = 4;

/// Changes that follow each other, merged. Never changed once another state can see it.
#[derive(Debug, Clone, Default)]
struct Part {
    accounts: AddressMap<Option<Account>>,
    slots: HashMap<(Address, B256), U256>,
    codes: B256Map<Bytecode>,
    /// Accounts whose slots are zero if they are not in `slots`, whatever older parts say.
    wiped: AddressSet,
}

impl Part {
    fn of(diff: &Diff) -> Self {
        let mut part = Self::default();
        part.wiped.extend(diff.wiped.iter().copied());
        part.accounts.extend(diff.accounts.iter().copied());
        part.slots.extend(diff.slots.iter().map(|(address, slot, value)| ((*address, *slot), *value)));
        part.codes.extend(diff.codes.iter().map(|(hash, code)| (*hash, bytecode(code.clone()))));
        part
    }

    /// With what came after it.
    fn merged(&self, newer: &Self) -> Self {
        let mut part = self.clone();
        if !newer.wiped.is_empty() {
            part.slots.retain(|(owner, _), _| !newer.wiped.contains(owner));
        }
        part.wiped.extend(newer.wiped.iter().copied());
        part.accounts.extend(newer.accounts.iter().map(|(address, account)| (*address, *account)));
        part.slots.extend(newer.slots.iter().map(|(key, value)| (*key, *value)));
        part.codes.extend(newer.codes.iter().map(|(hash, code)| (*hash, code.clone())));
        part
    }

    fn size(&self) -> usize {
        self.accounts.len() + self.slots.len() + self.codes.len() + self.wiped.len()
    }
}

/// What the flashblocks of one block changed so far: parts, each much larger than the one after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts(Vec<Arc<Part>>);

impl Parts {
    /// Adds what came after everything that is here. States that were made before keep what they have.
    pub(crate) fn add(&mut self, diff: &Diff) {
        let mut newest = Part::of(diff);
        while let Some(before) = self.0.pop_if(|before| before.size() <= GROWTH * newest.size()) {
            newest = before.merged(&newest);
        }
        if newest.size() > 0 {
            self.0.push(Arc::new(newest));
        }
    }
}

/// What was there before a block; nothing where that is not known.
pub(crate) struct Before<A, S> {
    pub(crate) account: A,
    pub(crate) slot: S,
}

impl Parts {
    /// Whether a block that has these changes changed what `diff` says as a whole: what it changed back is not in there. False
    /// where nobody knows what was there before.
    pub(crate) fn amount_to(
        &self,
        diff: &Diff,
        before: &Before<impl Fn(Address) -> Option<Option<Account>>, impl Fn(Address, B256) -> Option<U256>>,
    ) -> bool {
        let ours = self.0.iter().fold(Part::default(), |all, part| all.merged(part));
        let theirs = Part::of(diff);
        let had_no_code = |address: Address| {
            let before = (before.account)(address);
            before.is_some_and(|account| account.is_none_or(|account| account.code_hash == KECCAK256_EMPTY))
        };
        let is_same = |address: &Address, account: &Option<Account>| match theirs.accounts.get(address) {
            Some(other) => other == account,
            None => (before.account)(*address) == Some(*account),
        };
        let is_same_slot = |key: &(Address, B256), value: &U256| match theirs.slots.get(key) {
            Some(other) => other == value,
            None if ours.wiped.contains(&key.0) => value.is_zero(),
            None => (before.slot)(key.0, key.1) == Some(*value),
        };
        theirs.accounts.keys().all(|address| ours.accounts.contains_key(address))
            && theirs.slots.keys().all(|key| ours.slots.contains_key(key))
            && theirs.wiped.is_subset(&ours.wiped)
            && ours.accounts.iter().all(|(address, account)| is_same(address, account))
            && ours.slots.iter().all(|(key, value)| is_same_slot(key, value))
            && ours.wiped.iter().all(|address| theirs.wiped.contains(address) || had_no_code(*address))
    }
}

/// The changes of pre-confirmed blocks: what is here is newer than hot state at the head they stand on. A copy of it shares
/// the parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overlay {
    /// Oldest first.
    parts: Vec<Arc<Part>>,
    /// Of the pre-confirmed blocks below the newest, few.
    hashes: Vec<(u64, B256)>,
    /// How many parts there are below each block.
    starts: Vec<usize>,
}

impl Overlay {
    /// Of blocks that stand on each other, lowest first: what each changed, its number and its hash.
    pub(crate) fn of<'a>(blocks: impl Iterator<Item = (&'a Parts, u64, B256)>) -> Self {
        let mut overlay = Self::default();
        for (Parts(parts), number, hash) in blocks {
            overlay.starts.push(overlay.parts.len());
            overlay.parts.extend_from_slice(parts);
            overlay.hashes.push((number, hash));
        }
        overlay.hashes.pop();
        overlay
    }

    /// Without the newest block.
    fn below(&self) -> Self {
        let mut below = self.clone();
        below.parts.truncate(below.starts.pop().unwrap_or(0));
        below.hashes.pop();
        below
    }

    pub(crate) fn account(&self, address: &Address) -> Option<Option<Account>> {
        self.parts.iter().rev().find_map(|part| part.accounts.get(address).copied())
    }

    pub(crate) fn slot(&self, address: Address, slot: B256) -> Option<U256> {
        let key = (address, slot);
        self.parts.iter().rev().find_map(|part| {
            let found = part.slots.get(&key).copied();
            found.or_else(|| (!part.wiped.is_empty() && part.wiped.contains(&address)).then_some(U256::ZERO))
        })
    }

    pub(crate) fn code(&self, hash: &B256) -> Option<Bytecode> {
        self.parts.iter().rev().find_map(|part| part.codes.get(hash).cloned())
    }

    pub(crate) fn hash(&self, number: u64) -> Option<B256> {
        self.hashes.iter().find(|(at, _)| *at == number).map(|(_, hash)| *hash)
    }

    /// Accounts and slots that are changed, each once.
    pub(crate) fn entries(&self) -> (usize, usize) {
        let (mut accounts, mut slots) = (0, 0);
        for (index, part) in self.parts.iter().enumerate() {
            let newer = &self.parts[index + 1..];
            let is_newest = |address: &&Address| !newer.iter().any(|part| part.accounts.contains_key(*address));
            accounts += part.accounts.keys().filter(is_newest).count();
            let is_hidden = |part: &Arc<Part>, key: &(Address, B256)| {
                part.slots.contains_key(key) || part.wiped.contains(&key.0)
            };
            slots += part.slots.keys().filter(|key| !newer.iter().any(|part| is_hidden(part, key))).count();
        }
        (accounts, slots)
    }
}

/// A pre-confirmed state as readers see it: a block of hot state and what comes on top of it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) base_number: u64,
    pub(crate) base_hash: B256,
    pub(crate) overlay: Overlay,
    /// The newest block so far.
    pub(crate) header: Header,
    /// Its hash so far, as its builder says; zero where that is not known.
    pub(crate) hash: B256,
    /// Its last flashblock.
    pub(crate) index: u64,
}

impl Snapshot {
    /// The state below the newest block; nothing where that is the block of hot state. Of the block below, the hash is known and that
    /// of its parent.
    pub(crate) fn below(&self) -> Option<Self> {
        let number = self.header.number.checked_sub(1).filter(|number| *number > self.base_number)?;
        let parent = number - 1;
        let parent_hash =
            if parent == self.base_number { Some(self.base_hash) } else { self.overlay.hash(parent) };
        Some(Self {
            base_number: self.base_number,
            base_hash: self.base_hash,
            overlay: self.overlay.below(),
            header: Header { number, parent_hash: parent_hash?, ..Header::default() },
            hash: self.header.parent_hash,
            index: self.index,
        })
    }
}

#[cfg(test)]
#[path = "overlay_tests.rs"]
mod tests;

//! Confirmed state of recent blocks, shared by all threads: versions per key in sharded maps.
//!
//! The window is the last blocks that can be read and taken back. A key holds its value at the window's start
//! (`base`, when known) and the values written since. A key that is not here was not written within the window, so
//! one read as of the window's start pins it for every block of the window.
//!
//! Readers take no lock across reads. The writer announces a moved window or a revert (`start`, `generation`)
//! *before* it changes any value, and a reader checks both *after* its last read: see `View::check`.

mod clock;
mod codes;
mod shards;

use crate::base::error::Error;
use crate::base::locks::{read, write};
use crate::model::code::bytecode;
use crate::model::diff::{Account, Diff};
use crate::model::key::Missing;
use alloy_consensus::Header;
use alloy_primitives::map::AddressMap;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use codes::Codes;
use revm::bytecode::Bytecode;
use shards::{SHARDS, Shards};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard};

const MAX_WIPES: usize = if cfg!(test) { 4 } else { 65_536 };
/// How far back BLOCKHASH reaches.
const MAX_HASHES: usize = 256;

/// How much hot state may hold.
#[derive(Debug, Clone, Copy)]
pub struct HotLimits {
    /// Blocks that can be read and taken back.
    pub window: usize,
    /// Accounts and slots kept, each; those written within the window are kept beyond it.
    pub entries: usize,
    /// Bytes of code kept.
    pub code_bytes: usize,
}

/// A block of the window.
#[derive(Debug)]
pub(crate) struct HotBlock {
    pub(crate) hash: B256,
    pub(crate) header: Header,
    pub(crate) diff: Diff,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct HotState {
    limits: HotLimits,
    accounts: Shards<Address, Option<Account>>,
    slots: Shards<(Address, B256), U256>,
    codes: RwLock<Codes>,
    wipes: RwLock<AddressMap<Vec<u64>>>,
    any_wipes: AtomicBool,
    window: RwLock<VecDeque<Arc<HotBlock>>>,
    /// Hashes of blocks below the window that code can still ask for.
    hashes: RwLock<BTreeMap<u64, B256>>,
    start: AtomicU64,
    generation: AtomicU64,
}

impl HotState {
    pub(crate) fn new(limits: HotLimits) -> Self {
        let per_shard = (limits.entries / SHARDS).max(1);
        Self {
            limits,
            accounts: Shards::new(per_shard),
            slots: Shards::new(per_shard),
            codes: RwLock::default(),
            wipes: RwLock::default(),
            any_wipes: AtomicBool::new(false),
            window: RwLock::default(),
            hashes: RwLock::default(),
            start: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }

    /// First block of the window; what is loaded from outside is loaded as of it.
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Acquire)
    }

    /// Grows with every revert.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn head(&self) -> Option<Arc<HotBlock>> {
        read(&self.window).back().cloned()
    }

    /// The block of the window with this number.
    pub(crate) fn block(&self, number: u64) -> Option<Arc<HotBlock>> {
        let window = read(&self.window);
        let first = window.front()?.header.number;
        window.get(usize::try_from(number.checked_sub(first)?).ok()?).cloned()
    }

    pub(crate) fn account(&self, address: Address, at: u64) -> Option<Option<Account>> {
        self.accounts.get(&address, at).map(|(_, value)| value)
    }

    pub(crate) fn slot(&self, address: Address, slot: B256, at: u64) -> Option<U256> {
        let key = (address, slot);
        // Before the value: old values are dropped first and the wipes that outweigh them after.
        let wiped = self.wiped(address, at);
        let found = self.slots.get(&key, at);
        match (found, wiped) {
            (Some((written, _)), Some(wiped)) if written < wiped => Some(U256::ZERO),
            // Within the window nothing written after the wipe can have been evicted; before it, it can.
            (None, Some(wiped)) if wiped > self.start() => Some(U256::ZERO),
            (found, _) => found.map(|(_, value)| value),
        }
    }

    /// The last block up to `at` that wiped an account's storage.
    fn wiped(&self, address: Address, at: u64) -> Option<u64> {
        if !self.any_wipes.load(Ordering::Acquire) {
            return None;
        }
        read(&self.wipes).get(&address)?.iter().rev().find(|block| **block <= at).copied()
    }

    /// The hash of a block of the window, or of one below it that is known.
    pub(crate) fn hash(&self, number: u64) -> Option<B256> {
        self.block(number).map(|block| block.hash).or_else(|| read(&self.hashes).get(&number).copied())
    }

    pub(crate) fn code(&self, hash: &B256) -> Option<Bytecode> {
        if *hash == KECCAK256_EMPTY {
            return Some(Bytecode::default());
        }
        read(&self.codes).get(hash)
    }

    /// Keeps the window as it is until the result is dropped, if it still is what a `Missing` was of. What is loaded
    /// is put under it: a block in between could have changed the value and been evicted again.
    pub(crate) fn hold(&self, missing: &Missing) -> Option<RwLockReadGuard<'_, VecDeque<Arc<HotBlock>>>> {
        let window = read(&self.window);
        (self.start() == missing.as_of && self.generation() == missing.generation).then_some(window)
    }

    /// Keeps the hash of a block below the window.
    pub(crate) fn put_hash(&self, number: u64, hash: B256) {
        let mut hashes = write(&self.hashes);
        hashes.insert(number, hash);
        while hashes.len() > MAX_HASHES {
            hashes.pop_first();
        }
    }

    /// Keeps a value as of the window's start, unless one is known already.
    pub(crate) fn put_account(&self, address: Address, account: Option<Account>) {
        self.accounts.put_base(address, self.start(), account);
    }

    pub(crate) fn put_slot(&self, address: Address, slot: B256, value: U256) {
        let key = (address, slot);
        self.slots.put_base(key, self.start(), value);
    }

    pub(crate) fn put_code(&self, hash: B256, code: Bytecode) {
        write(&self.codes).put(hash, code, 0, self.start(), self.limits.code_bytes);
    }

    /// Forgets everything and begins a window at this block, whose state is loaded as it is asked for.
    pub(crate) fn open(&self, hash: B256, header: Header) {
        let mut window = write(&self.window);
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.start.store(header.number, Ordering::Release);
        self.accounts.clear();
        self.slots.clear();
        *write(&self.codes) = Codes::default();
        write(&self.wipes).clear();
        self.any_wipes.store(false, Ordering::Release);
        write(&self.hashes).clear();
        window.clear();
        window.push_back(Arc::new(HotBlock { hash, header, diff: Diff::default() }));
    }

    /// Makes a block the head.
    pub(crate) fn apply(&self, hash: B256, header: Header, diff: Diff) -> Result<(), Error> {
        let mut window = write(&self.window);
        let head = window.back().ok_or_else(|| Error::InvalidBlock("hot state has no first block yet".into()))?;
        if header.parent_hash != head.hash || header.number != head.header.number + 1 {
            return Err(Error::InvalidBlock(format!(
                "block {} {hash} does not follow the head {} {}",
                header.number, head.header.number, head.hash
            )));
        }
        let number = header.number;
        if !diff.wiped.is_empty() {
            let mut wipes = write(&self.wipes);
            for address in &diff.wiped {
                wipes.entry(*address).or_default().push(number);
            }
            self.any_wipes.store(true, Ordering::Release);
        }
        for (address, account) in &diff.accounts {
            self.accounts.push(*address, number, *account);
        }
        for (address, slot, value) in &diff.slots {
            let key = (*address, *slot);
            self.slots.push(key, number, *value);
        }
        if !diff.codes.is_empty() {
            let mut codes = write(&self.codes);
            for (hash, code) in &diff.codes {
                codes.put(*hash, bytecode(code.clone()), number, self.start(), self.limits.code_bytes);
            }
        }
        window.push_back(Arc::new(HotBlock { hash, header, diff }));
        while window.len() > self.limits.window.max(1) {
            self.fold_oldest(&mut window);
        }
        self.forget_old_wipes();
        Ok(())
    }

    /// Moves the window's start one block up: what the block wrote becomes the value at the start.
    fn fold_oldest(&self, window: &mut VecDeque<Arc<HotBlock>>) {
        let Some(left) = window.pop_front() else { return };
        let Some(first) = window.front() else { return };
        let start = first.header.number;
        self.start.store(start, Ordering::Release);
        self.put_hash(left.header.number, left.hash);
        for (address, _) in &first.diff.accounts {
            self.accounts.fold(address, start);
        }
        for (address, slot, _) in &first.diff.slots {
            let key = (*address, *slot);
            self.slots.fold(&key, start);
        }
        let mut wipes = write(&self.wipes);
        for address in &first.diff.wiped {
            if let Some(blocks) = wipes.get_mut(address) {
                blocks.retain(|block| *block >= start);
            }
        }
    }

    /// Takes off every block above `number`.
    pub(crate) fn revert_to(&self, number: u64) -> Result<(), Error> {
        let mut window = write(&self.window);
        let first = window.front().map(|block| block.header.number);
        if first.is_none_or(|first| number < first) {
            return Err(Error::Unavailable(format!(
                "cannot go back to block {number}: the oldest block held is {}",
                first.map_or_else(|| "none".into(), |first| first.to_string())
            )));
        }
        self.generation.fetch_add(1, Ordering::AcqRel);
        while window.back().is_some_and(|block| block.header.number > number) {
            let Some(block) = window.pop_back() else {
                break;
            };
            let taken = block.header.number;
            for (address, _) in &block.diff.accounts {
                self.accounts.cut(address, taken);
            }
            for (address, slot, _) in &block.diff.slots {
                let key = (*address, *slot);
                self.slots.cut(&key, taken);
            }
            let mut wipes = write(&self.wipes);
            for address in &block.diff.wiped {
                if let Some(blocks) = wipes.get_mut(address) {
                    blocks.retain(|block| *block < taken);
                    if blocks.is_empty() {
                        wipes.remove(address);
                    }
                }
            }
        }
        Ok(())
    }

    /// Old wipes are kept to outweigh older values; past a bound both go, as they can be loaded again.
    fn forget_old_wipes(&self) {
        let mut wipes = write(&self.wipes);
        if wipes.len() <= MAX_WIPES {
            return;
        }
        let start = self.start();
        self.slots.drop_bases();
        wipes.retain(|_, blocks| {
            blocks.retain(|block| *block > start);
            !blocks.is_empty()
        });
    }

    /// Bytes of code held, for metrics.
    pub(crate) fn code_bytes(&self) -> usize {
        read(&self.codes).bytes()
    }

    /// Accounts and slots held, for metrics.
    pub(crate) fn entries(&self) -> (usize, usize) {
        (self.accounts.len(), self.slots.len())
    }
}

/// A panic elsewhere cannot leave these maps half changed in a way that matters more than going on.
#[cfg(test)]
#[path = "hot_tests.rs"]
mod tests;

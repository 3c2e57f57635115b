//! State of blocks below the window, as far as it was loaded: one cache for all threads, within one budget of bytes. The
//! block that was used longest ago goes first, and one that a call is loading for stays: else two calls could push out
//! each other's values for ever.

use crate::base::error::Error;
use crate::base::locks::{lock, write};
use crate::state::loaded::Loaded;
use alloy_primitives::B256;
use alloy_primitives::map::B256Map;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// What one value takes, its key and the free room of its map included: a map that has just grown is half empty.
const ACCOUNT_BYTES: usize = 256;
const SLOT_BYTES: usize = 256;
const HASH_BYTES: usize = 128;
/// What a block takes of which nothing is loaded.
const BLOCK_BYTES: usize = 1_024;

/// What was loaded of one old block.
#[derive(Debug)]
pub(crate) struct OldBlock {
    hash: B256,
    pub(crate) values: RwLock<Loaded>,
    /// It had to give way: whoever reads on has to open the block again.
    evicted: AtomicBool,
}

impl OldBlock {
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct History {
    budget: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    blocks: B256Map<Entry>,
    /// Hashes of blocks by when they were last used.
    by_use: BTreeMap<u64, B256>,
    /// Grows with each use.
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    block: Arc<OldBlock>,
    used: u64,
    bytes: usize,
    /// Calls that load for it.
    holds: usize,
}

impl History {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    /// The values of a block, shared with whoever else reads it.
    pub(crate) fn open(&self, hash: B256) -> Arc<OldBlock> {
        let mut kept = self.kept();
        if let Some(block) = kept.touch(hash) {
            return block;
        }
        let block = Arc::new(OldBlock { hash, values: RwLock::default(), evicted: AtomicBool::new(false) });
        let (used, shared) = (kept.next_use(), Arc::clone(&block));
        kept.by_use.insert(used, hash);
        kept.blocks.insert(hash, Entry { block: shared, used, bytes: BLOCK_BYTES, holds: 0 });
        kept.bytes += BLOCK_BYTES;
        kept.make_room(self.budget, hash);
        block
    }

    /// Notes that a block is read; false when it has given way.
    pub(crate) fn touch(&self, block: &OldBlock) -> bool {
        !block.is_evicted() && self.kept().touch(block.hash).is_some()
    }

    /// Keeps a block until `release`, as a call loads for it. One that has given way stays away.
    pub(crate) fn hold(&self, block: &OldBlock) {
        self.change_holds(block, 1);
    }

    pub(crate) fn release(&self, block: &OldBlock) {
        self.change_holds(block, -1);
    }

    fn change_holds(&self, block: &OldBlock, by: isize) {
        let mut kept = self.kept();
        if let Some(entry) = kept.blocks.get_mut(&block.hash).filter(|_| !block.is_evicted()) {
            entry.holds = entry.holds.saturating_add_signed(by);
        }
    }

    /// Adds values to a block. What earlier calls left there goes if nothing else can, and who misses it loads it again.
    pub(crate) fn add(&self, block: &OldBlock, loaded: Loaded) -> Result<(), Error> {
        let mut kept = self.kept();
        // Dropped: the next run opens the block again and asks again.
        if block.is_evicted() {
            return Ok(());
        }
        let mut values = write(&block.values);
        let before = bytes_of(&values);
        let added = values.added_by(&loaded);
        let after = before + bytes_of_counts(added);
        kept.resize(block.hash, before, after);
        kept.make_room(self.budget, block.hash);
        if kept.bytes > self.budget {
            // Others hold the rest: what was loaded for this call must not make room for more of it.
            if kept.blocks.len() > 1 {
                kept.resize(block.hash, after, before);
                return Err(Error::Busy("calls of old blocks hold all the state that may be held".into()));
            }
            kept.resize(block.hash, after, bytes_of(&loaded));
            *values = Loaded::default();
        }
        values.extend(loaded);
        Ok(())
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        let mut kept = self.kept();
        let blocks = std::mem::take(&mut kept.blocks);
        kept.by_use.clear();
        kept.bytes = 0;
        blocks.into_values().for_each(Entry::evict);
    }

    /// Bytes held, for metrics.
    pub(crate) fn bytes(&self) -> usize {
        self.kept().bytes
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

impl Kept {
    fn next_use(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn touch(&mut self, hash: B256) -> Option<Arc<OldBlock>> {
        let used = self.next_use();
        let entry = self.blocks.get_mut(&hash)?;
        self.by_use.remove(&entry.used);
        self.by_use.insert(used, hash);
        entry.used = used;
        Some(Arc::clone(&entry.block))
    }

    fn resize(&mut self, hash: B256, before: usize, after: usize) {
        if let Some(entry) = self.blocks.get_mut(&hash) {
            entry.bytes = entry.bytes + after - before;
            self.bytes = self.bytes + after - before;
        }
    }

    /// Drops blocks, used longest ago first, that nobody loads for and that are not `but`.
    fn make_room(&mut self, budget: usize, but: B256) {
        if self.bytes <= budget {
            return;
        }
        let mut gone = Vec::new();
        for (used, hash) in &self.by_use {
            let free = |entry: &&Entry| entry.holds == 0 && *hash != but;
            if let Some(entry) = self.blocks.get(hash).filter(free) {
                self.bytes -= entry.bytes;
                gone.push((*used, *hash));
            }
            if self.bytes <= budget {
                break;
            }
        }
        for (used, hash) in gone {
            self.by_use.remove(&used);
            if let Some(entry) = self.blocks.remove(&hash) {
                entry.evict();
            }
        }
    }
}

impl Entry {
    fn evict(self) {
        self.block.evicted.store(true, Ordering::Release);
        *write(&self.block.values) = Loaded::default();
    }
}

/// Accounts, slots and block hashes.
type Counts = (usize, usize, usize);

fn bytes_of(loaded: &Loaded) -> usize {
    bytes_of_counts((loaded.accounts.len(), loaded.slots.len(), loaded.hashes.len()))
}

const fn bytes_of_counts((accounts, slots, hashes): Counts) -> usize {
    accounts * ACCOUNT_BYTES + slots * SLOT_BYTES + hashes * HASH_BYTES
}

impl Loaded {
    /// How many of `more` are not here yet.
    fn added_by(&self, more: &Self) -> Counts {
        (
            more.accounts.keys().filter(|key| !self.accounts.contains_key(*key)).count(),
            more.slots.keys().filter(|key| !self.slots.contains_key(*key)).count(),
            more.hashes.keys().filter(|key| !self.hashes.contains_key(*key)).count(),
        )
    }

    fn extend(&mut self, more: Self) {
        self.accounts.extend(more.accounts);
        self.slots.extend(more.slots);
        self.hashes.extend(more.hashes);
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

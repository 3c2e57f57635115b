//! Values that were loaded from outside and are kept apart from hot state.

use crate::base::locks::{read, write};
use crate::model::diff::Account;
use alloy_primitives::map::{B256Map, HashMap};
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use std::sync::RwLock;

/// Loaded values by key.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) accounts: HashMap<Address, Option<Account>>,
    pub(crate) slots: HashMap<(Address, B256), U256>,
    pub(crate) codes: B256Map<Bytecode>,
    pub(crate) hashes: HashMap<u64, B256>,
}

/// Which block is executed on which head. The generation is hot state's: the same head after a revert or a new start
/// may have another window below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) generation: u64,
    pub(crate) head: B256,
    pub(crate) block: B256,
}

/// What was provided for the block being executed. Hot state may evict it before the block has all it needs, and a
/// block whose keys evict each other would never be complete. It only fills in what hot state does not know.
#[derive(Debug, Default)]
pub(crate) struct WorkingSet(RwLock<Option<(Task, Loaded)>>);

impl WorkingSet {
    /// Keeps what is provided from here on for `task`; what was kept for another one is dropped.
    pub(crate) fn begin(&self, task: Task) {
        if read(&self.0).as_ref().is_some_and(|(kept, _)| *kept == task) {
            return;
        }
        *write(&self.0) = Some((task, Loaded::default()));
    }

    /// Drops everything: the block is done with.
    pub(crate) fn end(&self) {
        *write(&self.0) = None;
    }

    /// Looks a value up, if it was provided for a block on this head.
    pub(crate) fn find<T>(
        &self,
        generation: u64,
        head: B256,
        find: impl FnOnce(&Loaded) -> Option<T>,
    ) -> Option<T> {
        let kept = read(&self.0);
        let (_, loaded) = kept.as_ref().filter(|(task, _)| task.generation == generation && task.head == head)?;
        find(loaded)
    }

    /// Adds a value, if a block is being executed on this head.
    pub(crate) fn add(&self, generation: u64, head: B256, add: impl FnOnce(&mut Loaded)) {
        let mut kept = write(&self.0);
        if let Some((_, loaded)) =
            kept.as_mut().filter(|(task, _)| task.generation == generation && task.head == head)
        {
            add(loaded);
        }
    }
}

//! Tries that are kept for the blocks they are of, within a number of keys.

use super::state::StateTrie;
use crate::base::error::Error;
use crate::base::locks;
use crate::model::diff::Diff;
use alloy_consensus::Header;
use alloy_primitives::B256;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Blocks whose tries are kept at the same time.
const MAX_BLOCKS: usize = 64;

/// See the module's text.
#[derive(Debug)]
pub struct KeptTries {
    /// Keys of all of them together, those that several share counted once.
    max_keys: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The one used last is the last.
    tries: VecDeque<Kept>,
    families: u64,
}

#[derive(Debug)]
struct Kept {
    number: u64,
    hash: B256,
    trie: StateTrie,
    /// Those made from each other share what they have in common.
    family: u64,
    /// Keys that it does not share with the one it was made from.
    own: usize,
}

impl KeptTries {
    pub(crate) fn new(max_keys: usize) -> Self {
        Self { max_keys, inner: Mutex::default() }
    }

    /// The most keys that a trie may have to be kept.
    pub const fn max_keys(&self) -> usize {
        self.max_keys
    }

    /// The trie of the state after a block.
    pub fn find(&self, hash: B256) -> Option<StateTrie> {
        let mut inner = locks::lock(&self.inner);
        let place = inner.tries.iter().position(|kept| kept.hash == hash)?;
        let kept = inner.tries.remove(place)?;
        let trie = kept.trie.clone();
        inner.tries.push_back(kept);
        Some(trie)
    }

    /// Whether the trie of a block is kept.
    pub fn has(&self, hash: B256) -> bool {
        locks::lock(&self.inner).tries.iter().any(|kept| kept.hash == hash)
    }

    /// The number and hash of the highest block at or below `number` whose trie is kept.
    pub fn nearest(&self, number: u64) -> Option<(u64, B256)> {
        let inner = locks::lock(&self.inner);
        let below = inner.tries.iter().filter(|kept| kept.number <= number);
        below.max_by_key(|kept| kept.number).map(|kept| (kept.number, kept.hash))
    }

    /// Keeps the trie of the block with this header; false if it is not that of its state, or has too many keys.
    pub fn keep(&self, header: &Header, trie: StateTrie) -> bool {
        // Before the lock is held: it is computed once, and takes most of the time.
        trie.root();
        let mut inner = locks::lock(&self.inner);
        inner.families += 1;
        let family = inner.families;
        self.add(&mut inner, header, trie, family, 0)
    }

    /// Keeps the trie of the block with this header, made from its parent's; false if that is not kept, or as above.
    pub fn extend(&self, header: &Header, diff: &[u8]) -> Result<bool, Error> {
        let diff = Diff::decode(diff)?;
        let parent = {
            let inner = locks::lock(&self.inner);
            let parent = inner.tries.iter().find(|kept| kept.hash == header.parent_hash);
            parent.map(|kept| (kept.trie.clone(), kept.family))
        };
        let Some((mut trie, family)) = parent else {
            return Ok(false);
        };
        trie.apply(&diff);
        trie.root();
        let own = diff.accounts.len() + diff.slots.len();
        Ok(self.add(&mut locks::lock(&self.inner), header, trie, family, own))
    }

    fn add(&self, inner: &mut Inner, header: &Header, trie: StateTrie, family: u64, own: usize) -> bool {
        if trie.keys() > self.max_keys || trie.root() != header.state_root {
            return false;
        }
        let hash = header.hash_slow();
        inner.tries.retain(|kept| kept.hash != hash);
        inner.tries.push_back(Kept { number: header.number, hash, trie, family, own });
        while inner.tries.len() > MAX_BLOCKS || inner.keys() > self.max_keys {
            inner.tries.pop_front();
        }
        inner.tries.iter().any(|kept| kept.hash == hash)
    }

    /// Blocks and keys that are kept, for metrics.
    pub fn sizes(&self) -> (usize, usize) {
        let inner = locks::lock(&self.inner);
        (inner.tries.len(), inner.keys())
    }
}

impl Inner {
    /// Of each family its largest, and what the others changed.
    fn keys(&self) -> usize {
        let mut families: Vec<(u64, usize)> = Vec::new();
        let mut own = 0;
        for kept in &self.tries {
            own += kept.own;
            match families.iter_mut().find(|(family, _)| *family == kept.family) {
                Some((_, most)) => *most = (*most).max(kept.trie.keys()),
                None => families.push((kept.family, kept.trie.keys())),
            }
        }
        own + families.iter().map(|(_, keys)| keys).sum::<usize>()
    }
}

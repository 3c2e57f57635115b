//! Versions per key in sharded maps, bounded: what can be loaded again is dropped by second chance.

use super::clock::{Clock, Verdict};
use crate::base::locks::{read, write};
use alloy_primitives::map::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const SHARDS: usize = if cfg!(test) { 2 } else { 256 };

/// Value at the window's start, then values by block, ascending.
#[derive(Debug)]
struct Versions<V> {
    base: Option<Base<V>>,
    later: Vec<(u64, V)>,
}

/// A value at the window's start.
#[derive(Debug)]
struct Base<V> {
    /// Twice the block it is known from, and one more once it was read since the clock came by. In one word, since there
    /// are millions of these.
    known: AtomicU64,
    value: V,
}

impl<V: Copy> Base<V> {
    const USED: u64 = 1;

    const fn new(block: u64, value: V) -> Self {
        Self { known: AtomicU64::new(block << 1), value }
    }

    /// The block it is known from, and the value.
    fn read(&self) -> (u64, V) {
        let known = self.known.load(Ordering::Relaxed);
        // Written only the first time: many threads read the same few keys.
        if known & Self::USED == 0 {
            self.known.store(known | Self::USED, Ordering::Relaxed);
        }
        (known >> 1, self.value)
    }

    /// Whether it was read since this was last asked.
    fn take_used(&self) -> bool {
        self.known.fetch_and(!Self::USED, Ordering::Relaxed) & Self::USED != 0
    }
}

#[derive(Debug)]
pub(super) struct Shards<K, V> {
    shards: Vec<RwLock<Shard<K, V>>>,
    per_shard: usize,
    /// Seeded: whoever chooses keys must not be able to crowd them into one shard, which would evict them for ever.
    hasher: RandomState,
}

#[derive(Debug)]
struct Shard<K, V> {
    keys: HashMap<K, Versions<V>>,
    /// Entries from which it looks for some to drop: more than allowed, if those there are had to stay.
    full_at: usize,
    clock: Clock,
}

impl<K: Hash + Eq, V: Copy> Shard<K, V> {
    fn new(full_at: usize) -> Self {
        Self { keys: HashMap::default(), full_at, clock: Clock::default() }
    }

    /// The versions of a key, which is added if need be.
    fn versions(&mut self, key: K, limit: usize) -> &mut Versions<V> {
        if self.keys.len() >= self.full_at && !self.keys.contains_key(&key) {
            self.evict(limit);
        }
        self.keys.entry(key).or_insert_with(|| Versions { base: None, later: Vec::new() })
    }

    /// Drops about an eighth of the entries, of those that can be loaded again and were not read lately.
    fn evict(&mut self, limit: usize) {
        let room = self.keys.len().saturating_sub(limit) + limit / 8 + 1;
        self.clock.sweep(&mut self.keys, room, |versions| match &versions.base {
            Some(base) if versions.later.is_empty() => {
                if base.take_used() {
                    Verdict::Spared
                } else {
                    Verdict::Goes(1)
                }
            }
            _ => Verdict::Stays,
        });
        self.full_at = limit.max(self.keys.len() + self.keys.len() / 8 + 1);
    }
}

impl<K: Hash + Eq, V: Copy> Shards<K, V> {
    pub(super) fn new(per_shard: usize) -> Self {
        let shards = (0..SHARDS).map(|_| RwLock::new(Shard::new(per_shard))).collect();
        Self { shards, per_shard, hasher: RandomState::default() }
    }

    fn shard(&self, key: &K) -> &RwLock<Shard<K, V>> {
        // The high bits: the map inside a shard goes by the low ones of another hash.
        &self.shards[(self.hasher.hash_one(key) >> 32) as usize % SHARDS]
    }

    /// The newest value not above `at` and the block it is known from.
    pub(super) fn get(&self, key: &K, at: u64) -> Option<(u64, V)> {
        let shard = read(self.shard(key));
        let versions = shard.keys.get(key)?;
        let found = versions.later.iter().rev().find(|(block, _)| *block <= at);
        found.copied().or_else(|| versions.base.as_ref().map(Base::read))
    }

    /// Keeps a value as of the window's start, unless one is known already.
    pub(super) fn put_base(&self, key: K, start: u64, value: V) {
        let mut shard = write(self.shard(&key));
        shard.versions(key, self.per_shard).base.get_or_insert_with(|| Base::new(start, value));
    }

    /// Adds what a block wrote.
    pub(super) fn push(&self, key: K, block: u64, value: V) {
        let mut shard = write(self.shard(&key));
        shard.versions(key, self.per_shard).later.push((block, value));
    }

    /// The window begins at `start` from now on.
    pub(super) fn fold(&self, key: &K, start: u64) {
        let mut shard = write(self.shard(key));
        let Some(versions) = shard.keys.get_mut(key) else {
            return;
        };
        let old = versions.later.iter().take_while(|(block, _)| *block <= start).count();
        if let Some((block, value)) = versions.later.drain(..old).next_back() {
            versions.base = Some(Base::new(block, value));
        }
        if versions.later.is_empty() {
            versions.later.shrink_to_fit();
        }
    }

    /// Takes back what a block wrote.
    pub(super) fn cut(&self, key: &K, block: u64) {
        let mut shard = write(self.shard(key));
        let Some(versions) = shard.keys.get_mut(key) else {
            return;
        };
        versions.later.retain(|(at, _)| *at < block);
        if versions.later.is_empty() && versions.base.is_none() {
            shard.keys.remove(key);
        }
    }

    /// Forgets all values at the window's start.
    pub(super) fn drop_bases(&self) {
        for shard in &self.shards {
            write(shard).keys.retain(|_, versions| {
                versions.base = None;
                !versions.later.is_empty()
            });
        }
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *write(shard) = Shard::new(self.per_shard);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| read(shard).keys.len()).sum()
    }
}

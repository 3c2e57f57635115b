//! The state after one block, readable while the chain moves on.

use crate::base::error::{Error, malformed};
use crate::base::locks::read;
use crate::model::code::bytecode;
use crate::model::diff::{Account, decode_account, decode_slot};
use crate::model::header::decode_header;
use crate::model::key::{Key, Missing};
use crate::rules::spec::ChainSpec;
use crate::state::core::StateCore;
use crate::state::history::OldBlock;
use crate::state::loaded::Loaded;
use crate::state::overlay::{Overlay, Snapshot};
use crate::state::senders::KnownSenders;
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use std::sync::Arc;

/// What reading one value gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read<T> {
    Value(T),
    Missing(Missing),
    /// The block left hot state, by age or by a revert: resolve it again.
    Outdated,
}

/// Point in the life of hot state at which a run began; a run is good if nothing it read from moved since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    start: u64,
    generation: u64,
}

/// The state after one block and the context of that block.
#[derive(Debug)]
pub struct View {
    core: Arc<StateCore>,
    number: u64,
    hash: B256,
    header: Header,
    /// The block of hot state that is read: this one, or the one below pre-confirmed blocks.
    base: (u64, B256),
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A block of the window.
    Hot,
    /// The head, with what was provided for the block executed on it.
    Head,
    /// An older block: only what was loaded for it.
    Loaded(Arc<OldBlock>),
    /// Pre-confirmed blocks on a block of the window; for executing the next piece, with what was provided for it.
    Preconfirmed { snapshot: Arc<Snapshot>, executes: bool },
}

impl View {
    /// Opens the state after the block with this header (RLP).
    pub(crate) fn open(core: Arc<StateCore>, header: &[u8]) -> Result<Self, Error> {
        let header = decode_header(header)?;
        let hash = header.hash_slow();
        let hot = core.hot.block(header.number).is_some_and(|block| block.hash == hash);
        let source = if hot { Source::Hot } else { Source::Loaded(core.history.open(hash)) };
        Ok(Self { core, number: header.number, hash, base: (header.number, hash), header, source })
    }

    /// A view of the head of hot state, to execute a block on.
    pub(crate) fn of_head(core: Arc<StateCore>) -> Result<Self, Error> {
        let head = core.hot.head().ok_or_else(|| Error::Unavailable("hot state is empty".into()))?;
        let (number, hash, header) = (head.header.number, head.hash, head.header.clone());
        Ok(Self { core, number, hash, header, base: (number, hash), source: Source::Head })
    }

    /// Opens the newest pre-confirmed state, with the context of the block it is of; `None` when there is none. It
    /// stays as it is while further flashblocks arrive and until the block below it leaves hot state.
    pub(crate) fn open_preconfirmed(core: Arc<StateCore>) -> Option<Self> {
        let (_, snapshot) = core.versions.newest()?;
        Some(Self::of_snapshot(core, snapshot, false))
    }

    /// Opens the pre-confirmed state of one version; `None` when it is not kept any more.
    pub(crate) fn open_preconfirmed_at(core: Arc<StateCore>, version: u64) -> Option<Self> {
        let snapshot = core.versions.find(version)?;
        Some(Self::of_snapshot(core, snapshot, false))
    }

    pub(crate) fn of_snapshot(core: Arc<StateCore>, snapshot: Arc<Snapshot>, executes: bool) -> Self {
        Self {
            core,
            number: snapshot.header.number,
            hash: snapshot.hash,
            header: snapshot.header.clone(),
            base: (snapshot.base_number, snapshot.base_hash),
            source: Source::Preconfirmed { snapshot, executes },
        }
    }

    /// The state that its block is executed on. Only that of a pre-confirmed block is known by it.
    pub(crate) fn before(&self) -> Option<Self> {
        let Source::Preconfirmed { snapshot, .. } = &self.source else {
            return None;
        };
        if let Some(below) = snapshot.below() {
            return Some(Self::of_snapshot(Arc::clone(&self.core), Arc::new(below), false));
        }
        let (number, hash) = self.base;
        let header = self.core.hot.block(number).filter(|block| block.hash == hash)?.header.clone();
        Some(Self { core: Arc::clone(&self.core), number, hash, header, base: self.base, source: Source::Hot })
    }

    /// The last flashblock of this state, if it is a pre-confirmed one.
    pub fn flashblock_index(&self) -> Option<u64> {
        match &self.source {
            Source::Preconfirmed { snapshot, .. } => Some(snapshot.index),
            _ => None,
        }
    }

    /// The confirmed block this state stands on: its own, but for a pre-confirmed one.
    pub const fn base(&self) -> (u64, B256) {
        self.base
    }

    /// The block's header, RLP; of a pre-confirmed block as it is so far.
    pub fn encoded_header(&self) -> Vec<u8> {
        alloy_rlp::encode(&self.header)
    }

    fn overlay(&self) -> Option<&Overlay> {
        match &self.source {
            Source::Preconfirmed { snapshot, .. } => Some(&snapshot.overlay),
            _ => None,
        }
    }

    pub const fn number(&self) -> u64 {
        self.number
    }

    pub const fn hash(&self) -> B256 {
        self.hash
    }

    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The rules of its chain.
    pub(crate) fn spec(&self) -> &ChainSpec {
        &self.core.spec
    }

    /// Senders that are known of its chain.
    pub(crate) fn senders(&self) -> &KnownSenders {
        &self.core.senders
    }

    /// Whether this view reads the window of recent blocks.
    pub const fn is_hot(&self) -> bool {
        !matches!(self.source, Source::Loaded(_))
    }

    /// Keeps what is loaded for an older block until `release_loaded`, while a call needs more of it.
    pub fn hold_loaded(&self) {
        if let Source::Loaded(block) = &self.source {
            self.core.history.hold(block);
        }
    }

    pub fn release_loaded(&self) {
        if let Source::Loaded(block) = &self.source {
            self.core.history.release(block);
        }
    }

    /// Begins a run; `None` when the block is not in the window any more, or what was loaded for it is gone.
    pub(crate) fn enter(&self) -> Option<Epoch> {
        if let Source::Loaded(block) = &self.source
            && !self.core.history.touch(block)
        {
            return None;
        }
        let hot = &self.core.hot;
        let epoch = Epoch { start: hot.start(), generation: hot.generation() };
        if self.is_hot() && hot.block(self.base.0).is_none_or(|block| block.hash != self.base.1) {
            return None;
        }
        Some(epoch)
    }

    /// Whether everything read since `enter` was of this block.
    pub(crate) fn check(&self, epoch: Epoch) -> bool {
        let hot = &self.core.hot;
        !self.is_hot() || (hot.generation() == epoch.generation && hot.start() <= self.base.0)
    }

    /// The keys a run lacked, with where to load them.
    pub(crate) fn missing(&self, epoch: Epoch, keys: Vec<Key>) -> Missing {
        let as_of = if self.is_hot() { epoch.start } else { self.number };
        Missing { as_of, generation: epoch.generation, keys }
    }

    pub(crate) fn find_account(&self, address: Address) -> Option<Option<Account>> {
        if let Some(found) = self.overlay().and_then(|overlay| overlay.account(&address)) {
            return Some(found);
        }
        self.find(|| self.core.hot.account(address, self.base.0), |loaded| loaded.accounts.get(&address).copied())
    }

    pub(crate) fn find_slot(&self, address: Address, slot: B256) -> Option<U256> {
        if let Some(found) = self.overlay().and_then(|overlay| overlay.slot(address, slot)) {
            return Some(found);
        }
        self.find(
            || self.core.hot.slot(address, slot, self.base.0),
            |loaded| loaded.slots.get(&(address, slot)).copied(),
        )
    }

    pub(crate) fn find_code(&self, hash: &B256) -> Option<Bytecode> {
        let deployed = self.overlay().and_then(|overlay| overlay.code(hash));
        deployed
            .or_else(|| self.core.hot.code(hash))
            .or_else(|| self.find(|| None, |loaded| loaded.codes.get(hash).cloned()))
    }

    pub(crate) fn find_hash(&self, number: u64) -> Option<B256> {
        if number + 1 == self.number {
            return Some(self.header.parent_hash);
        }
        if number == self.number {
            return Some(self.hash);
        }
        if number >= self.base.0
            && let Some(overlay) = self.overlay()
        {
            return if number == self.base.0 { Some(self.base.1) } else { overlay.hash(number) };
        }
        self.find(|| self.core.hot.hash(number), |loaded| loaded.hashes.get(&number).copied())
    }

    fn find<T>(&self, hot: impl FnOnce() -> Option<T>, loaded: impl Fn(&Loaded) -> Option<T>) -> Option<T> {
        match &self.source {
            Source::Hot => hot(),
            // Hot state first: what it knows, a wipe included, is newer than what was provided as of its start.
            Source::Head => {
                hot().or_else(|| self.core.working.find(self.core.hot.generation(), self.hash, loaded))
            }
            Source::Loaded(block) => loaded(&read(&block.values)),
            Source::Preconfirmed { executes: false, .. } => hot(),
            Source::Preconfirmed { executes: true, .. } => hot().or_else(|| {
                let generation = self.core.hot.generation();
                // The rest of a sealed block is executed on pre-confirmed state, too.
                let sets = [&self.core.working_ahead, &self.core.working];
                sets.into_iter().find_map(|set| set.find(generation, self.base.1, &loaded))
            }),
        }
    }

    /// Reads one account.
    pub fn account(&self, address: Address) -> Read<Option<Account>> {
        self.read(Key::Account(address), || self.find_account(address))
    }

    /// Reads one slot.
    pub fn slot(&self, address: Address, slot: B256) -> Read<U256> {
        self.read(Key::Slot(address, slot), || self.find_slot(address, slot))
    }

    /// Reads the code of an account, which is empty where it has none.
    pub fn code(&self, address: Address) -> Read<Bytes> {
        let account = match self.account(address) {
            Read::Value(account) => account,
            Read::Missing(missing) => return Read::Missing(missing),
            Read::Outdated => return Read::Outdated,
        };
        let Some(hash) = account.map(|account| account.code_hash).filter(|hash| *hash != KECCAK256_EMPTY) else {
            return Read::Value(Bytes::new());
        };
        self.read(Key::Code(hash), || self.find_code(&hash).map(|code| code.original_bytes()))
    }

    fn read<T>(&self, key: Key, find: impl Fn() -> Option<T>) -> Read<T> {
        let Some(epoch) = self.enter() else {
            return Read::Outdated;
        };
        let found = find();
        if !self.check(epoch) {
            return Read::Outdated;
        }
        found.map_or_else(|| Read::Missing(self.missing(epoch, vec![key])), Read::Value)
    }

    /// Takes in what was loaded for a `Missing`. Values of a window that has moved on since are dropped: the next
    /// run asks again.
    pub fn provide(&self, missing: &Missing, values: &[&[u8]]) -> Result<(), Error> {
        if values.len() != missing.keys.len() {
            return Err(malformed("loaded state", "there is not one value for each key"));
        }
        let hot = &self.core.hot;
        let held = self.is_hot().then(|| hot.hold(missing));
        let current = held.as_ref().is_none_or(Option::is_some);
        let mut loaded = Loaded::default();
        for (key, value) in missing.keys.iter().zip(values) {
            match key {
                Key::Code(hash) => {
                    let code = Bytes::copy_from_slice(value);
                    if alloy_primitives::keccak256(&code) != *hash {
                        return Err(malformed("loaded code", format!("it does not hash to {hash}")));
                    }
                    let code = bytecode(code);
                    hot.put_code(*hash, code.clone());
                    self.work(|loaded| {
                        loaded.codes.insert(*hash, code.clone());
                    });
                }
                _ if !current => {}
                Key::Account(address) => {
                    loaded.accounts.insert(*address, decode_account(value)?);
                }
                Key::Slot(address, slot) => {
                    loaded.slots.insert((*address, *slot), decode_slot(value)?);
                }
                Key::BlockHash(number) => {
                    let hash = B256::try_from(*value).map_err(|why| malformed("loaded block hash", why))?;
                    loaded.hashes.insert(*number, hash);
                }
            }
        }
        if let Source::Loaded(block) = &self.source {
            return self.core.history.add(block, loaded);
        }
        for (address, account) in loaded.accounts {
            self.put_account(address, account);
        }
        for ((address, slot), value) in loaded.slots {
            self.put_slot(address, slot, value);
        }
        for (number, hash) in loaded.hashes {
            self.put_hash(number, hash);
        }
        Ok(())
    }

    /// Keeps a value for the block or flashblock being executed, if this view is what it is executed on.
    fn work(&self, add: impl Fn(&mut Loaded)) {
        if matches!(self.source, Source::Head) {
            let generation = self.core.hot.generation();
            self.core.working.add(generation, self.hash, &add);
            self.core.working_ahead.add(generation, self.hash, &add);
        }
    }

    fn put_hash(&self, number: u64, hash: B256) {
        self.core.hot.put_hash(number, hash);
        self.work(|loaded| {
            loaded.hashes.insert(number, hash);
        });
    }

    fn put_account(&self, address: Address, account: Option<Account>) {
        self.core.hot.put_account(address, account);
        self.work(|loaded| {
            loaded.accounts.insert(address, account);
        });
    }

    fn put_slot(&self, address: Address, slot: B256, value: U256) {
        self.core.hot.put_slot(address, slot, value);
        self.work(|loaded| {
            loaded.slots.insert((address, slot), value);
        });
    }
}

//! Pre-confirmed blocks: what flashblocks said so far, on top of the head of hot state.
//!
//! Each flashblock is executed on the state after the one before it and then merged into a copy of the overlay, which
//! replaces the old one in one step. Readers hold the overlay they began with. Nothing here reaches hot state before
//! the sealed block is there.

mod changes;
mod flashblock;
mod layers;
mod overlay;
mod promote;
mod run;
mod versions;

pub use flashblock::{Flashblock, FlashblockBase, FlashblockDiff};
pub(crate) use overlay::{Overlay, Snapshot};
pub use promote::{Difference, Promoted, Promotion};

use crate::chain::Chain;
use crate::error::Error;
use crate::hot::HotBlock;
use crate::key::Missing;
use crate::loaded::{Task, WorkingSet};
use crate::outcome::Outcome;
use crate::spec::Stack;
use crate::view::View;
use alloy_consensus::Header;
use alloy_primitives::{Bloom, Bytes};
use layers::{Layer, Layers};
use run::{Progress, Ran, Run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use versions::Versions;

/// Blocks that may be pre-confirmed at once, unless another number is set.
pub const PRECONFIRMED_DEPTH: usize = 5;

/// How executing a flashblock ended.
#[derive(Debug)]
pub enum Preconfirmation {
    Done(Box<Piece>),
    /// State it lacked; provide it to the head view and hand the flashblock in again.
    Missing(Missing),
}

/// What one flashblock gave.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Of the state after it.
    pub version: u64,
    pub index: u64,
    /// Of the block: where the transactions and logs of this piece begin.
    pub first_transaction: usize,
    pub first_log: usize,
    /// The header and hash of the block so far; transactions, receipts, logs and changes of this piece only.
    pub outcome: Outcome,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Preconfirmed {
    /// Held while a flashblock is executed. Readers do not take it.
    layers: Mutex<Layers>,
    versions: Versions,
    working: WorkingSet,
    depth: AtomicUsize,
}

impl Default for Preconfirmed {
    fn default() -> Self {
        Self {
            layers: Mutex::default(),
            versions: Versions::default(),
            working: WorkingSet::default(),
            depth: AtomicUsize::new(PRECONFIRMED_DEPTH),
        }
    }
}

impl Preconfirmed {
    pub(crate) const fn versions(&self) -> &Versions {
        &self.versions
    }

    pub(crate) const fn working(&self) -> &WorkingSet {
        &self.working
    }

    /// Drops what does not stand on the head any more. If the head is what was pre-confirmed first, the others stay.
    pub(crate) fn settle(&self, head: Option<&HotBlock>) {
        let mut layers = self.lock();
        if layers.blocks.is_empty() || head.is_some_and(|head| layers.stand_on(head)) {
            return;
        }
        match head.filter(|head| layers.confirm_first(head)) {
            Some(head) => {
                layers.blocks.remove(0);
                (layers.base_number, layers.base_hash) = (head.header.number, head.hash);
            }
            None => layers.blocks.clear(),
        }
        self.publish(&layers);
    }

    fn lock(&self) -> MutexGuard<'_, Layers> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows readers the blocks that are left.
    fn publish(&self, layers: &Layers) {
        let snapshot = layers.blocks.last().map(|top| {
            let overlay = Arc::new(layers.merge(layers.blocks.len()));
            layers.snapshot(top, overlay)
        });
        self.versions.show(snapshot);
        self.working.end();
    }
}

/// What a flashblock is executed on.
struct Start {
    /// Blocks that stay, the one it belongs to included if that is there.
    keep: usize,
    /// Of the block it belongs to, with the results so far.
    header: Header,
    before: Progress,
    state: Snapshot,
}

impl Chain {
    /// Sets how many blocks may be pre-confirmed at once.
    pub fn set_preconfirmed_depth(&self, depth: usize) {
        self.preconfirmed().depth.store(depth.max(1), Ordering::Relaxed);
    }

    /// Blocks, accounts and slots that are pre-confirmed, for metrics.
    pub fn preconfirmed_sizes(&self) -> (usize, usize, usize) {
        self.preconfirmed().versions.newest().map_or((0, 0, 0), |(_, newest)| {
            let (accounts, slots) = newest.overlay.entries();
            let blocks = newest.header.number.saturating_sub(newest.base_number);
            (usize::try_from(blocks).unwrap_or(usize::MAX), accounts, slots)
        })
    }

    /// The version of the newest pre-confirmed state; `None` when nothing is pre-confirmed.
    pub fn preconfirmed_version(&self) -> Option<u64> {
        self.preconfirmed().versions.newest().map(|(version, _)| version)
    }

    /// Executes a flashblock on the one before it, compares what it gives with what it says, and shows it to readers.
    /// The first one of a block that is there already begins that block anew, and those above it are dropped. After an
    /// error everything is as it was.
    pub fn extend_preconfirmed(self: &Arc<Self>, flashblock: &Flashblock) -> Result<Preconfirmation, Error> {
        if self.spec().stack != Stack::Op {
            // Ethereum's blocks end with withdrawals and system calls, which the next piece would have to take back.
            return Err(Error::Unsupported("flashblocks are supported on the OP stack only".into()));
        }
        let preconfirmed = self.preconfirmed();
        let mut layers = preconfirmed.lock();
        let head = self.hot().head().ok_or_else(|| Error::Unavailable("hot state is empty".into()))?;
        if layers.blocks.is_empty() {
            (layers.base_number, layers.base_hash) = (head.header.number, head.hash);
        } else if !layers.stand_on(&head) {
            return Err(Error::Unavailable("the head moved".into()));
        }
        let Start { keep, mut header, before, state } = self.start(&layers, &head, flashblock)?;
        let sent = run::recover(self.spec(), &header, before.transactions, &flashblock.diff.transactions)?;
        let generation = self.hot().generation();
        preconfirmed.working.begin(Task { generation, head: head.hash, block: flashblock.diff.block_hash });
        let overlay = Arc::clone(&state.overlay);
        let view = Arc::new(View::of_snapshot(Arc::clone(self), Arc::new(state), true));
        let is_first = flashblock.index == 0;
        let ran = match run::run(self.spec(), &view, &header, before, is_first, &sent) {
            Ok(Run::Missing(missing)) => return Ok(Preconfirmation::Missing(missing)),
            Ok(Run::Done(ran)) => ran,
            Err(why) => {
                preconfirmed.working.end();
                return Err(why);
            }
        };
        preconfirmed.working.end();
        let block = (!is_first).then(|| layers.blocks.last()).flatten();
        let bloom = check(flashblock, &mut header, block, &ran)?;

        let mut overlay = Overlay::clone(&overlay);
        if is_first && keep > 0 {
            overlay.add_hash(view.number(), view.hash());
        }
        overlay.apply(&ran.changes.diff);
        let transactions = sent.into_iter().map(|tx| tx.into_value().into_inner()).collect();
        let mut piece = layers.add(keep, flashblock, header, bloom, *ran, transactions);
        let state = layers.blocks.last().map(|top| layers.snapshot(top, Arc::new(overlay)));
        piece.version = preconfirmed.versions.show(state);
        Ok(Preconfirmation::Done(Box::new(piece)))
    }

    fn start(&self, layers: &Layers, head: &HotBlock, flashblock: &Flashblock) -> Result<Start, Error> {
        let refuse = |why: String| Err(Error::InvalidBlock(format!("flashblock {}: {why}", flashblock.index)));
        let count = layers.blocks.len();
        let overlay = |keep: usize| match self.preconfirmed().versions.newest() {
            Some((_, newest)) if keep == count => Arc::clone(&newest.overlay),
            _ => Arc::new(layers.merge(keep)),
        };
        let Some(base) = &flashblock.base else {
            return match layers.blocks.last() {
                Some(top) if top.payload_id == flashblock.payload_id && top.index + 1 == flashblock.index => {
                    let state = layers.snapshot(top, overlay(count));
                    Ok(Start { keep: count, header: top.header.clone(), before: top.progress, state })
                }
                Some(top) => refuse(format!(
                    "it does not follow flashblock {} of block {}, payload {}",
                    top.index, top.header.number, top.payload_id
                )),
                None => refuse("the first of its block is not there".into()),
            };
        };
        let header = base.header(self.spec())?;
        let keep = layers.blocks.iter().take_while(|block| block.header.number < header.number).count();
        let parent = keep.checked_sub(1).map(|index| &layers.blocks[index]);
        let (below, hash) = parent.map_or((&head.header, head.hash), |parent| (&parent.header, parent.hash));
        if header.number != below.number + 1 || header.parent_hash != hash {
            return refuse(format!(
                "block {} on {} does not follow block {} {hash}",
                header.number, header.parent_hash, below.number
            ));
        }
        if header.timestamp < below.timestamp {
            return refuse(format!("the timestamp of block {} is before its parent's", header.number));
        }
        let depth = self.preconfirmed().depth.load(Ordering::Relaxed);
        if keep >= depth {
            return Err(Error::Unavailable(format!("no more than {depth} blocks are pre-confirmed at once")));
        }
        let state = match parent {
            Some(parent) => layers.snapshot(parent, overlay(keep)),
            None => Snapshot {
                base_number: layers.base_number,
                base_hash: layers.base_hash,
                overlay: Arc::default(),
                header: head.header.clone(),
                hash: head.hash,
                index: 0,
            },
        };
        Ok(Start { keep, header, before: Progress::default(), state })
    }

    /// Forgets pre-confirmed blocks from a number on. Whoever holds a view of them can go on reading it.
    pub fn drop_preconfirmed(&self, from: u64) {
        let preconfirmed = self.preconfirmed();
        let mut layers = preconfirmed.lock();
        let count = layers.blocks.len();
        layers.blocks.retain(|block| block.header.number < from);
        if layers.blocks.len() != count {
            preconfirmed.publish(&layers);
        }
    }
}

/// Compares the block so far with what the flashblock says of it, and completes its header. Gives its bloom.
fn check(flashblock: &Flashblock, header: &mut Header, block: Option<&Layer>, ran: &Ran) -> Result<Bloom, Error> {
    let diff = &flashblock.diff;
    same(flashblock, header, "gas used", diff.gas_used.to(), ran.progress.gas_used)?;
    let old = |list: fn(&Layer) -> &[Bytes]| block.map(list).unwrap_or_default();
    let receipts_root = layers::root(old(|layer| &layer.receipts), &ran.receipts);
    same(flashblock, header, "receipts root", diff.receipts_root, receipts_root)?;
    let bloom = layers::bloom(block.map_or(Bloom::ZERO, |layer| layer.bloom), &ran.records);
    same(flashblock, header, "logs bloom", diff.logs_bloom, bloom)?;
    if let Some(said) = diff.blob_gas_used {
        same(flashblock, header, "blob gas used", said.to(), ran.progress.da_footprint)?;
    }
    let transactions_root = layers::root(old(|layer| &layer.transactions), &diff.transactions);
    diff.fill(header, transactions_root, ran.progress.da_footprint);
    // State root and withdrawals root are taken from the flashblock: the hash binds them to the rest of it.
    same(flashblock, header, "block hash", diff.block_hash, header.hash_slow())?;
    Ok(bloom)
}

fn same<T: PartialEq + std::fmt::Debug>(
    flashblock: &Flashblock,
    header: &Header,
    what: &str,
    said: T,
    found: T,
) -> Result<(), Error> {
    if said == found {
        return Ok(());
    }
    Err(Error::InvalidBlock(format!(
        "flashblock {} of block {}: it says {what} {said:?}, its contents give {found:?}",
        flashblock.index, header.number
    )))
}

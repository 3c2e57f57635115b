//! Pre-confirmed blocks: what flashblocks said so far, on top of the head of hot state.
//!
//! Each flashblock is executed on the state after the one before it. What it changed is put on top of the parts of the
//! overlay, which readers see as one new state in one step. They hold the state they began with. Nothing here reaches hot
//! state before the sealed block is there.

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
use crate::claim::contradiction;
use crate::error::Error;
use crate::hot::HotBlock;
use crate::key::Missing;
use crate::limits::Limits;
use crate::loaded::{Task, WorkingSet};
use crate::outcome::Outcome;
use crate::spec::Stack;
use crate::view::View;
use alloy_consensus::Header;
use alloy_primitives::{Bloom, Bytes};
use layers::{Layers, SoFar};
use run::{Part, Progress, Ran, Run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use versions::Versions;

/// Blocks that may be pre-confirmed at once, unless another number is set.
pub const PRECONFIRMED_DEPTH: usize = 5;

/// How executing a flashblock ended.
#[derive(Debug)]
pub enum Preconfirmation<T = Box<Piece>> {
    Done(T),
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

/// A flashblock that was executed and is what it says, and that readers do not see yet. Executing changes nothing, so
/// that it can be done on another thread and be given up.
#[derive(Debug)]
pub struct Extension {
    /// Of the layers it was executed on.
    epoch: u64,
    keep: usize,
    payload_id: String,
    transactions: Vec<Bytes>,
    bloom: Bloom,
    ran: Box<Ran>,
    piece: Box<Piece>,
}

impl Extension {
    pub const fn piece(&self) -> &Piece {
        &self.piece
    }
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Preconfirmed {
    /// Held for moments only: not while a flashblock is executed. Readers do not take it.
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
        self.publish(&mut layers);
    }

    fn lock(&self) -> MutexGuard<'_, Layers> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows readers the blocks that are left.
    fn publish(&self, layers: &mut Layers) {
        layers.epoch += 1;
        self.versions.show(layers.snapshot(layers.blocks.len()));
        self.working.end();
    }
}

/// What a flashblock is executed on.
struct Start {
    epoch: u64,
    /// Blocks that stay, the one it belongs to included if that is there.
    keep: usize,
    /// Of the block it belongs to, with the results so far.
    header: Header,
    before: Progress,
    state: Snapshot,
    /// Nothing where the block begins.
    so_far: SoFar,
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

    /// Executes a flashblock on the one before it and compares what it gives with what it says. Readers do not see it
    /// yet: see `show`.
    pub fn run_flashblock(
        self: &Arc<Self>,
        flashblock: &Flashblock,
        limits: &Limits,
    ) -> Result<Preconfirmation<Extension>, Error> {
        if self.spec().stack != Stack::Op {
            // Ethereum's blocks end with withdrawals and system calls, which the next piece would have to take back.
            return Err(Error::Unsupported("flashblocks are supported on the OP stack only".into()));
        }
        let preconfirmed = self.preconfirmed();
        let head = self.hot().head().ok_or_else(|| Error::Unavailable("hot state is empty".into()))?;
        let generation = self.hot().generation();
        let start = self.start(&head, flashblock)?;
        let Start { epoch, keep, mut header, before, state, .. } = start;
        let gas_used = self.claimed(flashblock, &header, before)?;
        let sent = run::recover(self.spec(), &header, before.transactions, &flashblock.diff.transactions, limits)
            .map_err(|why| why.of(&run::about(&header)))?;
        preconfirmed.working.begin(Task { generation, head: head.hash, block: flashblock.diff.block_hash });
        let view = Arc::new(View::of_snapshot(Arc::clone(self), Arc::new(state), true));
        let is_first = flashblock.index == 0;
        let part = Part { header: &header, before, is_first, sent: &sent, gas_used };
        let ran = match run::run(self.spec(), &view, &part, limits) {
            Ok(Run::Missing(missing)) => return Ok(Preconfirmation::Missing(missing)),
            Ok(Run::Done(ran)) => ran,
            Err(why) => {
                preconfirmed.working.end();
                return Err(why);
            }
        };
        preconfirmed.working.end();
        let bloom = check(flashblock, &mut header, &start.so_far, &ran)?;

        let transactions = sent.into_iter().map(|tx| tx.into_value().into_inner()).collect();
        let piece = start.so_far.piece(flashblock, header, &ran, transactions);
        Ok(Preconfirmation::Done(Extension {
            epoch,
            keep,
            payload_id: flashblock.payload_id.clone(),
            transactions: flashblock.diff.transactions.clone(),
            bloom,
            ran,
            piece: Box::new(piece),
        }))
    }

    /// Shows readers a flashblock that was executed. The first one of a block that is there already begins that block
    /// anew, and those above it are dropped. Refused, with everything as it was, if the head or what is pre-confirmed
    /// has changed since.
    pub fn show(&self, extension: Extension) -> Result<Box<Piece>, Error> {
        let preconfirmed = self.preconfirmed();
        let mut layers = preconfirmed.lock();
        let head = self.hot().head();
        if layers.epoch != extension.epoch || !head.is_some_and(|head| layers.stand_on(&head)) {
            return Err(Error::Unavailable("the head moved".into()));
        }
        let mut piece = layers.add(extension);
        piece.version = preconfirmed.versions.show(layers.snapshot(layers.blocks.len()));
        Ok(piece)
    }

    /// Both at once, however long it takes.
    pub fn extend_preconfirmed(self: &Arc<Self>, flashblock: &Flashblock) -> Result<Preconfirmation, Error> {
        match self.run_flashblock(flashblock, &Limits::none())? {
            Preconfirmation::Done(extension) => Ok(Preconfirmation::Done(self.show(extension)?)),
            Preconfirmation::Missing(missing) => Ok(Preconfirmation::Missing(missing)),
        }
    }

    /// What a flashblock says that its block has used, if it may say so.
    fn claimed(&self, flashblock: &Flashblock, header: &Header, before: Progress) -> Result<u64, Error> {
        let claimed: u64 = flashblock.diff.gas_used.to();
        self.options().check_gas_limit(header.gas_limit).map_err(|why| why.of(&run::about(header)))?;
        if claimed < before.gas_used || claimed > header.gas_limit {
            let (used, limit) = (before.gas_used, header.gas_limit);
            return refuse(flashblock, &format!("it says gas used {claimed} after {used}, of a limit of {limit}"));
        }
        Ok(claimed)
    }

    fn start(&self, head: &HotBlock, flashblock: &Flashblock) -> Result<Start, Error> {
        let mut layers = self.preconfirmed().lock();
        if layers.blocks.is_empty() {
            (layers.base_number, layers.base_hash) = (head.header.number, head.hash);
        } else if !layers.stand_on(head) {
            return Err(Error::Unavailable("the head moved".into()));
        }
        let layers = &*layers;
        let (epoch, count) = (layers.epoch, layers.blocks.len());
        let Some(base) = &flashblock.base else {
            return match layers.blocks.last().zip(layers.snapshot(count)) {
                Some((top, state))
                    if top.payload_id == flashblock.payload_id && top.index + 1 == flashblock.index =>
                {
                    let (header, before) = (top.header.clone(), top.progress);
                    Ok(Start { epoch, keep: count, header, before, state, so_far: top.so_far.clone() })
                }
                Some((top, _)) => refuse(
                    flashblock,
                    &format!(
                        "it does not follow flashblock {} of block {}, payload {}",
                        top.index, top.header.number, top.payload_id
                    ),
                ),
                None => refuse(flashblock, "the first of its block is not there"),
            };
        };
        let header = base.header(self.spec())?;
        let keep = layers.blocks.iter().take_while(|block| block.header.number < header.number).count();
        let parent = keep.checked_sub(1).map(|index| &layers.blocks[index]);
        let (below, hash) = parent.map_or((&head.header, head.hash), |parent| (&parent.header, parent.hash));
        if header.parent_hash != hash {
            let (number, parent) = (header.number, header.parent_hash);
            return refuse(
                flashblock,
                &format!("block {number} on {parent} does not follow block {} {hash}", below.number),
            );
        }
        if let Some(why) = contradiction(&header, below) {
            return refuse(flashblock, &format!("block {}: {why}", header.number));
        }
        let depth = self.preconfirmed().depth.load(Ordering::Relaxed);
        if keep >= depth {
            return Err(Error::Unavailable(format!("no more than {depth} blocks are pre-confirmed at once")));
        }
        let state = layers.snapshot(keep).unwrap_or_else(|| Snapshot {
            base_number: layers.base_number,
            base_hash: layers.base_hash,
            overlay: Overlay::default(),
            header: head.header.clone(),
            hash: head.hash,
            index: 0,
        });
        Ok(Start { epoch, keep, header, before: Progress::default(), state, so_far: SoFar::default() })
    }

    /// Forgets pre-confirmed blocks from a number on. Whoever holds a view of them can go on reading it.
    pub fn drop_preconfirmed(&self, from: u64) {
        let preconfirmed = self.preconfirmed();
        let mut layers = preconfirmed.lock();
        let count = layers.blocks.len();
        layers.blocks.retain(|block| block.header.number < from);
        if layers.blocks.len() != count {
            preconfirmed.publish(&mut layers);
        }
    }
}

/// Compares the block so far with what the flashblock says of it, and completes its header. Gives its bloom.
fn check(flashblock: &Flashblock, header: &mut Header, so_far: &SoFar, ran: &Ran) -> Result<Bloom, Error> {
    let diff = &flashblock.diff;
    same(flashblock, header, "gas used", diff.gas_used.to(), ran.progress.gas_used)?;
    let receipts_root = layers::root(&so_far.receipts, &ran.receipts);
    same(flashblock, header, "receipts root", diff.receipts_root, receipts_root)?;
    let bloom = layers::bloom(so_far.bloom, &ran.records);
    same(flashblock, header, "logs bloom", diff.logs_bloom, bloom)?;
    if let Some(said) = diff.blob_gas_used {
        same(flashblock, header, "blob gas used", said.to(), ran.progress.da_footprint)?;
    }
    let transactions_root = layers::root(&so_far.transactions, &diff.transactions);
    diff.fill(header, transactions_root, ran.progress.da_footprint);
    // State root and withdrawals root are taken from the flashblock: the hash binds them to the rest of it.
    same(flashblock, header, "block hash", diff.block_hash, header.hash_slow())?;
    Ok(bloom)
}

fn refuse<T>(flashblock: &Flashblock, why: &str) -> Result<T, Error> {
    Err(Error::InvalidBlock(format!("flashblock {}: {why}", flashblock.index)))
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

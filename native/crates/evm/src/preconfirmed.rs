//! Pre-confirmed blocks: what flashblocks said so far, on top of the head of hot state.
//!
//! Each flashblock is executed on the state after the one before it and then merged into a copy of the overlay, which
//! replaces the old one in one step. Readers hold the overlay they began with. Nothing here reaches hot state before
//! the sealed block is there.

use crate::chain::Chain;
use crate::error::Error;
use crate::hot::{HotBlock, read, write};
use crate::key::Missing;
use crate::loaded::{Task, WorkingSet};
use crate::outcome::{Outcome, ReceiptRecord};
use crate::preconfirmed_flashblock::Flashblock;
use crate::preconfirmed_overlay::{Changes, Overlay, Snapshot};
use crate::preconfirmed_run::{self, Progress, Ran, Run};
use crate::spec::Stack;
use crate::view::View;
use alloy_consensus::{Block, BlockBody, Header};
use alloy_primitives::{B256, Bloom, Bytes};
use alloy_trie::root::ordered_trie_root_encoded;
use op_alloy_consensus::OpTxEnvelope;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

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
    newest: RwLock<Option<Arc<Snapshot>>>,
    working: WorkingSet,
    depth: AtomicUsize,
}

/// The pre-confirmed blocks, ascending, and the block of hot state below them.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    base_number: u64,
    pub(crate) base_hash: B256,
    pub(crate) blocks: Vec<Layer>,
}

/// One pre-confirmed block so far.
#[derive(Debug)]
pub(crate) struct Layer {
    payload_id: String,
    index: u64,
    pub(crate) header: Header,
    hash: B256,
    progress: Progress,
    bloom: Bloom,
    pub(crate) transactions: Vec<Bytes>,
    receipts: Vec<Bytes>,
    pub(crate) records: Vec<ReceiptRecord>,
    logs: usize,
    pub(crate) changes: Changes,
}

impl Default for Preconfirmed {
    fn default() -> Self {
        Self {
            layers: Mutex::default(),
            newest: RwLock::default(),
            working: WorkingSet::default(),
            depth: AtomicUsize::new(PRECONFIRMED_DEPTH),
        }
    }
}

impl Preconfirmed {
    pub(crate) fn newest(&self) -> Option<Arc<Snapshot>> {
        read(&self.newest).clone()
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, Layers> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows readers the blocks that are left.
    fn publish(&self, layers: &Layers) {
        let snapshot = layers.blocks.last().map(|top| {
            let overlay = Arc::new(layers.merge(layers.blocks.len()));
            Arc::new(layers.snapshot(top, overlay))
        });
        *write(&self.newest) = snapshot;
        self.working.end();
    }
}

impl Layers {
    pub(crate) fn stand_on(&self, head: &HotBlock) -> bool {
        self.base_number == head.header.number && self.base_hash == head.hash
    }

    /// Whether `head` is the first block, so that those above it are still right.
    fn confirm_first(&self, head: &HotBlock) -> bool {
        let [first, second, ..] = self.blocks.as_slice() else {
            return false;
        };
        head.header.number == self.base_number + 1
            && head.header.parent_hash == self.base_hash
            && second.header.parent_hash == head.hash
            && first.changes.diff() == head.diff
    }

    /// The overlay of the first `count` blocks.
    fn merge(&self, count: usize) -> Overlay {
        let mut overlay = Overlay::default();
        for (index, block) in self.blocks.iter().take(count).enumerate() {
            if index + 1 < count {
                overlay.add_hash(block.header.number, block.hash);
            }
            overlay.apply(&block.changes.diff());
        }
        overlay
    }

    fn snapshot(&self, top: &Layer, overlay: Arc<Overlay>) -> Snapshot {
        Snapshot {
            base_number: self.base_number,
            base_hash: self.base_hash,
            overlay,
            header: top.header.clone(),
            hash: top.hash,
            index: top.index,
        }
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
        self.preconfirmed().newest().map_or((0, 0, 0), |newest| {
            let (accounts, slots) = newest.overlay.entries();
            let blocks = newest.header.number.saturating_sub(newest.base_number);
            (usize::try_from(blocks).unwrap_or(usize::MAX), accounts, slots)
        })
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
        let sent =
            preconfirmed_run::recover(self.spec(), &header, before.transactions, &flashblock.diff.transactions)?;
        let generation = self.hot().generation();
        preconfirmed.working.begin(Task { generation, head: head.hash, block: flashblock.diff.block_hash });
        let overlay = Arc::clone(&state.overlay);
        let view = Arc::new(View::of_snapshot(Arc::clone(self), Arc::new(state), true));
        let is_first = flashblock.index == 0;
        let ran = match preconfirmed_run::run(self.spec(), &view, &header, before, is_first, &sent) {
            Ok(Run::Missing(missing)) => return Ok(Preconfirmation::Missing(missing)),
            Ok(Run::Done(ran)) => ran,
            Err(why) => {
                preconfirmed.working.end();
                return Err(why);
            }
        };
        preconfirmed.working.end();
        let block = (!is_first).then(|| layers.blocks.last()).flatten();
        let (transactions_root, bloom) = check(flashblock, &header, block, &ran)?;
        flashblock.diff.fill(&mut header, transactions_root);

        let mut overlay = Overlay::clone(&overlay);
        if is_first && keep > 0 {
            overlay.add_hash(view.number(), view.hash());
        }
        overlay.apply(&ran.diff);
        let transactions = sent.into_iter().map(|tx| tx.into_value().into_inner()).collect();
        let piece = layers.add(keep, flashblock, header, bloom, *ran, transactions);
        if let Some(top) = layers.blocks.last() {
            *write(&preconfirmed.newest) = Some(Arc::new(layers.snapshot(top, Arc::new(overlay))));
        }
        Ok(Preconfirmation::Done(Box::new(piece)))
    }

    fn start(&self, layers: &Layers, head: &HotBlock, flashblock: &Flashblock) -> Result<Start, Error> {
        let refuse = |why: String| Err(Error::InvalidBlock(format!("flashblock {}: {why}", flashblock.index)));
        let count = layers.blocks.len();
        let overlay = |keep: usize| match self.preconfirmed().newest() {
            Some(newest) if keep == count => Arc::clone(&newest.overlay),
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

impl Layers {
    /// Takes a piece in, after every check.
    fn add(
        &mut self,
        keep: usize,
        flashblock: &Flashblock,
        header: Header,
        bloom: Bloom,
        ran: Ran,
        transactions: Vec<OpTxEnvelope>,
    ) -> Piece {
        self.blocks.truncate(keep);
        let hash = flashblock.diff.block_hash;
        if flashblock.index == 0 {
            self.blocks.push(Layer::new(flashblock, header.clone()));
        }
        let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Default::default()) };
        let block = alloy_rlp::encode(Block { header: header.clone(), body }).into();
        let (mut first_transaction, mut first_log) = (0, 0);
        if let Some(layer) = self.blocks.last_mut() {
            (first_transaction, first_log) = (layer.transactions.len(), layer.logs);
            layer.changes.add(&ran.bundle, &ran.diff);
            layer.index = flashblock.index;
            layer.header = header.clone();
            layer.hash = hash;
            layer.progress = ran.progress;
            layer.bloom = bloom;
            layer.transactions.extend_from_slice(&flashblock.diff.transactions);
            layer.receipts.extend(ran.receipts);
            layer.logs += ran.records.iter().map(|record| record.logs.len()).sum::<usize>();
            layer.records.extend_from_slice(&ran.records);
        }
        let outcome = Outcome { hash, header, block, receipts: ran.records, diff: ran.diff };
        Piece { index: flashblock.index, first_transaction, first_log, outcome }
    }
}

impl Layer {
    fn new(flashblock: &Flashblock, header: Header) -> Self {
        Self {
            payload_id: flashblock.payload_id.clone(),
            index: 0,
            header,
            hash: flashblock.diff.block_hash,
            progress: Progress::default(),
            bloom: Bloom::ZERO,
            transactions: Vec::new(),
            receipts: Vec::new(),
            records: Vec::new(),
            logs: 0,
            changes: Changes::default(),
        }
    }
}

/// Compares the block so far with what the flashblock says of it. Gives its transactions root and bloom.
fn check(
    flashblock: &Flashblock,
    header: &Header,
    block: Option<&Layer>,
    ran: &Ran,
) -> Result<(B256, Bloom), Error> {
    let diff = &flashblock.diff;
    same(flashblock, header, "gas used", diff.gas_used.to(), ran.progress.gas_used)?;
    let old = |list: fn(&Layer) -> &[Bytes]| block.map(list).unwrap_or_default();
    let all = |old: &[Bytes], new: &[Bytes]| {
        let list: Vec<&[u8]> = old.iter().chain(new).map(AsRef::as_ref).collect();
        ordered_trie_root_encoded(&list)
    };
    let receipts_root = all(old(|layer| &layer.receipts), &ran.receipts);
    same(flashblock, header, "receipts root", diff.receipts_root, receipts_root)?;
    let before = block.map_or(Bloom::ZERO, |layer| layer.bloom);
    let bloom = ran.records.iter().fold(before, |all, record| all | record.bloom);
    same(flashblock, header, "logs bloom", diff.logs_bloom, bloom)?;
    Ok((all(old(|layer| &layer.transactions), &diff.transactions), bloom))
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

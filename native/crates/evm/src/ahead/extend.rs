//! Flashblocks executed one on the other, and shown to readers.

use crate::ahead::flashblock::{Flashblock, Found};
use crate::ahead::layers::{self, Layers, SoFar};
use crate::ahead::piece::{Extension, Piece, Preconfirmation};
use crate::ahead::place::Place;
use crate::ahead::roots::Roots;
use crate::ahead::run::{self, Part, Progress, Ran, Run};
use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::base::locks;
use crate::model::claim::GasCeiling;
use crate::rules::spec::Stack;
use crate::state::core::StateCore;
use crate::state::hot::HotBlock;
use crate::state::loaded::Task;
use crate::state::overlay::{Overlay, Snapshot};
use crate::state::view::View;
use alloy_consensus::Header;
use alloy_primitives::{B256, Bloom, Keccak256};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Blocks that may be pre-confirmed at once, unless another number is set.
pub const PRECONFIRMED_DEPTH: usize = 5;

/// The blocks that are pre-confirmed. What readers see of them is in the state's core.
#[derive(Debug)]
pub(crate) struct Ahead {
    /// Held for moments only: not while a flashblock is executed. Readers do not take it.
    layers: Mutex<Layers>,
    depth: AtomicUsize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { layers: Mutex::default(), depth: AtomicUsize::new(PRECONFIRMED_DEPTH) }
    }
}

impl Ahead {
    /// Sets how many blocks may be pre-confirmed at once.
    pub(crate) fn set_depth(&self, depth: usize) {
        self.depth.store(depth.max(1), Ordering::Relaxed);
    }

    pub(super) fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed)
    }

    /// Drops what does not stand on the head any more. If the head is what was pre-confirmed first, the others stay.
    pub(crate) fn settle(&self, core: &StateCore) {
        let mut layers = self.lock();
        let head = core.hot.head();
        // What was sealed was taken back since, and may be sealed as it is pre-confirmed the next time.
        let is_sealed = |number: &u64| head.as_deref().is_some_and(|head| *number <= head.header.number);
        layers.sealed_otherwise = layers.sealed_otherwise.filter(is_sealed);
        if layers.blocks.is_empty() || head.as_deref().is_some_and(|head| layers.stand_on(head)) {
            return;
        }
        match head {
            Some(head) if layers.confirm_first(&core.hot, &head) => {
                layers.blocks.remove(0);
                (layers.base_number, layers.base_hash) = (head.header.number, head.hash);
            }
            head => {
                if let Some(head) = head {
                    layers.note_other_contents(&core.hot, &head);
                }
                layers.blocks.clear();
            }
        }
        publish(core, &mut layers);
    }

    /// Whether blocks went that name a head as their parent, but were executed on other contents; since it was asked last.
    pub(crate) fn take_lost(&self) -> bool {
        std::mem::take(&mut self.lock().lost)
    }

    /// The last block that was pre-confirmed without a hash and sealed with other contents.
    pub(crate) fn sealed_otherwise(&self) -> Option<u64> {
        self.lock().sealed_otherwise
    }

    /// Forgets pre-confirmed blocks from a number on. Whoever holds a view of them can go on reading it.
    pub(crate) fn drop_from(&self, core: &StateCore, number: u64) {
        let mut layers = self.lock();
        let count = layers.blocks.len();
        layers.blocks.retain(|block| block.header.number < number);
        if layers.blocks.len() != count {
            publish(core, &mut layers);
        }
    }

    /// The payloads of the blocks that are pre-confirmed, lowest first.
    pub(crate) fn payloads(&self) -> Vec<String> {
        self.lock().blocks.iter().map(|block| block.payload_id.clone()).collect()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Layers> {
        locks::lock(&self.layers)
    }
}

/// Shows readers the blocks that are left.
fn publish(core: &StateCore, layers: &mut Layers) {
    layers.epoch += 1;
    core.versions.show(layers.snapshot(layers.blocks.len()));
    core.working_ahead.end();
}

/// Refuses the flashblocks of chains that have none.
pub(super) fn expect_flashblocks(core: &StateCore) -> Result<(), Error> {
    if core.spec.stack == Stack::Op {
        return Ok(());
    }
    // Ethereum's blocks end with withdrawals and system calls, which the next piece would have to take back.
    Err(Error::Unsupported("flashblocks are supported on the OP stack only".into()))
}

pub(super) fn head_of(core: &StateCore) -> Result<Arc<HotBlock>, Error> {
    core.hot.head().ok_or_else(|| Error::Unavailable("hot state is empty".into()))
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

impl Ahead {
    /// Executes a flashblock on the one before it and compares what it gives with what it says. Readers do not see it
    /// yet: see `show`.
    pub(crate) fn run_flashblock(
        &self,
        core: &Arc<StateCore>,
        flashblock: &Flashblock,
        ceiling: GasCeiling,
        limits: &Limits,
    ) -> Result<Preconfirmation<Extension>, Error> {
        expect_flashblocks(core)?;
        let head = head_of(core)?;
        let generation = core.hot.generation();
        let start = self.start(core, &head, flashblock)?;
        let Start { epoch, keep, mut header, before, state, .. } = start;
        let gas_used = claimed(flashblock, &header, before, ceiling)?;
        core.working_ahead.begin(Task { generation, head: head.hash, block: task_of(flashblock) });
        let view = Arc::new(View::of_snapshot(Arc::clone(core), Arc::new(state), true));
        let is_first = flashblock.index == 0;
        let senders = run::senders(core, &header, before.transactions, &flashblock.diff.transactions, limits);
        let part = Part { header: &header, before, is_first, senders, gas_used };
        let ran = match run::run(&core.spec, &view, part, limits) {
            Ok(Run::Missing(missing)) => return Ok(Preconfirmation::Missing(missing)),
            Ok(Run::Done(ran)) => ran,
            Err(why) => {
                core.working_ahead.end();
                return Err(why);
            }
        };
        core.working_ahead.end();
        let (roots, bloom) = check(flashblock, &mut header, &start.so_far, &ran)?;

        let piece = start.so_far.piece(flashblock, header, &ran);
        Ok(Preconfirmation::Done(Extension {
            epoch,
            keep,
            payload_id: flashblock.payload_id.clone(),
            transactions: flashblock.diff.transactions.clone(),
            roots,
            bloom,
            ran,
            piece: Box::new(piece),
        }))
    }

    /// Shows readers a flashblock that was executed. The first one of a block that is there already replaces that
    /// block, and those above it are dropped. Refused, with everything as it was, if the head or what is pre-confirmed
    /// has changed since.
    pub(crate) fn show(&self, core: &StateCore, extension: Extension) -> Result<Box<Piece>, Error> {
        let mut layers = self.lock();
        let head = core.hot.head();
        if layers.epoch != extension.epoch || !head.is_some_and(|head| layers.stand_on(&head)) {
            return Err(Error::Unavailable("the head moved".into()));
        }
        let mut piece = layers.add(extension);
        piece.version = core.versions.show(layers.snapshot(layers.blocks.len()));
        Ok(piece)
    }

    fn start(&self, core: &StateCore, head: &HotBlock, flashblock: &Flashblock) -> Result<Start, Error> {
        let mut layers = self.lock();
        layers.base_on(head)?;
        let layers = &*layers;
        let (epoch, count) = (layers.epoch, layers.blocks.len());
        let place = Place { payload_id: &flashblock.payload_id, index: flashblock.index };
        let Some(base) = &flashblock.base else {
            let top = layers.to_go_on(place)?;
            return match top.executed().zip(layers.snapshot(count)) {
                Some((executed, state)) => {
                    let (before, so_far) = (executed.progress, executed.so_far.clone());
                    Ok(Start { epoch, keep: count, header: top.header.clone(), before, state, so_far })
                }
                None => place.refuse("another process executed what is before it"),
            };
        };
        let header = base.header(&core.spec)?;
        let keep = layers.to_stand_on(place, &header, head, self.depth())?;
        let mut state = layers.snapshot(keep).unwrap_or_else(|| Snapshot {
            base_number: layers.base_number,
            base_hash: layers.base_hash,
            overlay: Overlay::default(),
            header: head.header.clone(),
            hash: head.hash,
            index: 0,
        });
        state.hash = header.parent_hash;
        Ok(Start { epoch, keep, header, before: Progress::default(), state, so_far: SoFar::default() })
    }
}

/// What a flashblock says that its block has used, if it may say so.
fn claimed(flashblock: &Flashblock, header: &Header, before: Progress, ceiling: GasCeiling) -> Result<u64, Error> {
    let claimed: u64 = flashblock.diff.gas_used.to();
    ceiling.check(header.gas_limit).map_err(|why| why.of(&run::about(header)))?;
    if claimed < before.gas_used || claimed > header.gas_limit {
        let (used, limit) = (before.gas_used, header.gas_limit);
        let place = Place { payload_id: &flashblock.payload_id, index: flashblock.index };
        return place.refuse(&format!("it says gas used {claimed} after {used}, of a limit of {limit}"));
    }
    Ok(claimed)
}

/// Compares the block so far with what the flashblock says of it, and completes its header. Gives its roots and bloom.
fn check(
    flashblock: &Flashblock,
    header: &mut Header,
    so_far: &SoFar,
    ran: &Ran,
) -> Result<(Roots, Bloom), Error> {
    let diff = &flashblock.diff;
    same(flashblock, header, "gas used", diff.gas_used.to(), ran.progress.gas_used)?;
    let mut roots = so_far.roots.clone();
    roots.receipts.extend(&ran.receipts);
    roots.transactions.extend(&diff.transactions);
    let receipts_root = roots.receipts.root();
    if let Some(said) = diff.receipts_root {
        same(flashblock, header, "receipts root", said, receipts_root)?;
    }
    let bloom = layers::bloom(so_far.bloom, &ran.records);
    if let Some(said) = diff.logs_bloom {
        same(flashblock, header, "logs bloom", said, bloom)?;
    }
    if let Some(said) = diff.blob_gas_used {
        same(flashblock, header, "blob gas used", said.to(), ran.progress.da_footprint)?;
    }
    let transactions_root = roots.transactions.root();
    let blob_gas_used = ran.progress.da_footprint;
    diff.fill(header, Found { transactions_root, receipts_root, logs_bloom: bloom, blob_gas_used });
    // State root and withdrawals root are taken from the flashblock: the hash binds them to the rest of it.
    if let Some(said) = diff.header_hash() {
        same(flashblock, header, "block hash", said, header.hash_slow())?;
    }
    Ok((roots, bloom))
}

/// A name for executing a flashblock, which may have no hash.
fn task_of(flashblock: &Flashblock) -> B256 {
    let mut name = Keccak256::new();
    name.update(flashblock.payload_id.as_bytes());
    name.update(flashblock.index.to_be_bytes());
    name.update(flashblock.diff.header_hash().unwrap_or_default());
    name.finalize()
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

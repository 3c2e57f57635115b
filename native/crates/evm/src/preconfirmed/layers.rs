//! The pre-confirmed blocks and what is kept of each.

use super::Piece;
use super::changes::{Changes, PieceChanges};
use super::flashblock::Flashblock;
use super::overlay::{Overlay, Snapshot};
use super::run::{Progress, Ran};
use crate::hot::HotBlock;
use crate::outcome::{Outcome, ReceiptRecord};
use alloy_consensus::{Block, BlockBody, Header};
use alloy_primitives::{B256, Bloom, Bytes};
use alloy_trie::root::ordered_trie_root_encoded;
use op_alloy_consensus::OpTxEnvelope;
use std::sync::Arc;

/// The pre-confirmed blocks, ascending, and the block of hot state below them.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    pub(super) base_number: u64,
    pub(super) base_hash: B256,
    pub(super) blocks: Vec<Layer>,
}

/// One pre-confirmed block so far.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) payload_id: String,
    pub(super) index: u64,
    pub(super) header: Header,
    pub(super) hash: B256,
    pub(super) progress: Progress,
    pub(super) bloom: Bloom,
    pub(super) transactions: Vec<Bytes>,
    pub(super) receipts: Vec<Bytes>,
    pub(super) records: Vec<ReceiptRecord>,
    pub(super) logs: usize,
    pub(super) changes: Changes,
    pub(super) pieces: Vec<Done>,
}

/// A piece that was executed: enough to go on after it with other transactions than those that came.
#[derive(Debug)]
pub(super) struct Done {
    /// How far the block was after it.
    pub(super) progress: Progress,
    pub(super) changes: PieceChanges,
}

impl Layers {
    pub(super) fn stand_on(&self, head: &HotBlock) -> bool {
        self.base_number == head.header.number && self.base_hash == head.hash
    }

    /// Whether `head` is the first block, so that those above it are still right.
    pub(super) fn confirm_first(&self, head: &HotBlock) -> bool {
        let [first, second, ..] = self.blocks.as_slice() else {
            return false;
        };
        head.header.number == self.base_number + 1
            && head.header.parent_hash == self.base_hash
            && second.header.parent_hash == head.hash
            && first.changes.diff() == head.diff
    }

    /// The overlay of the first `count` blocks.
    pub(super) fn merge(&self, count: usize) -> Overlay {
        let mut overlay = Overlay::default();
        for (index, block) in self.blocks.iter().take(count).enumerate() {
            if index + 1 < count {
                overlay.add_hash(block.header.number, block.hash);
            }
            overlay.apply(&block.changes.diff());
        }
        overlay
    }

    pub(super) fn snapshot(&self, top: &Layer, overlay: Arc<Overlay>) -> Snapshot {
        Snapshot {
            base_number: self.base_number,
            base_hash: self.base_hash,
            overlay,
            header: top.header.clone(),
            hash: top.hash,
            index: top.index,
        }
    }

    /// Takes a piece in, after every check. Its version is not known yet.
    pub(super) fn add(
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
        let diff = ran.changes.diff.clone();
        let (mut first_transaction, mut first_log) = (0, 0);
        if let Some(layer) = self.blocks.last_mut() {
            (first_transaction, first_log) = (layer.transactions.len(), layer.logs);
            layer.changes.add(&ran.changes);
            // One without transactions changes nothing, and however many come, they must not add up.
            if layer.pieces.is_empty() || ran.progress.transactions > layer.progress.transactions {
                layer.pieces.push(Done { progress: ran.progress, changes: ran.changes });
            }
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
        let outcome = Outcome { hash, header, block, receipts: ran.records, diff };
        Piece { version: 0, index: flashblock.index, first_transaction, first_log, outcome }
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
            pieces: Vec::new(),
        }
    }
}

/// The root of a list of which the first part is from before.
pub(super) fn root(before: &[Bytes], new: &[Bytes]) -> B256 {
    let list: Vec<&[u8]> = before.iter().chain(new).map(AsRef::as_ref).collect();
    ordered_trie_root_encoded(&list)
}

/// The bloom of a block, given that of its part from before.
pub(super) fn bloom(before: Bloom, new: &[ReceiptRecord]) -> Bloom {
    new.iter().fold(before, |all, record| all | record.bloom)
}

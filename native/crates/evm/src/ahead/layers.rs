//! The pre-confirmed blocks and what is kept of each.

use crate::ahead::changes::{Changes, PieceChanges};
use crate::ahead::flashblock::Flashblock;
use crate::ahead::piece::{Extension, Piece};
use crate::ahead::roots::Roots;
use crate::ahead::run::{Progress, Ran};
use crate::model::diff::Diff;
use crate::model::outcome::{Outcome, ReceiptRecord};
use crate::state::hot::{HotBlock, HotState};
use crate::state::overlay::{Before, Overlay, Parts, Snapshot};
use alloy_consensus::Header;
use alloy_primitives::{B256, Bloom, Bytes};
use alloy_rlp::{EMPTY_LIST_CODE, Encodable, Header as RlpHeader};
use alloy_trie::root::ordered_trie_root_encoded;
use std::sync::Arc;

/// The pre-confirmed blocks, ascending, and the block of hot state below them.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// Grows with every change of what is here.
    pub(super) epoch: u64,
    pub(super) base_number: u64,
    pub(super) base_hash: B256,
    pub(super) blocks: Vec<Layer>,
    /// Whether blocks went that name a head as their parent, since somebody asked.
    pub(super) lost: bool,
    /// The last block without a hash that was sealed with other contents.
    pub(super) sealed_otherwise: Option<u64>,
}

/// One pre-confirmed block so far.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) payload_id: String,
    pub(super) index: u64,
    pub(super) header: Header,
    /// Nothing where its builder does not say it: then the block above it is the first to.
    pub(super) hash: Option<B256>,
    /// What it changed, for readers.
    pub(super) parts: Parts,
    pub(super) contents: Contents,
}

/// What is known of how a block came to change what it did.
#[derive(Debug)]
pub(super) enum Contents {
    Executed(Box<Executed>),
    /// Another process executed it.
    Told(Told),
}

/// A block that was executed here, so far.
#[derive(Debug, Default)]
pub(super) struct Executed {
    pub(super) progress: Progress,
    pub(super) so_far: SoFar,
    pub(super) records: Vec<ReceiptRecord>,
    pub(super) changes: Changes,
    pub(super) pieces: Vec<Done>,
}

/// How much of a block was told so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) transactions: usize,
    pub(super) logs: usize,
}

/// What the roots of a block are made of. Shared with whoever executes the next piece, who has let go of it when that
/// is added: so it is changed in place.
#[derive(Debug, Clone, Default)]
pub(super) struct SoFar {
    pub(super) transactions: Arc<Vec<Bytes>>,
    pub(super) receipts: Arc<Vec<Bytes>>,
    pub(super) roots: Roots,
    pub(super) bloom: Bloom,
    pub(super) logs: usize,
}

impl SoFar {
    /// The next piece as it is told. Its version is not known yet.
    pub(super) fn piece(&self, flashblock: &Flashblock, header: Header, ran: &Ran) -> Piece {
        let block = encode_block(&header, &flashblock.diff.transactions).into();
        let (receipts, diff) = (ran.records.clone(), ran.changes.diff.clone());
        let hash = flashblock.diff.block_hash().unwrap_or_default();
        Piece {
            version: 0,
            index: flashblock.index,
            first_transaction: self.transactions.len(),
            first_log: self.logs,
            outcome: Outcome { hash, header, block, receipts, diff },
        }
    }
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
    pub(super) fn confirm_first(&self, hot: &HotState, head: &HotBlock) -> bool {
        let [first, second, ..] = self.blocks.as_slice() else {
            return false;
        };
        head.header.number == self.base_number + 1
            && head.header.parent_hash == self.base_hash
            && second.header.parent_hash == head.hash
            && first.has_contents_of(hot, head)
    }

    /// Takes note of a head that has other contents than were pre-confirmed, where nobody can tell that by its hash.
    pub(super) fn note_other_contents(&mut self, hot: &HotState, head: &HotBlock) {
        let Some(first) = self.blocks.first() else { return };
        let is_hashless = first.hash.is_none() && first.header.number == head.header.number;
        if is_hashless && !first.has_contents_of(hot, head) {
            self.sealed_otherwise = Some(head.header.number);
            self.lost |= self.blocks.get(1).is_some_and(|above| above.header.parent_hash == head.hash);
        }
    }

    /// The state after the first `count` blocks; `None` for none.
    pub(super) fn snapshot(&self, count: usize) -> Option<Snapshot> {
        let blocks = self.blocks.get(..count)?;
        let top = blocks.last()?;
        let hash = top.hash.unwrap_or_default();
        // Whatever its own builder said of a block, the one above names its hash.
        let named = blocks.iter().skip(1).map(|above| above.header.parent_hash).chain([hash]);
        let parts = blocks.iter().zip(named).map(|(layer, hash)| (&layer.parts, layer.header.number, hash));
        Some(Snapshot {
            base_number: self.base_number,
            base_hash: self.base_hash,
            overlay: Overlay::of(parts),
            header: top.header.clone(),
            hash,
            index: top.index,
        })
    }

    /// Takes a piece in, after every check, and gives it back.
    pub(super) fn add(&mut self, extension: Extension) -> Box<Piece> {
        let Extension { keep, payload_id, transactions, roots, bloom, ran, piece, .. } = extension;
        let Ran { progress, receipts, records, changes } = *ran;
        let (index, Outcome { hash, header, .. }) = (piece.index, &piece.outcome);
        let hash = Some(*hash).filter(|hash| !hash.is_zero());
        let contents = || Contents::Executed(Box::default());
        let layer = self.grow(keep, &payload_id, (index, header.clone(), hash), &changes.diff, contents);
        if let Some(Contents::Executed(executed)) = layer.map(|layer| &mut layer.contents) {
            executed.changes.add(&changes);
            // One without transactions changes nothing, and however many come, they must not add up.
            if executed.pieces.is_empty() || progress.transactions > executed.progress.transactions {
                executed.pieces.push(Done { progress, changes });
            }
            executed.progress = progress;
            let so_far = &mut executed.so_far;
            so_far.roots = roots;
            so_far.bloom = bloom;
            so_far.logs += records.iter().map(|record| record.logs.len()).sum::<usize>();
            Arc::make_mut(&mut so_far.transactions).extend(transactions);
            Arc::make_mut(&mut so_far.receipts).extend(receipts);
            executed.records.extend(records);
        }
        piece
    }

    /// Puts what a flashblock changed on top of the first `keep` blocks; gives the block it is of, with `contents` where it begins that.
    pub(super) fn grow(
        &mut self,
        keep: usize,
        payload_id: &str,
        (index, header, hash): (u64, Header, Option<B256>),
        diff: &Diff,
        contents: impl FnOnce() -> Contents,
    ) -> Option<&mut Layer> {
        self.epoch += 1;
        self.blocks.truncate(keep);
        if index == 0 {
            let (payload_id, parts, contents) = (payload_id.to_owned(), Parts::default(), contents());
            self.blocks.push(Layer { payload_id, index, header: Header::default(), hash, parts, contents });
        }
        let layer = self.blocks.last_mut()?;
        layer.parts.add(diff);
        (layer.index, layer.header, layer.hash) = (index, header, hash);
        Some(layer)
    }
}

impl Layer {
    pub(super) fn executed(&self) -> Option<&Executed> {
        match &self.contents {
            Contents::Executed(executed) => Some(executed),
            Contents::Told(_) => None,
        }
    }

    /// Whether a sealed block of its number has its contents.
    fn has_contents_of(&self, hot: &HotState, sealed: &HotBlock) -> bool {
        match &self.contents {
            Contents::Executed(executed) => executed.changes.diff() == sealed.diff,
            // What was there before it was not told. A header binds all of it, but for the roots that its builder may not say.
            Contents::Told(_) => {
                let Header { state_root, withdrawals_root, number, .. } = sealed.header;
                let same_header = Header { state_root, withdrawals_root, ..self.header.clone() } == sealed.header;
                let before = Before {
                    account: |address| hot.account(address, number.saturating_sub(1)),
                    slot: |address, slot| hot.slot(address, slot, number.saturating_sub(1)),
                };
                same_header || self.parts.amount_to(&sealed.diff, &before)
            }
        }
    }
}

/// RLP of a block of these transactions (as signed: typed, or RLP of a legacy one), without ommers or withdrawals.
pub(super) fn encode_block(header: &Header, transactions: &[Bytes]) -> Vec<u8> {
    // In a block, typed ones are strings.
    let is_list = |raw: &Bytes| raw.first().is_some_and(|byte| *byte >= EMPTY_LIST_CODE);
    let size = |raw: &Bytes| if is_list(raw) { raw.len() } else { raw.length() };
    let list = RlpHeader { list: true, payload_length: transactions.iter().map(size).sum() };
    let empty_lists = [EMPTY_LIST_CODE; 2];
    let payload_length = header.length() + list.length_with_payload() + empty_lists.len();
    let whole = RlpHeader { list: true, payload_length };
    let mut out = Vec::with_capacity(whole.length_with_payload());
    whole.encode(&mut out);
    header.encode(&mut out);
    list.encode(&mut out);
    for raw in transactions {
        if is_list(raw) {
            out.extend_from_slice(raw);
        } else {
            raw.encode(&mut out);
        }
    }
    out.extend_from_slice(&empty_lists);
    out
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

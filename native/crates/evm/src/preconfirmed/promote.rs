//! Sealed blocks that were pre-confirmed.

use super::changes::Changes;
use super::layers::{self, Layer, Layers};
use super::overlay::{Overlay, Snapshot};
use super::run::{self, Run};
use crate::block::check_state;
use crate::chain::{Chain, read_header};
use crate::diff::Diff;
use crate::error::{Error, malformed};
use crate::key::Missing;
use crate::loaded::Task;
use crate::outcome::{Outcome, ReceiptRecord};
use crate::verify::{check_contents, decode, recover};
use crate::view::View;
use alloy_consensus::{Block, BlockBody, Header};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{B256, Bloom, Bytes};
use op_alloy_consensus::OpTxEnvelope;
use std::sync::Arc;

/// What became of a sealed block that was pre-confirmed.
#[derive(Debug)]
pub struct Promotion {
    /// Transactions that were pre-confirmed in it.
    pub preconfirmed: usize,
    /// In what it differs from what was pre-confirmed.
    pub difference: Option<Difference>,
    pub result: Promoted,
}

/// Whether a sealed block is the head now.
#[derive(Debug)]
pub enum Promoted {
    /// It is. What was pre-confirmed and is in it was not executed again.
    Done(Box<Outcome>),
    /// Not yet: state that executing the rest of it lacked. Provide it to the head view and promote again.
    Missing(Missing),
    /// No, and nothing has changed: execute it.
    No,
}

/// The first thing in which a sealed block differs from its pre-confirmed version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The transaction with this index is another one, or only one of them has it.
    Transaction(usize),
    /// Same transactions, but they ran in another context: the header field.
    Context(&'static str),
    /// Same transactions, other results: the header field.
    Results(&'static str),
}

/// What the contents of a sealed block are, or why that is not known.
enum Contents {
    Known(Vec<ReceiptRecord>, Diff),
    Missing(Missing),
    /// They are not what its header says.
    Other(&'static str),
}

impl Chain {
    /// Makes a sealed block (RLP) the head, if it is the first pre-confirmed one: without executing it where it has
    /// what was pre-confirmed, and else from the last piece on that it shares. `None` if no block of its number was
    /// pre-confirmed on the head. Executing a block instead drops what was pre-confirmed and does not fit.
    pub fn promote(self: &Arc<Self>, rlp: &[u8]) -> Result<Option<Promotion>, Error> {
        let mut commitment = self.commitment();
        let layers = self.preconfirmed().lock();
        let (Some(first), Some(head)) = (layers.blocks.first(), self.hot().head()) else {
            return Ok(None);
        };
        let header = read_header(rlp)?;
        if !layers.stand_on(&head)
            || header.number != first.header.number
            || header.parent_hash != layers.base_hash
        {
            return Ok(None);
        }
        let hash = header.hash_slow();
        let block = decode::<OpTxEnvelope>(rlp)?;
        check_contents(self.spec(), &block)?;
        let difference = first.difference(&block);
        let preconfirmed = first.transactions.len();
        let promotion = |difference: Option<Difference>, result: Promoted| {
            Ok(Some(Promotion { preconfirmed, difference, result }))
        };
        let contents = match difference {
            None => Contents::Known(first.records.clone(), first.changes.diff()),
            Some(Difference::Transaction(index)) if other_context(&first.header, &header).is_none() => {
                // A piece that shares nothing with the block is none to go on from.
                let Some(pieces) = first.pieces_before(index) else {
                    return promotion(difference, Promoted::No);
                };
                self.resume(&layers, first, pieces, &block, hash)?
            }
            Some(_) => return promotion(difference, Promoted::No),
        };
        let (receipts, diff) = match contents {
            Contents::Known(receipts, diff) => (receipts, diff),
            Contents::Missing(missing) => return promotion(difference, Promoted::Missing(missing)),
            Contents::Other(field) => return promotion(Some(Difference::Results(field)), Promoted::No),
        };
        drop(layers);
        let outcome = Outcome { hash, header, block: Bytes::copy_from_slice(rlp), receipts, diff };
        if let Some(mut complete) = commitment.take() {
            check_state(self.spec(), &outcome.header, &outcome.diff, &mut complete)?;
            *commitment = Some(complete);
        }
        self.advance(outcome.hash, outcome.header.clone(), outcome.diff.clone())?;
        promotion(difference, Promoted::Done(Box::new(outcome)))
    }

    /// The same for the block with this hash, if that is what was pre-confirmed first: its contents are here, and nobody
    /// has to be asked for them. `None` if another block, or none, is pre-confirmed there.
    pub fn promote_sealed(self: &Arc<Self>, hash: B256) -> Result<Option<Promotion>, Error> {
        let block = match self.preconfirmed().lock().blocks.first() {
            Some(first) if first.hash == hash => first.encode()?,
            _ => return Ok(None),
        };
        self.promote(&block)
    }

    /// Executes what a sealed block has beyond the first `count` pieces of its pre-confirmed version.
    fn resume(
        self: &Arc<Self>,
        layers: &Layers,
        layer: &Layer,
        count: usize,
        block: &Block<OpTxEnvelope>,
        hash: B256,
    ) -> Result<Contents, Error> {
        let header = &block.header;
        let pieces = &layer.pieces[..count];
        let before = pieces.last().map(|piece| piece.progress).unwrap_or_default();
        let (mut overlay, mut changes) = (Overlay::default(), Changes::default());
        for piece in pieces {
            overlay.apply(&piece.changes.diff);
            changes.add(&piece.changes);
        }
        let state = Snapshot {
            base_number: layers.base_number,
            base_hash: layers.base_hash,
            overlay: Arc::new(overlay),
            header: header.clone(),
            hash,
            index: 0,
        };
        let view = Arc::new(View::of_snapshot(Arc::clone(self), Arc::new(state), true));
        let sent = recover(self.spec(), block, before.transactions)?;
        // The task that executing the whole block would be: what is loaded now is not loaded again then.
        let generation = self.hot().generation();
        self.working().begin(Task { generation, head: layers.base_hash, block: hash });
        let ran = match run::run(self.spec(), &view, header, before, false, &sent) {
            Ok(Run::Done(ran)) => ran,
            Ok(Run::Missing(missing)) => return Ok(Contents::Missing(missing)),
            // If it is invalid, executing all of it says so.
            Err(Error::InvalidBlock(_)) => return Ok(Contents::Other("transactions")),
            Err(why) => return Err(why),
        };
        changes.add(&ran.changes);
        let mut records = layer.records[..before.transactions].to_vec();
        records.extend_from_slice(&ran.records);
        let found = Results {
            gas_used: ran.progress.gas_used,
            receipts_root: layers::root(&layer.receipts[..before.transactions], &ran.receipts),
            logs_bloom: layers::bloom(Bloom::ZERO, &records),
            blob_gas_used: header.excess_blob_gas.map(|_| ran.progress.da_footprint),
        };
        Ok(match found.difference(&Results::of(header)) {
            Some(field) => Contents::Other(field),
            None => Contents::Known(records, changes.diff()),
        })
    }
}

impl Layer {
    /// RLP of the block so far.
    fn encode(&self) -> Result<Vec<u8>, Error> {
        let transactions = self.transactions.iter().map(|bytes| OpTxEnvelope::decode_2718_exact(bytes));
        let transactions: Vec<_> =
            transactions.collect::<Result<_, _>>().map_err(|why| malformed("flashblock", why))?;
        let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Default::default()) };
        Ok(alloy_rlp::encode(Block { header: self.header.clone(), body }))
    }

    fn difference(&self, sealed: &Block<OpTxEnvelope>) -> Option<Difference> {
        let (ours, theirs) = (&self.transactions, &sealed.body.transactions);
        let differs = |index: &usize| match (ours.get(*index), theirs.get(*index)) {
            (Some(ours), Some(theirs)) => theirs.encoded_2718() != **ours,
            _ => true,
        };
        if let Some(index) = (0..ours.len().max(theirs.len())).find(differs) {
            return Some(Difference::Transaction(index));
        }
        if let Some(field) = other_context(&self.header, &sealed.header) {
            return Some(Difference::Context(field));
        }
        let (ours, theirs) = (Results::of(&self.header), Results::of(&sealed.header));
        ours.difference(&theirs).map(Difference::Results)
    }

    /// How many pieces have only transactions before `index`, if any.
    fn pieces_before(&self, index: usize) -> Option<usize> {
        let count = self.pieces.iter().take_while(|piece| piece.progress.transactions <= index).count();
        (count > 0).then_some(count)
    }
}

/// The first field of what transactions can see of their block that differs.
fn other_context(ours: &Header, theirs: &Header) -> Option<&'static str> {
    let fields = [
        ("timestamp", ours.timestamp == theirs.timestamp),
        ("gas limit", ours.gas_limit == theirs.gas_limit),
        ("base fee", ours.base_fee_per_gas == theirs.base_fee_per_gas),
        ("fee recipient", ours.beneficiary == theirs.beneficiary),
        ("prev randao", ours.mix_hash == theirs.mix_hash),
        ("difficulty", ours.difficulty == theirs.difficulty),
        ("extra data", ours.extra_data == theirs.extra_data),
        ("parent beacon block root", ours.parent_beacon_block_root == theirs.parent_beacon_block_root),
        ("excess blob gas", ours.excess_blob_gas == theirs.excess_blob_gas),
    ];
    fields.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// What a header says that executing its block gives, as far as it is known without the complete state.
struct Results {
    gas_used: u64,
    receipts_root: B256,
    logs_bloom: Bloom,
    blob_gas_used: Option<u64>,
}

impl Results {
    const fn of(header: &Header) -> Self {
        Self {
            gas_used: header.gas_used,
            receipts_root: header.receipts_root,
            logs_bloom: header.logs_bloom,
            blob_gas_used: header.blob_gas_used,
        }
    }

    fn difference(&self, other: &Self) -> Option<&'static str> {
        let fields = [
            ("gas used", self.gas_used == other.gas_used),
            ("receipts root", self.receipts_root == other.receipts_root),
            ("logs bloom", self.logs_bloom == other.logs_bloom),
            ("blob gas used", self.blob_gas_used == other.blob_gas_used),
        ];
        fields.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
    }
}

//! Sealed blocks that were pre-confirmed.

use crate::ahead::changes::Changes;
use crate::ahead::extend::Ahead;
use crate::ahead::layers::{self, Executed, Layer, Layers, encode_block};
use crate::ahead::run::{self, Part, Progress, Run};
use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::model::diff::Diff;
use crate::model::header::read_header;
use crate::model::key::Missing;
use crate::model::outcome::{Outcome, ReceiptRecord};
use crate::model::verify::{check_contents, check_withdrawals, decode};
use crate::state::core::StateCore;
use crate::state::loaded::Task;
use crate::state::overlay::{Overlay, Parts, Snapshot};
use crate::state::view::View;
use alloy_consensus::{Block, BlockBody, Header};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bloom, Bytes};
use op_alloy_consensus::OpTxEnvelope;
use std::sync::Arc;

/// What became of a sealed block that was pre-confirmed.
#[derive(Debug)]
pub struct Promotion<T = Box<Outcome>> {
    /// Transactions that were pre-confirmed in it.
    pub preconfirmed: usize,
    /// In what it differs from what was pre-confirmed.
    pub difference: Option<Difference>,
    pub result: Promoted<T>,
}

impl<T> Promotion<T> {
    /// The same with something else in place of what is done.
    pub fn and_then<R>(self, done: impl FnOnce(T) -> Result<R, Error>) -> Result<Promotion<R>, Error> {
        let result = match self.result {
            Promoted::Done(value) => Promoted::Done(done(value)?),
            Promoted::Missing(missing) => Promoted::Missing(missing),
            Promoted::No => Promoted::No,
        };
        Ok(Promotion { preconfirmed: self.preconfirmed, difference: self.difference, result })
    }
}

/// Whether a sealed block is the head now, or can be made the head (`Ready`).
#[derive(Debug)]
pub enum Promoted<T = Box<Outcome>> {
    /// It is. What was pre-confirmed and is in it was not executed again.
    Done(T),
    /// Not yet: state that executing the rest of it lacked. Provide it to the head view and promote again.
    Missing(Missing),
    /// No, and nothing has changed: execute it.
    No,
}

/// What a sealed header has that a pre-confirmed block need not have.
#[derive(Debug, Clone, Copy)]
pub struct SealedRoots {
    pub state_root: B256,
    pub withdrawals_root: Option<B256>,
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

impl Ahead {
    /// Finds what a sealed block (RLP) gives, if it is the first pre-confirmed one: without executing it where it has
    /// what was pre-confirmed, and else from the last piece on that it shares. `None` if no block of its number was
    /// pre-confirmed on the head. Nothing changes.
    pub(crate) fn run_promotion(
        &self,
        core: &Arc<StateCore>,
        rlp: &[u8],
        limits: &Limits,
    ) -> Result<Option<Promotion>, Error> {
        let header = read_header(rlp)?;
        if !self.is_first(core, &header) {
            return Ok(None);
        }
        let hash = header.hash_slow();
        let block = decode::<OpTxEnvelope>(rlp)?;
        check_contents(&core.spec, &block)?;
        let (preconfirmed, difference, known) = {
            let layers = self.lock();
            let first = layers.blocks.first().filter(|first| first.header.number == header.number);
            let Some(first) = first.and_then(First::of) else {
                return Ok(None);
            };
            let difference = first.difference(&block);
            let preconfirmed = first.executed.so_far.transactions.len();
            (preconfirmed, difference, known(&layers, first, difference, &header, hash))
        };
        let promotion = |difference: Option<Difference>, result: Promoted| {
            Ok(Some(Promotion { preconfirmed, difference, result }))
        };
        let contents = match known {
            None => return promotion(difference, Promoted::No),
            Some(Known::All(receipts, diff)) => Contents::Known(receipts, diff),
            Some(Known::Pieces(pieces)) => resume(core, *pieces, &block, hash, limits)?,
        };
        let (receipts, diff) = match contents {
            Contents::Known(receipts, diff) => (receipts, diff),
            Contents::Missing(missing) => return promotion(difference, Promoted::Missing(missing)),
            Contents::Other(field) => return promotion(Some(Difference::Results(field)), Promoted::No),
        };
        let outcome = Box::new(Outcome { hash, header, block: Bytes::copy_from_slice(rlp), receipts, diff });
        promotion(difference, Promoted::Done(outcome))
    }

    /// What the block that was pre-confirmed first gives, if it has this hash: by itself, or with what its builder left out.
    /// Its transactions root was computed of what was executed, so that nothing is left to be compared.
    pub(crate) fn run_sealed(
        &self,
        core: &StateCore,
        hash: B256,
        roots: Option<SealedRoots>,
    ) -> Result<Option<Promotion>, Error> {
        let layers = self.lock();
        let Some(First { layer: first, executed }) = layers.blocks.first().and_then(First::of) else {
            return Ok(None);
        };
        let header = match roots {
            _ if first.hash == Some(hash) => first.header.clone(),
            Some(SealedRoots { state_root, withdrawals_root }) => {
                Header { state_root, withdrawals_root, ..first.header.clone() }
            }
            None => return Ok(None),
        };
        if header.hash_slow() != hash || !stands_on(&layers, core, &header) {
            return Ok(None);
        }
        let body = BlockBody { withdrawals: Some(Default::default()), ..Default::default() };
        check_withdrawals(&core.spec, &Block::<OpTxEnvelope> { header: header.clone(), body })?;
        let block = encode_block(&header, &executed.so_far.transactions).into();
        let (receipts, diff) = (executed.records.clone(), executed.changes.diff());
        let outcome = Box::new(Outcome { hash, header, block, receipts, diff });
        let preconfirmed = executed.so_far.transactions.len();
        Ok(Some(Promotion { preconfirmed, difference: None, result: Promoted::Done(outcome) }))
    }

    /// Whether a block of this header's number and parent is the lowest that is pre-confirmed.
    fn is_first(&self, core: &StateCore, header: &Header) -> bool {
        stands_on(&self.lock(), core, header)
    }
}

fn stands_on(layers: &Layers, core: &StateCore, header: &Header) -> bool {
    let stands = core.hot.head().is_some_and(|head| layers.stand_on(&head));
    let first = layers.blocks.first().map(|first| first.header.number);
    stands && first == Some(header.number) && header.parent_hash == layers.base_hash
}

/// What is here of a sealed block; `None` if nothing of it can be used.
fn known(
    layers: &Layers,
    first: First<'_>,
    difference: Option<Difference>,
    header: &Header,
    hash: B256,
) -> Option<Known> {
    match difference {
        None => Some(Known::All(first.executed.records.clone(), first.executed.changes.diff())),
        // A piece that shares nothing with the block is none to go on from.
        Some(Difference::Transaction(index)) if other_context(&first.layer.header, header).is_none() => {
            let count = first.executed.pieces_before(index)?;
            Some(Known::Pieces(Box::new(Pieces::new(layers, first.executed, count, header, hash))))
        }
        Some(_) => None,
    }
}

/// Executes what a sealed block has beyond some pieces of its pre-confirmed version.
fn resume(
    core: &Arc<StateCore>,
    pieces: Pieces,
    block: &Block<OpTxEnvelope>,
    hash: B256,
    limits: &Limits,
) -> Result<Contents, Error> {
    let Pieces { before, mut records, receipts, mut changes, state } = pieces;
    let header = &block.header;
    let head = state.base_hash;
    let view = Arc::new(View::of_snapshot(Arc::clone(core), Arc::new(state), true));
    let limits = limits.with_time_for(header.gas_used);
    let transactions = &block.body.transactions;
    let senders = core.senders.of_block(&core.spec, header, transactions, before.transactions, &limits);
    senders.make_all().map_err(|why| why.of(&format!("block {} {hash}", header.number)))?;
    // The task that executing the whole block would be: what is loaded now is not loaded again then.
    let generation = core.hot.generation();
    core.working.begin(Task { generation, head, block: hash });
    let part = Part { header, before, is_first: false, senders, gas_used: header.gas_used };
    let ran = match run::run(&core.spec, &view, part, &limits) {
        Ok(Run::Done(ran)) => ran,
        Ok(Run::Missing(missing)) => return Ok(Contents::Missing(missing)),
        // If it is invalid, executing all of it says so.
        Err(Error::InvalidBlock(_) | Error::Native(_)) => return Ok(Contents::Other("transactions")),
        Err(why) => return Err(why),
    };
    changes.add(&ran.changes);
    records.extend_from_slice(&ran.records);
    let found = Results {
        gas_used: ran.progress.gas_used,
        receipts_root: layers::root(&receipts, &ran.receipts),
        logs_bloom: layers::bloom(Bloom::ZERO, &records),
        blob_gas_used: header.excess_blob_gas.map(|_| ran.progress.da_footprint),
    };
    Ok(match found.difference(&Results::of(header)) {
        Some(field) => Contents::Other(field),
        None => Contents::Known(records, changes.diff()),
    })
}

/// What is here of a sealed block.
enum Known {
    All(Vec<ReceiptRecord>, Diff),
    Pieces(Box<Pieces>),
}

/// The first pieces of a pre-confirmed block, to go on after them.
struct Pieces {
    /// How far the block is with them.
    before: Progress,
    records: Vec<ReceiptRecord>,
    /// As the receipts root has them.
    receipts: Vec<Bytes>,
    changes: Changes,
    /// The state after them, in the context of the sealed block.
    state: Snapshot,
}

impl Pieces {
    fn new(layers: &Layers, executed: &Executed, count: usize, header: &Header, hash: B256) -> Self {
        let pieces = &executed.pieces[..count];
        let before = pieces.last().map(|piece| piece.progress).unwrap_or_default();
        let (mut parts, mut changes) = (Parts::default(), Changes::default());
        for piece in pieces {
            parts.add(&piece.changes.diff);
            changes.add(&piece.changes);
        }
        Self {
            before,
            records: executed.records[..before.transactions].to_vec(),
            receipts: executed.so_far.receipts[..before.transactions].to_vec(),
            changes,
            state: Snapshot {
                base_number: layers.base_number,
                base_hash: layers.base_hash,
                overlay: Overlay::of(std::iter::once((&parts, header.number, hash))),
                header: header.clone(),
                hash,
                index: 0,
            },
        }
    }
}

/// The lowest block, where it was executed here.
#[derive(Clone, Copy)]
struct First<'a> {
    layer: &'a Layer,
    executed: &'a Executed,
}

impl<'a> First<'a> {
    /// Of one that another process executed there is not enough to tell what it gives when it is sealed.
    fn of(layer: &'a Layer) -> Option<Self> {
        layer.executed().map(|executed| Self { layer, executed })
    }

    fn difference(self, sealed: &Block<OpTxEnvelope>) -> Option<Difference> {
        let (ours, theirs) = (&self.executed.so_far.transactions, &sealed.body.transactions);
        let differs = |index: &usize| match (ours.get(*index), theirs.get(*index)) {
            (Some(ours), Some(theirs)) => theirs.encoded_2718() != **ours,
            _ => true,
        };
        if let Some(index) = (0..ours.len().max(theirs.len())).find(differs) {
            return Some(Difference::Transaction(index));
        }
        if let Some(field) = other_context(&self.layer.header, &sealed.header) {
            return Some(Difference::Context(field));
        }
        let (ours, theirs) = (Results::of(&self.layer.header), Results::of(&sealed.header));
        ours.difference(&theirs).map(Difference::Results)
    }
}

impl Executed {
    /// How many pieces have only transactions before `index`, if any.
    fn pieces_before(&self, index: usize) -> Option<usize> {
        let count = self.pieces.iter().take_while(|piece| piece.progress.transactions <= index).count();
        (count > 0).then_some(count)
    }
}

/// The first field of what transactions can see of their block that differs.
pub(super) fn other_context(ours: &Header, theirs: &Header) -> Option<&'static str> {
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

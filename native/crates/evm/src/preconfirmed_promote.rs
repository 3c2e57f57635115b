//! Sealed blocks that were pre-confirmed.

use crate::block::check_state;
use crate::chain::{Chain, read_header};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::preconfirmed::Layer;
use crate::verify::{check_contents, decode};
use alloy_consensus::Block;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::Bytes;
use op_alloy_consensus::OpTxEnvelope;

/// What became of a sealed block.
#[derive(Debug)]
pub enum Promotion {
    /// It is as it was pre-confirmed, and the head now.
    Promoted(Box<Outcome>),
    /// It is another one than was pre-confirmed: execute it.
    Differs(Difference),
    /// No block of this number was pre-confirmed on the head: execute it.
    Unknown,
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

impl Chain {
    /// Makes a sealed block (RLP) the head without executing it, if it is the first pre-confirmed one. Else nothing
    /// happens; executing it drops what was pre-confirmed and does not fit.
    ///
    /// Executing only from the first difference on would need the overlay before each piece: later.
    pub fn promote(&self, rlp: &[u8]) -> Result<Promotion, Error> {
        let mut commitment = self.commitment();
        let outcome = {
            let layers = self.preconfirmed().lock();
            let (Some(first), Some(head)) = (layers.blocks.first(), self.hot().head()) else {
                return Ok(Promotion::Unknown);
            };
            let header = read_header(rlp)?;
            if !layers.stand_on(&head)
                || header.number != first.header.number
                || header.parent_hash != layers.base_hash
            {
                return Ok(Promotion::Unknown);
            }
            let block = decode::<OpTxEnvelope>(rlp)?;
            if let Some(difference) = first.difference(&block) {
                return Ok(Promotion::Differs(difference));
            }
            check_contents(self.spec(), &block)?;
            Outcome {
                hash: header.hash_slow(),
                header,
                block: Bytes::copy_from_slice(rlp),
                receipts: first.records.clone(),
                diff: first.changes.diff(),
            }
        };
        if let Some(mut complete) = commitment.take() {
            check_state(self.spec(), &outcome.header, &outcome.diff, &mut complete)?;
            *commitment = Some(complete);
        }
        self.advance(outcome.hash, outcome.header.clone(), outcome.diff.clone())?;
        Ok(Promotion::Promoted(Box::new(outcome)))
    }
}

impl Layer {
    fn difference(&self, sealed: &Block<OpTxEnvelope>) -> Option<Difference> {
        let (ours, theirs) = (&self.transactions, &sealed.body.transactions);
        let differs = |index: &usize| match (ours.get(*index), theirs.get(*index)) {
            (Some(ours), Some(theirs)) => theirs.encoded_2718() != **ours,
            _ => true,
        };
        if let Some(index) = (0..ours.len().max(theirs.len())).find(differs) {
            return Some(Difference::Transaction(index));
        }
        let (ours, theirs) = (&self.header, &sealed.header);
        let context = [
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
        if let Some((name, _)) = context.into_iter().find(|(_, same)| !same) {
            return Some(Difference::Context(name));
        }
        let results = [
            ("gas used", ours.gas_used == theirs.gas_used),
            ("receipts root", ours.receipts_root == theirs.receipts_root),
            ("logs bloom", ours.logs_bloom == theirs.logs_bloom),
        ];
        results.into_iter().find(|(_, same)| !same).map(|(name, _)| Difference::Results(name))
    }
}

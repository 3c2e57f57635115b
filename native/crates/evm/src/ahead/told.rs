//! Flashblocks that another process executed: what they changed is laid on top of the others, and nothing is executed.

use crate::ahead::extend::{Ahead, expect_flashblocks, head_of};
use crate::ahead::layers::{Contents, Layer, Told};
use crate::ahead::place::Place;
use crate::ahead::promote::other_context;
use crate::base::error::Error;
use crate::model::told::ToldOutcome;
use crate::state::core::StateCore;
use alloy_consensus::Header;

/// A flashblock as the process that executed it tells of it (`Piece`).
#[derive(Debug, Clone, Copy)]
pub struct ToldFlashblock<'a> {
    pub payload_id: &'a str,
    pub index: u64,
    /// Of the block: where the transactions and logs of this flashblock begin.
    pub first_transaction: usize,
    pub first_log: usize,
    /// As `Outcome::encode` writes it.
    pub outcome: &'a [u8],
}

impl Ahead {
    /// Shows readers what a flashblock changed, as executing it would; gives the version of the state after it. Refused, with
    /// everything as it was, if it does not follow what is here.
    pub(crate) fn take_told(&self, core: &StateCore, flashblock: ToldFlashblock<'_>) -> Result<u64, Error> {
        expect_flashblocks(core)?;
        let ToldFlashblock { payload_id, index, .. } = flashblock;
        let ToldOutcome { header, hash, transactions, logs, diff } = ToldOutcome::decode(flashblock.outcome)?;
        let place = Place { payload_id, index };
        let mut layers = self.lock();
        let head = head_of(core)?;
        layers.base_on(&head)?;
        let (keep, before) = if index == 0 {
            core.spec.expect_known(&header)?;
            (layers.to_stand_on(place, &header, &head, self.depth())?, Told::default())
        } else {
            (layers.blocks.len(), layers.to_go_on(place)?.told_before(place, &header)?)
        };
        let first = Told { transactions: flashblock.first_transaction, logs: flashblock.first_log };
        if first != before {
            return place.refuse(&format!("it goes on after {first:?}, there is {before:?}"));
        }
        let now = Told { transactions: before.transactions + transactions, logs: before.logs + logs };
        let layer = layers.grow(keep, payload_id, (index, header, hash), &diff, || Contents::Told(now));
        if let Some(layer) = layer {
            layer.contents = Contents::Told(now);
        }
        Ok(core.versions.show(layers.snapshot(layers.blocks.len())))
    }
}

impl Layer {
    /// What was told of it before a flashblock with this header, which must be of the same block.
    fn told_before(&self, place: Place<'_>, header: &Header) -> Result<Told, Error> {
        let Contents::Told(told) = &self.contents else {
            return place.refuse("what is before it was executed here");
        };
        let ours = &self.header;
        let field = if ours.number != header.number {
            Some("number")
        } else if ours.parent_hash != header.parent_hash {
            Some("parent")
        } else if header.gas_used < ours.gas_used || header.gas_used > header.gas_limit {
            Some("gas used")
        } else {
            other_context(ours, header)
        };
        field.map_or(Ok(*told), |field| place.refuse(&format!("it says another {field} of block {}", ours.number)))
    }
}

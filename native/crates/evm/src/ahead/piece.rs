//! What executing flashblocks gives.

use crate::ahead::roots::Roots;
use crate::ahead::run::Ran;
use crate::model::key::Missing;
use crate::model::outcome::Outcome;
use alloy_primitives::{Bloom, Bytes};

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
    /// The header and hash of the block so far, with zeros where its builder does not say the state root, the withdrawals root and the
    /// hash; transactions, receipts, logs and changes of this piece only.
    pub outcome: Outcome,
}

/// A flashblock that was executed and is what it says, and that readers do not see yet. Executing changes nothing, so
/// that it can be done on another thread and be given up.
#[derive(Debug)]
pub struct Extension {
    /// Of the layers it was executed on.
    pub(crate) epoch: u64,
    pub(crate) keep: usize,
    pub(crate) payload_id: String,
    pub(crate) transactions: Vec<Bytes>,
    pub(crate) roots: Roots,
    pub(crate) bloom: Bloom,
    pub(crate) ran: Box<Ran>,
    pub(crate) piece: Box<Piece>,
}

impl Extension {
    pub const fn piece(&self) -> &Piece {
        &self.piece
    }
}

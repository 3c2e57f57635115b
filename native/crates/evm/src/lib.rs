//! The native core of Chain Query: blocks and calls executed on state held in memory. Pure compute: it opens no
//! file and no socket, and what it lacks it names (`missing`) instead of fetching it.
//!
//! Each module uses those above it in this list, never one below.

#[cfg(test)]
#[path = "../tests/support/random.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "tests")]
mod random;

mod ahead;
mod base;
mod chain;
mod evm;
mod json;
mod model;
mod queries;
mod rules;
mod simulate;
mod state;

pub use ahead::{
    Difference, Extension, Flashblock, FlashblockBase, FlashblockDiff, PRECONFIRMED_DEPTH, Piece, Preconfirmation,
    Promoted, Promotion, SealedRoots, ToldFlashblock,
};
pub use alloy_primitives::{Address, keccak256};
pub use base::allocation::{CountingAllocator, live_bytes};
pub use base::error::Error;
pub use base::limits::{CancelFlag, Limits};
pub use base::pool::Pool;
pub use chain::{Chain, ChainOptions};
pub use evm::block::{Execution, Ready};
pub use evm::call::{Lane, call};
pub use evm::effects::Effects;
pub use evm::message::{CallOptions, CallRequest, CallResult};
pub use json::{
    TransactionContext, block_from_json, block_json, header_hash_from_json, header_json, outcome_from_json,
    proof_json, raw_block, raw_receipts, raw_transaction, transactions_from_json, transactions_json,
};
pub use model::diff::{Account, Diff};
pub use model::facts::fees::{BlobFees, Fees, fees_of};
pub use model::facts::raw::{RawTransaction, read_raw_transaction};
pub use model::genesis::genesis_block;
pub use model::header::read_header;
pub use model::key::{Key, Missing};
pub use model::outcome::{Extra, Outcome, ReceiptRecord, Status};
pub use model::proof::check_proof;
pub use model::trie::kept::KeptTries;
pub use model::trie::proof::{AccountProof, SlotProof};
pub use model::trie::state::StateTrie;
pub use queries::{Query, TraceOptions, Traced, query, trace_block};
pub use rules::spec::{ChainSpec, Stack};
pub use simulate::{Simulation, SimulationRequest, simulate};
pub use state::hot::HotLimits;
pub use state::view::{Read, View};

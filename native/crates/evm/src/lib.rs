//! The native core of Chain Query: blocks and calls executed on state held in memory. Pure compute: it opens no
//! file and no socket, and what it lacks it names (`missing`) instead of fetching it.

#[cfg(test)]
#[path = "../tests/support/random.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "tests")]
mod random;

mod allocation;
mod block;
mod bytes;
mod call;
mod chain;
mod claim;
mod commitment;
mod create;
mod db;
mod diff;
mod error;
mod genesis;
mod history;
mod hot;
mod json;
mod key;
mod limits;
mod loaded;
mod machine;
mod meter;
mod outcome;
mod parallel;
mod pool;
mod preconfirmed;
mod preset;
mod proof;
mod spec;
mod transaction;
mod verify;
mod view;
mod vm;

pub use allocation::{CountingAllocator, live_bytes};
pub use alloy_primitives::{Address, keccak256};
pub use block::{Execution, Ready};
pub use call::{CallOptions, CallRequest, CallResult, Lane, call};
pub use chain::{Chain, ChainOptions, read_header};
pub use commitment::Commitment;
pub use diff::{Account, Diff};
pub use error::Error;
pub use genesis::genesis_block;
pub use hot::HotLimits;
pub use json::{
    TransactionContext, block_from_json, header_hash_from_json, header_json, outcome_from_json, transactions_json,
};
pub use key::{Key, Missing};
pub use limits::Limits;
pub use meter::CancelFlag;
pub use outcome::{Extra, Outcome, ReceiptRecord, Status};
pub use pool::Pool;
pub use preconfirmed::{
    Difference, Extension, Flashblock, FlashblockBase, FlashblockDiff, PRECONFIRMED_DEPTH, Piece, Preconfirmation,
    Promoted, Promotion,
};
pub use preset::preset_of;
pub use proof::check_proof;
pub use spec::{ChainSpec, Stack};
pub use view::{Read, View};

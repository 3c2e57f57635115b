//! Blocks and receipts as JSON-RPC gives them, made into what the chain commits to. Nothing in them is believed:
//! what is returned matches the block's hash, or it is an error that names the part that does not. The other way round,
//! for clients, in `streams`, `proof` and `raw`.

mod block;
mod l1;
mod part;
mod proof;
mod raw;
mod receipts;
mod streams;

pub use block::{block_from_json, header_hash_from_json, transactions_from_json};
pub use proof::proof_json;
pub use raw::{raw_block, raw_receipts, raw_transaction};
pub use receipts::outcome_from_json;
pub(crate) use streams::listed_block;
pub use streams::{TransactionContext, block_json, header_json, transactions_json};

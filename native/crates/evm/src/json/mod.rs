//! Blocks and receipts as JSON-RPC gives them, made into what the chain commits to. Nothing in them is believed:
//! what is returned matches the block's hash, or it is an error that names the part that does not. The other way round,
//! for subscriptions, in `streams`.

mod block;
mod l1;
mod receipts;
mod streams;

pub use block::{block_from_json, header_hash_from_json};
pub use receipts::outcome_from_json;
pub use streams::{TransactionContext, header_json, transactions_json};

use crate::error::{Error, malformed};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A part of a block that an upstream can lie about. Its name begins the message of an `InvalidBlock`.
#[derive(Debug, Clone, Copy)]
enum Part {
    Header,
    Transactions,
    Uncles,
    Withdrawals,
    Receipts,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Transactions => "transactions",
            Self::Uncles => "uncles",
            Self::Withdrawals => "withdrawals",
            Self::Receipts => "receipts",
        }
    }

    /// Names this part in the error of a check.
    fn blame(self, error: Error) -> Error {
        match error {
            Error::InvalidBlock(text) => Error::InvalidBlock(format!("{}: {text}", self.name())),
            other => other,
        }
    }
}

/// An object of the list `what`, as alloy reads it: some nodes write `null` for what is not there, and some leave out
/// the type of the oldest kind of transaction.
fn read_typed<T: DeserializeOwned>(
    what: &str,
    index: usize,
    value: Value,
    adjust: impl FnOnce(&mut Map<String, Value>),
) -> Result<T, Error> {
    let Value::Object(mut object) = value else {
        return Err(malformed(what, format!("entry {index} is not an object")));
    };
    object.retain(|_, field| !field.is_null());
    object.entry("type").or_insert_with(|| "0x0".into());
    adjust(&mut object);
    serde_json::from_value(Value::Object(object)).map_err(|why| malformed(what, format!("entry {index}: {why}")))
}

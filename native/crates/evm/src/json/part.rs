//! Parts of a block as JSON, and their names in errors.

use crate::base::error::{Error, malformed};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A part of a block that an upstream can lie about. Its name begins the message of an `InvalidBlock`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
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
    pub(crate) fn blame(self, error: Error) -> Error {
        match error {
            Error::InvalidBlock(text) => Error::InvalidBlock(format!("{}: {text}", self.name())),
            other => other,
        }
    }
}

/// An object of the list `what`, as alloy reads it: some nodes write `null` for what is not there, and some leave out
/// the type of the oldest kind of transaction.
pub(crate) fn read_typed<T: DeserializeOwned>(
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

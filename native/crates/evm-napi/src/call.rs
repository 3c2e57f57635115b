//! Calls as JavaScript gives them, and their results as text.

use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use core::{CallOptions, CallRequest, CallResult, Query};
use std::sync::Arc;

pub(crate) fn request(
    from: Option<String>,
    to: Option<String>,
    gas: String,
    data: Option<String>,
    options: Option<String>,
) -> Result<CallRequest> {
    let address = |text: String| text.parse().map_err(|_| malformed("an address has 20 bytes"));
    let digits = gas.strip_prefix("0x").unwrap_or(&gas);
    Ok(CallRequest {
        from: from.map(address).transpose()?.unwrap_or_default(),
        to: to.map(address).transpose()?,
        gas: u64::from_str_radix(digits, 16).map_err(|_| malformed("gas is a hex number of 64 bits"))?,
        data: data
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| malformed("call data is hex"))?
            .unwrap_or_default(),
        options: options.map(|text| CallOptions::parse(&text)).transpose().map_err(error)?.map(Arc::new),
    })
}

/// What is asked about a call, from its JSON; without one, what it returns.
pub(crate) fn query(text: Option<&str>) -> Result<Query> {
    text.map_or(Ok(Query::Call), |text| Query::parse(text).map_err(error))
}

pub(crate) fn render(result: CallResult) -> String {
    match result {
        CallResult::Success(output) => format!("={output}"),
        CallResult::Json(text) => format!("={text}"),
        CallResult::Revert(output) => format!("r{output}"),
        CallResult::Halt(text) => format!("h{text}"),
        CallResult::Invalid(text) => format!("i{text}"),
        CallResult::Missing(missing) => format!("m{}", missing.encode()),
        CallResult::Native(address) => format!("n{address:#x}"),
        CallResult::Outdated => "o".into(),
        CallResult::Budget => "b".into(),
        CallResult::Timeout => "t".into(),
        CallResult::Cancelled => "c".into(),
    }
}

//! What is asked of the EVM beside calls: estimates, access lists and traces. All run messages as calls do, and within the same limits.

mod access_list;
mod estimate;
mod trace;

pub use trace::{TraceOptions, Traced, trace_block};

use crate::base::error::{Error, malformed};
use crate::evm::call::{Lane, call};
use crate::evm::message::{CallRequest, CallResult};
use crate::state::view::View;
use serde::Deserialize;
use std::sync::Arc;

/// What is asked about a message.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Query {
    /// What it returns.
    Call,
    /// The least gas that it succeeds with, of so much at most.
    Estimate(u64),
    /// The accounts and slots that it touches.
    AccessList,
    /// What it does, step by step.
    Trace(TraceOptions),
}

impl Query {
    /// Reads it from JSON that TypeScript has made.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|why| malformed("query", why))
    }
}

/// Runs a message as often as the answer takes, on the calling thread.
pub fn query(view: &Arc<View>, request: &CallRequest, asked: &Query, lane: &Lane) -> CallResult {
    match asked {
        Query::Call => call(view, request, lane),
        Query::Estimate(cap) => estimate::estimate(view, request, *cap, lane),
        Query::AccessList => access_list::create(view, request, lane),
        Query::Trace(options) => trace::trace_call(view, request, options, lane),
    }
}

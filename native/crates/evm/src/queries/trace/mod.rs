//! Traces: of a call, and of the transactions of a block, executed again from the state of its parent.

mod block;
mod calls;
mod fault;
mod prestate;
mod struct_logger;
mod tracer;

pub use block::{Traced, trace_block};
pub use tracer::TraceOptions;

use crate::evm::call::{Lane, Runs};
use crate::evm::database::Overrides;
use crate::evm::message::{CallRequest, CallResult, Setting, reason_of};
use crate::evm::vm;
use crate::state::view::View;
use alloy_consensus::Header;
use std::borrow::Cow;
use std::sync::Arc;
use tracer::Tracer;

/// Traces a call.
pub(crate) fn trace_call(
    view: &Arc<View>,
    request: &CallRequest,
    options: &TraceOptions,
    lane: &Lane,
) -> CallResult {
    call_in(view, Cow::Borrowed(view.header()), Overrides::default(), request, options, lane)
}

/// Traces a call in a block, after changes that were made to the state since that of the view.
fn call_in(
    view: &Arc<View>,
    block: Cow<'_, Header>,
    changes: Overrides,
    request: &CallRequest,
    options: &TraceOptions,
    lane: &Lane,
) -> CallResult {
    let number = block.number;
    let setting = Setting { block, prices_pretended: true };
    let is_next = request.header_on(&setting.block).number == number + 1;
    let mut runs = match Runs::begin_in(view, setting, changes, request, lane) {
        Ok(runs) => runs,
        Err(result) => return result,
    };
    if is_next {
        // In the block after it, as wallets have it, the hash of the block itself is known.
        runs.db().hashes_below = number + 1;
    }
    let mut trace = None;
    let done = runs.run(request, |message, db| {
        let (mut ran, mut tracer, inspected) = vm::inspect(view.spec(), message, db, Tracer::new(options));
        trace = Some(if tracer.is_too_large() {
            too_large()
        } else if let Some(inspected) = inspected {
            // A tracer reads what was there before; what it lacks is loaded like all else.
            let tx = &inspected.tx;
            rendered(tracer.finish(tx.gas_limit, tx.caller, &inspected.done, &mut ran.db))
        } else {
            refused(&ran.result)
        });
        ran
    });
    let result = match (done, trace) {
        (Err(CallResult::Invalid(refusal)), None) => CallResult::Invalid(refusal),
        (Err(result), _) => result,
        (Ok(done), trace) => trace.unwrap_or(done.result),
    };
    runs.end(result)
}

fn refused(result: &CallResult) -> CallResult {
    match result {
        CallResult::Invalid(refusal) => CallResult::Invalid(format!("tracing failed: {}", reason_of(refusal))),
        other => other.clone(),
    }
}

const TOO_LARGE: &str = "the trace is too large: limit it, or trace less";

fn too_large() -> CallResult {
    CallResult::Invalid(TOO_LARGE.into())
}

fn rendered(text: Result<String, String>) -> CallResult {
    text.map_or_else(CallResult::Invalid, CallResult::Json)
}

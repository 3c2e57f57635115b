//! What a simulation takes before its code runs, in steps of the meter: what is short enough for a serving thread must be so as a whole.

use super::request::{AccountFields, AskedBlock, AskedCall, SimulationRequest};
use alloy_primitives::map::HashMap;

/// Of any block: calls of the system, roots, a header, its JSON.
pub(super) const BLOCK_STEPS: u64 = 64;
/// Of any call: a transaction and a receipt, which are hashed.
const CALL_STEPS: usize = 16;
/// An ecrecover.
const AUTHORIZATION_STEPS: usize = 48;
const ENTRY_STEPS: usize = 2;
/// A slot or account that is pretended changes the trie.
const OVERRIDE_STEPS: usize = 16;
const BYTES_PER_STEP: usize = 128;
/// Code of the caller's own, as of calls: work is counted at jumps and calls, so what has none must be short.
const MAX_INLINE_CODE: usize = 49_152;

/// All of it but its blocks; nothing where it brings code that is too long to begin with.
pub(super) fn upfront_steps(request: &SimulationRequest) -> Option<u64> {
    let steps = request.blocks.iter().map(of_block).sum::<Option<usize>>()?;
    u64::try_from(steps).ok()
}

fn of_block(block: &AskedBlock) -> Option<usize> {
    let accounts = block.state_overrides.values().map(of_account).sum::<Option<usize>>()?;
    let calls = block.calls.iter().map(of_call).sum::<Option<usize>>()?;
    let withdrawals = block.block_overrides.withdrawals.as_ref().map_or(0, Vec::len);
    Some(accounts + calls + OVERRIDE_STEPS * withdrawals)
}

fn of_account(fields: &AccountFields) -> Option<usize> {
    let slots = fields.state.iter().chain(&fields.state_diff).map(HashMap::len).sum::<usize>();
    let code = fields.code.as_ref().map_or(0, |code| code.len());
    (code <= MAX_INLINE_CODE).then_some(OVERRIDE_STEPS * (1 + slots) + code / BYTES_PER_STEP)
}

fn of_call(call: &AskedCall) -> Option<usize> {
    let is_short = call.to.is_some() || call.data.len() <= MAX_INLINE_CODE;
    let listed = call.access_list.iter().flat_map(|list| list.iter()).map(|item| 1 + item.storage_keys.len());
    let authorizations = call.authorization_list.as_ref().map_or(0, Vec::len);
    let blobs = call.blob_versioned_hashes.as_ref().map_or(0, Vec::len);
    let entries = ENTRY_STEPS * (listed.sum::<usize>() + blobs) + AUTHORIZATION_STEPS * authorizations;
    is_short.then_some(CALL_STEPS + entries + call.data.len() / BYTES_PER_STEP)
}

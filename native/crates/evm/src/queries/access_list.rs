//! The access list that a message gains by: what it touches beside what is warm anyway. Found as geth finds it.

use crate::evm::call::{AUTHORIZATION_STEPS, Lane, Runs};
use crate::evm::factory::precompile_addresses;
use crate::evm::message::{CallRequest, CallResult, reason_of};
use crate::evm::vm;
use crate::state::view::View;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::opcode;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::{Database, Inspector};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Gas that an authorization costs at least: those that cannot be paid for are not recovered.
const AUTHORIZATION_GAS: u64 = 25_000;
/// Runs until the list must be the same twice. A message that goes on touching other things is told so.
const MAX_RUNS: usize = 64;

type Touched = BTreeMap<Address, BTreeSet<B256>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    access_list: AccessList,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    gas_used: String,
}

/// Creates the access list of a message: runs it with the list of the run before until that does not grow any more.
pub(crate) fn create(view: &Arc<View>, request: &CallRequest, lane: &Lane) -> CallResult {
    let mut runs = match Runs::begin(view, request, lane) {
        Ok(runs) => runs,
        Err(result) => return result,
    };
    let result = repeat(view, request, &mut runs).unwrap_or_else(|ended| ended);
    runs.end(result)
}

fn repeat(view: &Arc<View>, request: &CallRequest, runs: &mut Runs<'_>) -> Result<CallResult, CallResult> {
    let options = request.options.as_deref();
    let authorizations = options.and_then(|options| options.authorization_list.as_deref()).unwrap_or_default();
    if authorizations.len() as u64 > request.gas / AUTHORIZATION_GAS {
        return Err(CallResult::Invalid("insufficient gas to process all authorizations".into()));
    }
    if !runs.charge(authorizations.len() * AUTHORIZATION_STEPS) {
        return Err(CallResult::Budget);
    }
    let sender = runs.db().basic(request.from).unwrap_or_else(|never| match never {}).unwrap_or_default();
    let mut excluded: AddressSet = precompile_addresses(view.spec(), view.header());
    excluded.insert(request.from);
    excluded.insert(request.to.unwrap_or_else(|| request.from.create(sender.nonce)));
    let chain_id = U256::from(view.spec().chain_id);
    for authorization in authorizations {
        let fits = authorization.chain_id.is_zero() || authorization.chain_id == chain_id;
        if fits && authorization.nonce != u64::MAX {
            excluded.extend(authorization.recover_authority().ok());
        }
    }
    let given = options.and_then(|options| options.access_list.as_ref());
    let mut before = touched(given.into_iter().flat_map(|list| list.iter()), &excluded);
    for _ in 0..MAX_RUNS {
        let mut after = Touched::new();
        let done = runs.run(request, |mut message, db| {
            message.tx.access_list = list_of(&before);
            let inspector = AccessListInspector { excluded: &excluded, touched: before.clone() };
            let (ran, inspector, _) = vm::inspect(view.spec(), message, db, inspector);
            after = inspector.touched;
            ran
        });
        let done = done.map_err(refused)?;
        if after == before {
            let error = match done.result {
                CallResult::Success(_) => None,
                CallResult::Revert(_) => Some("execution reverted".into()),
                CallResult::Halt(text) => Some(text),
                other => return Err(refused(other)),
            };
            let gas_used = done.gas.map_or(0, |gas| gas.tx_gas_used());
            let created = Created { access_list: list_of(&after), error, gas_used: format!("0x{gas_used:x}") };
            let json = serde_json::to_string(&created).map_err(|why| CallResult::Invalid(why.to_string()))?;
            return Ok(CallResult::Json(json));
        }
        if let refusal @ CallResult::Invalid(_) = done.result {
            return Err(refused(refusal));
        }
        before = after;
    }
    Err(CallResult::Invalid("the access list does not become stable".into()))
}

fn refused(result: CallResult) -> CallResult {
    match result {
        CallResult::Invalid(refusal) => {
            let reason = reason_of(&refusal);
            let is_bare = reason.len() == refusal.len();
            CallResult::Invalid(if is_bare {
                refusal
            } else {
                format!("failed to apply transaction: err: {reason}")
            })
        }
        other => other,
    }
}

/// What a list names, but for accounts that are warm anyway; their slots are not.
fn touched<'a>(list: impl Iterator<Item = &'a AccessListItem>, excluded: &AddressSet) -> Touched {
    let mut touched = Touched::new();
    for item in list {
        if !excluded.contains(&item.address) {
            touched.entry(item.address).or_default();
        }
        for slot in &item.storage_keys {
            touched.entry(item.address).or_default().insert(*slot);
        }
    }
    touched
}

fn list_of(touched: &Touched) -> AccessList {
    let item = |(address, slots): (&Address, &BTreeSet<B256>)| AccessListItem {
        address: *address,
        storage_keys: slots.iter().copied().collect(),
    };
    AccessList(touched.iter().map(item).collect())
}

/// Notes accounts and slots as opcodes name them.
struct AccessListInspector<'a> {
    excluded: &'a AddressSet,
    touched: Touched,
}

impl<C> Inspector<C> for AccessListInspector<'_> {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut C) {
        let stack = interpreter.stack.data();
        let from_top = |place: usize| stack.iter().rev().nth(place).copied();
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(slot) = from_top(0) {
                    let account = interpreter.input.target_address();
                    self.touched.entry(account).or_default().insert(slot.into());
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => self.add(from_top(0)),
            opcode::DELEGATECALL | opcode::CALL | opcode::STATICCALL | opcode::CALLCODE if stack.len() >= 5 => {
                self.add(from_top(1));
            }
            _ => {}
        }
    }
}

impl AccessListInspector<'_> {
    fn add(&mut self, word: Option<U256>) {
        let address = word.map(|word| Address::from_word(word.into()));
        if let Some(address) = address.filter(|address| !self.excluded.contains(address)) {
            self.touched.entry(address).or_default();
        }
    }
}

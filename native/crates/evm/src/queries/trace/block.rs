//! Traces of the transactions of a block.

use super::tracer::{TraceOptions, Tracer};
use super::{call_in, too_large};
use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::evm::block::{SharedMissing, open_state};
use crate::evm::call::Lane;
use crate::evm::database::Overrides;
use crate::evm::factory::{BlockState, OpRules, eth_block_evm_with, eth_context, op_block_evm_with, op_context};
use crate::evm::message::{CallRequest, CallResult};
use crate::evm::meter::Stop;
use crate::model::code::bytecode;
use crate::model::diff::Diff;
use crate::model::transaction::StackTransaction;
use crate::model::verify::{Sent, decode, invalid};
use crate::rules::spec::Stack;
use crate::state::view::View;
use alloy_consensus::{Block, TxEnvelope};
use alloy_evm::block::BlockExecutor;
use alloy_evm::eth::EthBlockExecutor;
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::{Evm, FromRecoveredTx, FromTxWithEncoded, ToTxEnv};
use alloy_op_evm::OpBlockExecutor;
use alloy_op_evm::block::OpAlloyReceiptBuilder;
use alloy_primitives::{KECCAK256_EMPTY, U256};
use op_alloy_consensus::OpTxEnvelope;
use revm::DatabaseCommit;
use revm::database::states::bundle_state::BundleRetention;
use std::borrow::Cow;
use std::sync::Arc;

/// What of a block is traced.
#[derive(Debug, Clone)]
pub enum Traced {
    All,
    Transaction(usize),
    /// A call after so many of its transactions.
    Call {
        after: usize,
        request: CallRequest,
    },
}

/// Traces what is asked of a block (RLP): executes it, so far as it must, from the state of its parent. That is what `view` is, or of pre-confirmed
/// blocks what is so many blocks before `view`.
pub fn trace_block(
    view: &Arc<View>,
    ahead: usize,
    rlp: &[u8],
    traced: &Traced,
    options: &TraceOptions,
    lane: &Lane,
) -> Result<CallResult, Error> {
    let mut parent = Arc::clone(view);
    for _ in 0..ahead {
        let Some(before) = parent.before() else {
            return Ok(CallResult::Outdated);
        };
        parent = Arc::new(before);
    }
    let (view, spec) = (&parent, parent.spec());
    let asked = Asked { traced, options, limits: &limits_of(lane), lane };
    match spec.stack {
        Stack::Ethereum => {
            let block = decode::<TxEnvelope>(rlp)?;
            let env = spec.eth_env(&block.header);
            let (header, body) = (block.header.clone(), block.body.clone());
            trace(view, &block, &asked, |state, tracer| {
                let evm = eth_block_evm_with(state, env.clone(), tracer);
                EthBlockExecutor::new(evm, eth_context(&header, &body), spec, AlloyReceiptBuilder::default())
            })
        }
        Stack::Op => {
            let block = decode::<OpTxEnvelope>(rlp)?;
            let env = spec.op_env(&block.header);
            let rules = OpRules::of(spec, &env, block.header.timestamp);
            let context = op_context(&block.header);
            trace(view, &block, &asked, |state, tracer| {
                let evm = op_block_evm_with(state, env.clone(), rules, tracer);
                OpBlockExecutor::new(evm, context.clone(), spec, OpAlloyReceiptBuilder::default())
            })
        }
    }
}

struct Asked<'a> {
    traced: &'a Traced,
    options: &'a TraceOptions,
    limits: &'a Limits,
    lane: &'a Lane,
}

fn limits_of(lane: &Lane) -> Limits {
    match lane {
        Lane::Pool { deadline, cancel } => Limits { deadline: Some(*deadline), cancel: Arc::clone(cancel) },
        Lane::Inline(_) => Limits::none(),
    }
}

fn trace<T, E>(
    view: &Arc<View>,
    block: &Block<T>,
    asked: &Asked<'_>,
    open: impl FnOnce(BlockState, Tracer) -> E,
) -> Result<CallResult, Error>
where
    T: StackTransaction,
    E: BlockExecutor<
            Transaction = T,
            Evm: Evm<DB = BlockState, Inspector = Tracer, Tx: FromRecoveredTx<T> + FromTxWithEncoded<T>>,
        >,
{
    let (header, limits) = (&block.header, asked.limits);
    view.spec().expect_known(header)?;
    if header.parent_hash != view.hash() {
        return Err(invalid(header, format!("it does not follow block {} {}", view.number(), view.hash())));
    }
    if let Traced::Call { after, .. } = asked.traced
        && *after > 0
        && *after >= block.body.transactions.len()
    {
        let why = format!("transaction index {after} out of range for block {}", header.hash_slow());
        return Ok(CallResult::Invalid(why));
    }
    let senders = view.senders().of_block(view.spec(), header, &block.body.transactions, 0, limits);
    senders.beside(|| ());
    let sent = match senders.finish() {
        Ok(sent) => sent,
        Err(why) => return limits.check().map_or_else(|why| Ok(ended(&why)), |()| Err(why)),
    };
    let Some(epoch) = view.enter() else {
        return Ok(CallResult::Outdated);
    };
    let missing = SharedMissing::default();
    let executor = open(open_state(view, &missing, limits), Tracer::new(asked.options));
    let ran = run(executor, &sent, asked);
    if !view.check(epoch) {
        return Ok(CallResult::Outdated);
    }
    let lacked = missing.borrow_mut().take();
    if !lacked.is_empty() {
        return Ok(CallResult::Missing(view.missing(epoch, lacked)));
    }
    Ok(match (ran, asked.traced) {
        (Err(ended), _) | (Ok(Ran::Ended(ended)), _) => ended,
        (Ok(Ran::Reached(changes)), Traced::Call { request, .. }) => {
            call_in(view, Cow::Borrowed(header), changes, request, asked.options, asked.lane)
        }
        (Ok(Ran::Reached(_)), _) => CallResult::Invalid("transaction not found".into()),
    })
}

enum Ran {
    Ended(CallResult),
    /// What the transactions before a call have changed.
    Reached(Overrides),
}

/// Executes the transactions up to the last one that is traced. With state that was made up it goes on, to find what else is lacking.
fn run<T, E>(mut executor: E, sent: &[Sent<T>], asked: &Asked<'_>) -> Result<Ran, CallResult>
where
    T: StackTransaction,
    E: BlockExecutor<
            Transaction = T,
            Evm: Evm<DB = BlockState, Inspector = Tracer, Tx: FromRecoveredTx<T> + FromTxWithEncoded<T>>,
        >,
{
    let failed = |why: String| CallResult::Invalid(format!("tracing failed: {why}"));
    executor.apply_pre_execution_changes().map_err(|why| failed(why.to_string()))?;
    let mut traces = String::from("[");
    let count = if let Traced::Call { after, .. } = asked.traced { *after } else { sent.len() };
    for (index, tx) in sent.iter().take(count).enumerate() {
        asked.limits.check().map_err(|why| ended(&why))?;
        let is_traced = match asked.traced {
            Traced::All => true,
            Traced::Transaction(only) => *only == index,
            Traced::Call { .. } => false,
        };
        let (signed, caller) = (tx.value().inner(), tx.value().signer());
        let evm = executor.evm_mut();
        *evm.inspector_mut() = Tracer::new(asked.options);
        evm.set_inspector_enabled(is_traced);
        evm.db_mut().database.meter.begin_transaction(signed.gas_limit(), 0);
        let done = match evm.transact_raw(tx.to_tx_env()) {
            Ok(done) => done,
            Err(_) if evm.inspector().is_too_large() => return Err(too_large()),
            Err(why) => {
                let db = &evm.db().database;
                if db.missing.borrow().is_empty() {
                    return Err(stopped(db.meter.stopped).unwrap_or_else(|| failed(why.to_string())));
                }
                continue;
            }
        };
        if is_traced {
            let (db, tracer, _) = evm.components_mut();
            let trace = tracer.finish(signed.gas_limit(), caller, &done, db).map_err(CallResult::Invalid)?;
            if matches!(asked.traced, Traced::Transaction(_)) {
                return Ok(Ran::Ended(CallResult::Json(trace)));
            }
            let comma = if index == 0 { "" } else { "," };
            traces.push_str(&format!(r#"{comma}{{"txHash":"{}","result":{trace}}}"#, signed.trie_hash()));
            if traces.len() > asked.options.max_bytes {
                return Err(too_large());
            }
        }
        evm.db_mut().commit(done.state);
    }
    if !matches!(asked.traced, Traced::All) {
        return Ok(Ran::Reached(changes_of(executor.evm_mut().db_mut())));
    }
    traces.push(']');
    Ok(Ran::Ended(CallResult::Json(traces)))
}

/// What was changed since the state of the view.
fn changes_of(state: &mut BlockState) -> Overrides {
    state.merge_transitions(BundleRetention::PlainState);
    let diff = Diff::from_bundle(&state.take_bundle());
    let mut changes = Overrides::default();
    for (address, account) in &diff.accounts {
        let over = changes.accounts.entry(*address).or_default();
        over.balance = Some(account.map_or(U256::ZERO, |account| account.balance));
        over.nonce = Some(account.map_or(0, |account| account.nonce));
        over.code_hash = Some(account.map_or(KECCAK256_EMPTY, |account| account.code_hash));
    }
    for address in &diff.wiped {
        changes.accounts.entry(*address).or_default().replaces_storage = true;
    }
    for (address, slot, value) in &diff.slots {
        changes.accounts.entry(*address).or_default().slots.insert(*slot, *value);
    }
    changes.codes.extend(diff.codes.iter().map(|(hash, code)| (*hash, bytecode(code.clone()))));
    changes
}

fn stopped(stop: Option<Stop>) -> Option<CallResult> {
    Some(match stop? {
        Stop::Deadline => CallResult::Timeout,
        Stop::Cancelled => CallResult::Cancelled,
        Stop::Native(address) => CallResult::Native(address),
        Stop::Budget | Stop::Claim => return None,
    })
}

fn ended(why: &Error) -> CallResult {
    if matches!(why, Error::Cancelled(_)) { CallResult::Cancelled } else { CallResult::Timeout }
}

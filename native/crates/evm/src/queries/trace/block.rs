//! Traces of the transactions of a block.

use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::evm::block::{SharedMissing, open_state};
use crate::evm::call::Lane;
use crate::evm::factory::{BlockState, OpRules, eth_block_evm_with, op_block_evm_with};
use crate::evm::message::CallResult;
use crate::evm::meter::Stop;
use crate::model::transaction::StackTransaction;
use crate::model::verify::{Sent, decode, invalid};
use crate::queries::trace::tracer::{TraceOptions, Tracer};
use crate::queries::trace::{rendered, too_large};
use crate::rules::spec::Stack;
use crate::state::view::View;
use alloy_consensus::{Block, TxEnvelope};
use alloy_evm::block::BlockExecutor;
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::{EthBlockExecutionCtx, EthBlockExecutor};
use alloy_evm::{Evm, FromRecoveredTx, FromTxWithEncoded, ToTxEnv};
use alloy_op_evm::block::OpAlloyReceiptBuilder;
use alloy_op_evm::{OpBlockExecutionCtx, OpBlockExecutor};
use op_alloy_consensus::OpTxEnvelope;
use revm::DatabaseCommit;
use std::borrow::Cow;
use std::sync::Arc;

/// Traces one transaction of a block (RLP), or all of them: executes it from the state of `view`, its parent, and so far as it must.
pub fn trace_block(
    view: &Arc<View>,
    rlp: &[u8],
    transaction: Option<usize>,
    options: &TraceOptions,
    lane: &Lane,
) -> Result<CallResult, Error> {
    let spec = view.spec();
    let asked = Asked { transaction, options, limits: &limits_of(lane) };
    match spec.stack {
        Stack::Ethereum => {
            let block = decode::<TxEnvelope>(rlp)?;
            let env = spec.eth_env(&block.header);
            let header = block.header.clone();
            let body = block.body.clone();
            trace(view, &block, &asked, |state, tracer| {
                let context = EthBlockExecutionCtx {
                    parent_hash: header.parent_hash,
                    parent_beacon_block_root: header.parent_beacon_block_root,
                    ommers: &body.ommers,
                    withdrawals: body.withdrawals.as_ref().map(|list| Cow::Borrowed(list.as_slice())),
                    extra_data: header.extra_data.clone(),
                    tx_count_hint: Some(body.transactions.len()),
                    slot_number: None,
                };
                let evm = eth_block_evm_with(state, env.clone(), tracer);
                EthBlockExecutor::new(evm, context, spec, AlloyReceiptBuilder::default())
            })
        }
        Stack::Op => {
            let block = decode::<OpTxEnvelope>(rlp)?;
            let env = spec.op_env(&block.header);
            let rules = OpRules::of(spec, &env, block.header.timestamp);
            let context = OpBlockExecutionCtx {
                parent_hash: block.header.parent_hash,
                parent_beacon_block_root: block.header.parent_beacon_block_root,
                extra_data: block.header.extra_data.clone(),
            };
            trace(view, &block, &asked, |state, tracer| {
                let evm = op_block_evm_with(state, env.clone(), rules, tracer);
                OpBlockExecutor::new(evm, context.clone(), spec, OpAlloyReceiptBuilder::default())
            })
        }
    }
}

struct Asked<'a> {
    transaction: Option<usize>,
    options: &'a TraceOptions,
    limits: &'a Limits,
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
    let result = run(executor, &sent, asked).unwrap_or_else(|ended| ended);
    if !view.check(epoch) {
        return Ok(CallResult::Outdated);
    }
    let lacked = missing.borrow_mut().take();
    Ok(if lacked.is_empty() { result } else { CallResult::Missing(view.missing(epoch, lacked)) })
}

/// Executes the transactions up to the last one that is traced. With state that was made up it goes on, to find what else is lacking.
fn run<T, E>(mut executor: E, sent: &[Sent<T>], asked: &Asked<'_>) -> Result<CallResult, CallResult>
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
    for (index, tx) in sent.iter().enumerate() {
        asked.limits.check().map_err(|why| ended(&why))?;
        let is_traced = asked.transaction.is_none_or(|only| only == index);
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
            let CallResult::Json(trace) = rendered(tracer.finish(signed.gas_limit(), caller, &done, db)) else {
                return Err(failed("it cannot be written".into()));
            };
            if asked.transaction.is_some() {
                return Ok(CallResult::Json(trace));
            }
            let comma = if index == 0 { "" } else { "," };
            traces.push_str(&format!(r#"{comma}{{"txHash":"{}","result":{trace}}}"#, signed.trie_hash()));
            if traces.len() > asked.options.max_bytes {
                return Err(too_large());
            }
        }
        evm.db_mut().commit(done.state);
    }
    traces.push(']');
    Ok(CallResult::Json(traces))
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

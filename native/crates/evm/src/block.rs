//! Executing and verifying a block.

use crate::chain::Chain;
use crate::commitment::Commitment;
use crate::db::{Guess, ViewDb};
use crate::diff::Diff;
use crate::error::Error;
use crate::key::{Missing, MissingSet};
use crate::meter::Meter;
use crate::outcome::Outcome;
use crate::spec::{ChainSpec, Stack};
use crate::transaction::{StackReceipt, StackTransaction, l1_extras};
use crate::verify::{Sent, check_contents, commit_receipts, decode, invalid, records, recover, same};
use crate::view::View;
use alloy_consensus::{Block, Header, TxEnvelope};
use alloy_evm::block::{BlockExecutionError, BlockExecutionResult, BlockExecutor, BlockExecutorFactory, TxResult};
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_evm::eth::{EthBlockExecutionCtx, EthBlockExecutorFactory, EthEvmFactory};
use alloy_evm::{Evm, EvmEnv, EvmFactory, FromRecoveredTx, FromTxWithEncoded};
use alloy_op_evm::block::OpAlloyReceiptBuilder;
use alloy_op_evm::{OpBlockExecutionCtx, OpBlockExecutorFactory, OpEvmFactory, OpTx};
use alloy_primitives::Bytes;
use op_alloy_consensus::{L2_TO_L1_MESSAGE_PASSER_ADDRESS, OpTxEnvelope};
use revm::database::State;
use revm::database::states::bundle_state::BundleRetention;
use revm::state::EvmState;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How executing a block ended.
#[derive(Debug)]
pub enum Execution {
    Done(Box<Outcome>),
    /// State it lacked; provide it to the head view and execute again.
    Missing(Missing),
}

/// What is done with what executing a block gives.
pub(crate) enum Check<'a> {
    /// It must equal the header; with the complete state at hand, the state root too. A block that is refused for its
    /// roots takes that state with it, as it has its changes then.
    Compare(&'a mut Option<Commitment>),
    /// It is written into the header: gas used, receipts root, bloom and blob gas used. The state root is left as it was.
    Fill,
}

/// Executes `rlp` on the state of `view`, its parent.
pub(crate) fn execute(chain: &Chain, view: &Arc<View>, rlp: &[u8], check: Check<'_>) -> Result<Execution, Error> {
    match chain.spec().stack {
        Stack::Ethereum => {
            let block = decode::<TxEnvelope>(rlp)?;
            let factory = EthBlockExecutorFactory::new(
                AlloyReceiptBuilder::default(),
                spec_of(chain),
                EthEvmFactory::default(),
            );
            let header = block.header.clone();
            let (ommers, withdrawals) = (block.body.ommers.clone(), block.body.withdrawals.clone());
            let context = EthBlockExecutionCtx {
                parent_hash: header.parent_hash,
                parent_beacon_block_root: header.parent_beacon_block_root,
                ommers: &ommers,
                withdrawals: withdrawals.as_ref().map(|list| Cow::Borrowed(list.as_slice())),
                extra_data: header.extra_data.clone(),
                tx_count_hint: Some(block.body.transactions.len()),
                slot_number: None,
            };
            let env = chain.spec().eth_env(&header);
            run_block(chain.spec(), view, rlp, block, &factory, env, context, check)
        }
        Stack::Op => {
            let block = decode::<OpTxEnvelope>(rlp)?;
            let factory = OpBlockExecutorFactory::new(
                OpAlloyReceiptBuilder::default(),
                spec_of(chain),
                OpEvmFactory::<OpTx>::default(),
            );
            let context = OpBlockExecutionCtx {
                parent_hash: block.header.parent_hash,
                parent_beacon_block_root: block.header.parent_beacon_block_root,
                extra_data: block.header.extra_data.clone(),
            };
            let env = chain.spec().op_env(&block.header);
            run_block(chain.spec(), view, rlp, block, &factory, env, context, check)
        }
    }
}

fn spec_of(chain: &Chain) -> Arc<ChainSpec> {
    Arc::clone(chain.spec())
}

#[expect(clippy::too_many_arguments, reason = "the parts that differ between the stacks, handed in once")]
fn run_block<'a, F>(
    spec: &ChainSpec,
    view: &Arc<View>,
    rlp: &[u8],
    mut block: Block<F::Transaction>,
    factory: &'a F,
    env: EvmEnv<<F::EvmFactory as EvmFactory>::Spec>,
    context: F::ExecutionCtx<'a>,
    check: Check<'_>,
) -> Result<Execution, Error>
where
    F: BlockExecutorFactory<Transaction: StackTransaction<Receipt = F::Receipt>, Receipt: StackReceipt>,
    F::EvmFactory: EvmFactory<
            BlockEnv = revm::context::BlockEnv,
            Tx: FromRecoveredTx<F::Transaction> + FromTxWithEncoded<F::Transaction>,
        >,
{
    let header = &block.header;
    check_body(spec, view, &block)?;
    let sent = recover(spec, &block, 0)?;
    let wants_roots = spec.receipts_hold_roots(header.number);
    if wants_roots && !matches!(&check, Check::Compare(commitment) if commitment.is_some()) {
        return Err(Error::Unsupported(format!(
            "block {} is from before Byzantium: its receipts hold state roots, which need the complete state",
            header.number
        )));
    }
    let Some(epoch) = view.enter() else {
        return Err(Error::Unavailable("the head moved".into()));
    };
    let missing = SharedMissing::default();
    let ran = run(factory, view, &missing, &env, context.clone(), &sent, wants_roots);
    if !missing.borrow().is_empty() {
        speculate(factory, view, &missing, env, context, &sent);
        return Ok(Execution::Missing(view.missing(epoch, missing.borrow_mut().take())));
    }
    let Ran { mut state, mut result, changes } =
        ran.map_err(|why| invalid(header, format!("it cannot be executed: {why}")))?;

    state.merge_transitions(BundleRetention::PlainState);
    let diff = Diff::from_bundle(&state.take_bundle());
    let raw: Vec<&[u8]> = sent.iter().map(|tx| tx.encoded_bytes().as_ref()).collect();
    let l1 = match spec.stack {
        Stack::Op => l1_extras(spec, header, &mut state, &raw)
            .map_err(|why| invalid(header, format!("its L1 attributes cannot be read: {why}")))?,
        Stack::Ethereum => vec![Vec::new(); sent.len()],
    };
    let late = missing.borrow_mut().take();
    if !late.is_empty() {
        return Ok(Execution::Missing(view.missing(epoch, late)));
    }
    match check {
        Check::Compare(place) => {
            if !wants_roots {
                check_result(spec, header, &result)?;
            }
            if let Some(mut commitment) = place.take() {
                for (receipt, changes) in result.receipts.iter_mut().zip(&changes) {
                    commitment.apply_transaction(changes);
                    receipt.set_root(commitment.root());
                }
                if wants_roots {
                    check_result(spec, header, &result)?;
                }
                check_state(spec, header, &diff, &mut commitment)?;
                *place = Some(commitment);
            }
        }
        Check::Fill => {
            let (receipts_root, logs_bloom) = commit_receipts(spec, header, &result.receipts);
            block.header.gas_used = result.gas_used;
            block.header.receipts_root = receipts_root;
            block.header.logs_bloom = logs_bloom;
            block.header.blob_gas_used = block.header.blob_gas_used.map(|_| result.blob_gas_used);
        }
    }
    let header = &block.header;
    let receipts = records(spec, header, &sent, &result.receipts, l1);
    let outcome = Outcome {
        hash: header.hash_slow(),
        header: header.clone(),
        block: Bytes::copy_from_slice(rlp),
        receipts,
        diff,
    };
    Ok(Execution::Done(Box::new(outcome)))
}

/// What can be checked without executing anything.
fn check_body<T: StackTransaction>(spec: &ChainSpec, view: &View, block: &Block<T>) -> Result<(), Error> {
    let header = &block.header;
    if header.number != view.number() + 1 || header.parent_hash != view.hash() {
        return Err(invalid(header, format!("it does not follow block {} {}", view.number(), view.hash())));
    }
    if header.timestamp < view.header().timestamp {
        return Err(invalid(header, "its timestamp is before its parent's"));
    }
    check_contents(spec, block)
}

/// A finished run.
struct Ran<R> {
    state: State<ViewDb>,
    result: BlockExecutionResult<R>,
    /// What each transaction changed, when asked for.
    changes: Vec<EvmState>,
}

pub(crate) type SharedMissing = Rc<RefCell<MissingSet>>;

pub(crate) fn open_state(view: &Arc<View>, missing: &SharedMissing) -> State<ViewDb> {
    let mut db = ViewDb::new(Arc::clone(view), Meter::unlimited());
    db.missing = Rc::clone(missing);
    State::builder().with_database(db).with_bundle_update().build()
}

fn run<'a, F>(
    factory: &'a F,
    view: &Arc<View>,
    missing: &SharedMissing,
    env: &EvmEnv<<F::EvmFactory as EvmFactory>::Spec>,
    context: F::ExecutionCtx<'a>,
    sent: &[Sent<F::Transaction>],
    keep_changes: bool,
) -> Result<Ran<F::Receipt>, BlockExecutionError>
where
    F: BlockExecutorFactory<Transaction: StackTransaction>,
    F::EvmFactory: EvmFactory<
            BlockEnv = revm::context::BlockEnv,
            Tx: FromRecoveredTx<F::Transaction> + FromTxWithEncoded<F::Transaction>,
        >,
{
    let evm = factory.evm_factory().create_evm(open_state(view, missing), env.clone());
    let mut executor = factory.create_executor(evm, context);
    let mut changes = Vec::new();
    executor.apply_pre_execution_changes()?;
    for tx in sent {
        executor.execute_transaction_with_result_closure(tx, |done| {
            if keep_changes {
                changes.push(done.result().state.clone());
            }
        })?;
    }
    let (evm, result) = executor.finish()?;
    Ok(Ran { state: evm.finish().0, result, changes })
}

/// Runs the block once more with checks off, errors ignored and another guess, to learn as many missing keys as one
/// round can.
fn speculate<'a, F>(
    factory: &'a F,
    view: &Arc<View>,
    missing: &SharedMissing,
    mut env: EvmEnv<<F::EvmFactory as EvmFactory>::Spec>,
    context: F::ExecutionCtx<'a>,
    sent: &[Sent<F::Transaction>],
) where
    F: BlockExecutorFactory<Transaction: StackTransaction>,
    F::EvmFactory: EvmFactory<
            BlockEnv = revm::context::BlockEnv,
            Tx: FromRecoveredTx<F::Transaction> + FromTxWithEncoded<F::Transaction>,
        >,
{
    env.cfg_env.disable_nonce_check = true;
    env.cfg_env.disable_balance_check = true;
    env.cfg_env.disable_eip3607 = true;
    env.cfg_env.disable_base_fee = true;
    let mut state = open_state(view, missing);
    state.database.guess = Guess::One;
    let evm = factory.evm_factory().create_evm(state, env);
    let mut executor = factory.create_executor(evm, context);
    // Errors here only mean that fewer keys were found; the strict run after this one decides.
    let _ = executor.apply_pre_execution_changes();
    for tx in sent {
        let _ = executor.execute_transaction(tx);
    }
    let _ = executor.finish();
}

pub(crate) fn check_state(
    spec: &ChainSpec,
    header: &Header,
    diff: &Diff,
    commitment: &mut Commitment,
) -> Result<(), Error> {
    commitment.apply(diff);
    same(header, "state root", header.state_root, commitment.root())?;
    if spec.withdrawals_root_is_storage(header.timestamp) {
        let root = commitment.storage_root(L2_TO_L1_MESSAGE_PASSER_ADDRESS);
        same(header, "withdrawals root", header.withdrawals_root, Some(root))?;
    }
    Ok(())
}

fn check_result<R: StackReceipt>(
    spec: &ChainSpec,
    header: &Header,
    result: &BlockExecutionResult<R>,
) -> Result<(), Error> {
    same(header, "gas used", header.gas_used, result.gas_used)?;
    let (receipts_root, logs_bloom) = commit_receipts(spec, header, &result.receipts);
    same(header, "receipts root", header.receipts_root, receipts_root)?;
    same(header, "logs bloom", header.logs_bloom, logs_bloom)?;
    if spec.stack == Stack::Ethereum && header.requests_hash.is_some() {
        same(header, "requests hash", header.requests_hash, Some(result.requests.requests_hash()))?;
    }
    // On the OP stack it is the DA footprint, and zero before Jovian.
    if header.blob_gas_used.is_some() {
        same(header, "blob gas used", header.blob_gas_used, Some(result.blob_gas_used))?;
    }
    Ok(())
}

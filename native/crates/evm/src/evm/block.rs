//! Executing and verifying a block.

use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::evm::database::{Guess, ViewDb};
use crate::evm::factory::{BlockState, OpRules, eth_block_evm, eth_context, op_block_evm, op_context, relax};
use crate::evm::meter::Meter;
use crate::evm::taken::{Taking, TakingExecutor};
pub(crate) use crate::evm::transaction::{Failure, execute_next};
use crate::model::claim::{GasCeiling, GasClaim, contradiction};
use crate::model::diff::Diff;
use crate::model::key::{Missing, MissingSet};
use crate::model::outcome::{Extra, Outcome};
use crate::model::transaction::{StackReceipt, StackTransaction, l1_extras};
use crate::model::trie::state::StateTrie;
use crate::model::verify::{Sent, check_contents, commit_receipts, decode, invalid, records, same};
use crate::rules::spec::{ChainSpec, Stack};
use crate::state::senders::Senders;
use crate::state::view::View;
use alloy_consensus::{Block, Header, TxEnvelope};
use alloy_evm::Evm;
use alloy_evm::block::{BlockExecutionResult, BlockExecutor};
use alloy_evm::eth::EthBlockExecutor;
use alloy_evm::eth::receipt_builder::AlloyReceiptBuilder;
use alloy_op_evm::OpBlockExecutor;
use alloy_op_evm::block::OpAlloyReceiptBuilder;
use alloy_primitives::Bytes;
use op_alloy_consensus::{L2_TO_L1_MESSAGE_PASSER_ADDRESS, OpTxEnvelope};
use revm::context_interface::Cfg;
use revm::database::State;
use revm::database::states::bundle_state::BundleRetention;
use revm::state::EvmState;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How executing a block ended.
#[derive(Debug)]
pub enum Execution<T = Box<Outcome>> {
    Done(T),
    /// State it lacked; provide it to the head view and execute again.
    Missing(Missing),
}

/// A block that was executed and verified, and is not the head yet. Executing changes nothing, so that it can be done
/// on another thread and be given up.
#[derive(Debug)]
pub struct Ready {
    /// Of hot state when it was executed.
    pub(crate) generation: u64,
    pub(crate) outcome: Box<Outcome>,
    /// Transactions whose effects were taken from those told.
    pub(crate) taken: Vec<u32>,
    pub(crate) commitment: Option<StateTrie>,
}

impl Ready {
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The transactions, by their place in the block, whose effects were taken from those told.
    pub fn taken(&self) -> &[u32] {
        &self.taken
    }
}

/// What is done with what executing a block gives.
pub(crate) enum Check<'a> {
    /// It must equal the header; with the complete state at hand, the state root too. A block that is refused for its
    /// roots takes that state with it, as it has its changes then.
    Compare(&'a mut Option<StateTrie>),
    /// It is written into the header: gas used, receipts root, bloom and blob gas used. The state root is left as it was.
    Fill,
}

impl Check<'_> {
    fn claim(&self, spec: &ChainSpec, header: &Header, transaction_cap: u64) -> GasClaim {
        match self {
            Self::Compare(_) => GasClaim::new(spec, header, header.gas_used, transaction_cap),
            Self::Fill => GasClaim::none(),
        }
    }
}

/// Executes `rlp` on the state of `view`, its parent. Changes nothing.
pub(crate) fn execute(
    view: &Arc<View>,
    rlp: &[u8],
    check: Check<'_>,
    ceiling: GasCeiling,
    limits: &Limits,
    taking: &mut Taking<'_>,
) -> Result<Execution, Error> {
    let spec = view.spec();
    match spec.stack {
        Stack::Ethereum => {
            let block = decode::<TxEnvelope>(rlp)?;
            let limits = admit(ceiling, view, &block.header, limits, taking)?;
            let env = spec.eth_env(&block.header);
            let claim = check.claim(spec, &block.header, env.cfg_env.tx_gas_limit_cap());
            let (header, body) = (block.header.clone(), block.body.clone());
            let open = |state: BlockState, is_relaxed: bool| {
                let mut env = env.clone();
                if is_relaxed {
                    relax(&mut env);
                }
                let context = eth_context(&header, &body);
                EthBlockExecutor::new(eth_block_evm(state, env), context, spec, AlloyReceiptBuilder::default())
            };
            run_block(spec, view, rlp, block, open, Run { check, claim, limits, taking })
        }
        Stack::Op => {
            let block = decode::<OpTxEnvelope>(rlp)?;
            let limits = admit(ceiling, view, &block.header, limits, taking)?;
            let env = spec.op_env(&block.header);
            let rules = OpRules::of(spec, &env, block.header.timestamp);
            let claim = check.claim(spec, &block.header, env.cfg_env.tx_gas_limit_cap());
            let context = op_context(&block.header);
            let open = |state: BlockState, is_relaxed: bool| {
                let mut env = env.clone();
                if is_relaxed {
                    relax(&mut env);
                }
                let receipts = OpAlloyReceiptBuilder::default();
                OpBlockExecutor::new(op_block_evm(state, env, rules), context.clone(), spec, receipts)
            };
            run_block(spec, view, rlp, block, open, Run { check, claim, limits, taking })
        }
    }
}

/// What can be told from the header alone. Gives the limits with the time that the block may take.
fn admit(
    ceiling: GasCeiling,
    view: &View,
    header: &Header,
    limits: &Limits,
    taking: &Taking<'_>,
) -> Result<Limits, Error> {
    if !taking.is_whole() {
        view.spec().expect_known(header)?;
    }
    if header.parent_hash != view.hash() {
        return Err(invalid(header, format!("it does not follow block {} {}", view.number(), view.hash())));
    }
    if let Some(why) = contradiction(header, view.header()) {
        return Err(invalid(header, why));
    }
    ceiling.check(header.gas_limit).map_err(|why| why.of(&about(header)))?;
    Ok(limits.with_time_for(header.gas_used))
}

/// How a block is run.
struct Run<'a, 'e> {
    check: Check<'a>,
    claim: GasClaim,
    limits: Limits,
    taking: &'a mut Taking<'e>,
}

fn run_block<T, E>(
    spec: &ChainSpec,
    view: &Arc<View>,
    rlp: &[u8],
    mut block: Block<T>,
    open: impl Fn(BlockState, bool) -> E,
    Run { check, claim, limits, taking }: Run<'_, '_>,
) -> Result<Execution, Error>
where
    T: StackTransaction,
    E: TakingExecutor<T> + BlockExecutor<Receipt = T::Receipt>,
{
    let header = &block.header;
    let exhausted = |why: Error| why.of(&about(header));
    let wants_roots = spec.receipts_hold_roots(header.number);
    let has_roots = matches!(&check, Check::Compare(commitment) if commitment.is_some());
    let missing = SharedMissing::default();
    let senders = view.senders().of_block(spec, header, &block.body.transactions, 0, &limits);
    let executed = senders.beside(|| {
        // Nobody needs the senders of a block that is refused here.
        check_contents(spec, &block).inspect_err(|_| senders.stop())?;
        if wants_roots && !has_roots {
            return Ok(None);
        }
        let Some(epoch) = view.enter() else {
            senders.stop();
            return Err(Error::Unavailable("the head moved".into()));
        };
        let executor = open(open_state(view, &missing, &limits), taking.is_whole());
        Ok(Some((epoch, run(executor, claim, &limits, &senders, taking, wants_roots))))
    })?;
    // A signature that is not valid is said before what else may be wrong, wherever it is.
    let sent = senders.finish().map_err(exhausted)?;
    let Some((epoch, ran)) = executed else {
        return Err(Error::Unsupported(format!(
            "block {} is from before Byzantium: its receipts hold state roots, which need the complete state",
            header.number
        )));
    };
    // Before what it found is looked at: what was cut short is neither valid nor invalid.
    limits.check().map_err(exhausted)?;
    if !missing.borrow().is_empty() {
        let mut state = open_state(view, &missing, &limits);
        state.database.guess = Guess::One;
        speculate(open(state, true), &limits, &sent, taking);
        return Ok(Execution::Missing(view.missing(epoch, missing.borrow_mut().take())));
    }
    let Ran { mut state, mut result, changes } =
        ran.map_err(|why| why.describe(|why| invalid(header, why), &about(header)))?;

    state.merge_transitions(BundleRetention::PlainState);
    let diff = Diff::from_bundle(&state.take_bundle());
    let raw: Vec<&[u8]> = sent.iter().map(|tx| tx.encoded_bytes().as_ref()).collect();
    let l1 = match spec.stack {
        Stack::Op if !taking.is_whole() => l1_extras(spec, header, &mut state, &raw)
            .map_err(|why| invalid(header, format!("its L1 attributes cannot be read: {why}")))?,
        _ => vec![Vec::new(); sent.len()],
    };
    let late = missing.borrow_mut().take();
    if !late.is_empty() {
        return Ok(Execution::Missing(view.missing(epoch, late)));
    }
    match check {
        Check::Compare(place) => {
            if !wants_roots {
                check_receipts(spec, header, &result)?;
                // What a block asks of other layers, and what it counts for them, is by its rules.
                if !taking.is_whole() {
                    check_counts(spec, header, &result)?;
                }
            }
            if let Some(mut commitment) = place.take() {
                for (receipt, changes) in result.receipts.iter_mut().zip(&changes) {
                    commitment.apply_transaction(changes);
                    receipt.set_root(commitment.root());
                }
                if wants_roots {
                    check_receipts(spec, header, &result)?;
                    check_counts(spec, header, &result)?;
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
    let mut receipts = records(spec, header, &sent, &result.receipts, l1);
    for (receipt, told) in receipts.iter_mut().zip(taking.extras().into_iter().flatten()) {
        let of_deposits = [Extra::DepositNonce, Extra::DepositReceiptVersion];
        receipt.extras.retain(|(extra, _)| of_deposits.contains(extra));
        receipt.extras.extend_from_slice(told);
    }
    let outcome = Outcome {
        hash: header.hash_slow(),
        header: header.clone(),
        block: Bytes::copy_from_slice(rlp),
        receipts,
        diff,
    };
    Ok(Execution::Done(Box::new(outcome)))
}

/// A finished run.
struct Ran<R> {
    state: State<ViewDb>,
    result: BlockExecutionResult<R>,
    /// What each transaction changed, when asked for.
    changes: Vec<EvmState>,
}

pub(crate) type SharedMissing = Rc<RefCell<MissingSet>>;

pub(crate) fn open_state(view: &Arc<View>, missing: &SharedMissing, limits: &Limits) -> BlockState {
    let mut db = ViewDb::new(Arc::clone(view), Meter::block(limits));
    db.missing = Rc::clone(missing);
    State::builder().with_database(db).with_bundle_update().build()
}

fn run<T, E>(
    mut executor: E,
    claim: GasClaim,
    limits: &Limits,
    senders: &Senders<'_, T>,
    taking: &mut Taking<'_>,
    keep_changes: bool,
) -> Result<Ran<E::Receipt>, Failure>
where
    T: StackTransaction,
    E: TakingExecutor<T>,
{
    let (mut changes, mut used) = (Vec::new(), 0);
    executor.apply_pre_execution_changes().map_err(Failure::cannot)?;
    for index in 0..senders.len() {
        limits.check().map_err(Failure::Stopped)?;
        let tx = senders.get(index).map_err(Failure::Stopped)?;
        used = taking.execute_next(&mut executor, claim, used, (index, tx), |state| {
            if keep_changes {
                changes.push(state.clone());
            }
        })?;
    }
    // What the last one left of its claim is not what system calls may spend.
    executor.evm_mut().db_mut().database.meter.begin_transaction(0, 0);
    let (evm, result) = executor.finish().map_err(Failure::cannot)?;
    Ok(Ran { state: evm.finish().0, result, changes })
}

/// Runs the block once more with checks off, errors ignored and another guess, to learn as many missing keys as one
/// round can.
fn speculate<T, E>(mut executor: E, limits: &Limits, sent: &[Sent<T>], taking: &mut Taking<'_>)
where
    T: StackTransaction,
    E: TakingExecutor<T>,
{
    // Errors here only mean that fewer keys were found; the strict run after this one decides.
    let _ = executor.apply_pre_execution_changes();
    for (index, tx) in sent.iter().enumerate() {
        let done = taking.execute_next(&mut executor, GasClaim::none(), 0, (index, tx), |_| {});
        if limits.check().is_err() || matches!(done, Err(Failure::Lacking)) {
            return;
        }
    }
    executor.evm_mut().db_mut().database.meter.begin_transaction(0, 0);
    let _ = executor.finish();
}

/// How errors name a block.
fn about(header: &Header) -> String {
    format!("block {} {}", header.number, header.hash_slow())
}

pub(crate) fn check_state(
    spec: &ChainSpec,
    header: &Header,
    diff: &Diff,
    commitment: &mut StateTrie,
) -> Result<(), Error> {
    commitment.apply(diff);
    same(header, "state root", header.state_root, commitment.root())?;
    if spec.withdrawals_root_is_storage(header.timestamp) {
        let root = commitment.storage_root(L2_TO_L1_MESSAGE_PASSER_ADDRESS);
        same(header, "withdrawals root", header.withdrawals_root, Some(root))?;
    }
    Ok(())
}

fn check_receipts<R: StackReceipt>(
    spec: &ChainSpec,
    header: &Header,
    result: &BlockExecutionResult<R>,
) -> Result<(), Error> {
    same(header, "gas used", header.gas_used, result.gas_used)?;
    let (receipts_root, logs_bloom) = commit_receipts(spec, header, &result.receipts);
    same(header, "receipts root", header.receipts_root, receipts_root)?;
    same(header, "logs bloom", header.logs_bloom, logs_bloom)
}

fn check_counts<R>(spec: &ChainSpec, header: &Header, result: &BlockExecutionResult<R>) -> Result<(), Error> {
    if spec.stack == Stack::Ethereum && header.requests_hash.is_some() {
        same(header, "requests hash", header.requests_hash, Some(result.requests.requests_hash()))?;
    }
    // On the OP stack it is the DA footprint, and zero before Jovian.
    if header.blob_gas_used.is_some() {
        same(header, "blob gas used", header.blob_gas_used, Some(result.blob_gas_used))?;
    }
    Ok(())
}

//! Executing one flashblock on the state after the one before it.

use crate::ahead::changes::PieceChanges;
use crate::base::error::{Error, malformed};
use crate::base::limits::Limits;
use crate::base::parallel::Supply;
use crate::evm::block::{Failure, SharedMissing, execute_next, open_state};
use crate::evm::database::Guess;
use crate::evm::factory::{OpBlockEvm, OpRules, op_block_evm, op_context, relax};
use crate::model::claim::GasClaim;
use crate::model::diff::Diff;
use crate::model::key::Missing;
use crate::model::outcome::ReceiptRecord;
use crate::model::transaction::{StackReceipt, l1_extras};
use crate::model::verify::{Sent, records};
use crate::rules::spec::ChainSpec;
use crate::state::core::StateCore;
use crate::state::senders::Senders;
use crate::state::view::View;
use alloy_consensus::Header;
use alloy_consensus::transaction::Recovered;
use alloy_eips::eip2718::{Decodable2718, Encodable2718, WithEncoded};
use alloy_evm::Evm;
use alloy_evm::block::BlockExecutor;
use alloy_op_evm::block::{OpAlloyReceiptBuilder, OpBlockExecutor};
use alloy_primitives::Bytes;
use op_alloy_consensus::OpTxEnvelope;
use revm::context_interface::Cfg;
use revm::database::states::bundle_state::BundleRetention;
use std::sync::Arc;

/// How far the block was before this part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) transactions: usize,
    pub(crate) gas_used: u64,
    pub(crate) da_footprint: u64,
}

/// What a piece gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) progress: Progress,
    /// As the receipts root has them.
    pub(crate) receipts: Vec<Bytes>,
    pub(crate) records: Vec<ReceiptRecord>,
    pub(crate) changes: PieceChanges,
}

pub(crate) enum Run {
    Done(Box<Ran>),
    Missing(Missing),
}

/// Transactions of a flashblock, read with their senders as they are needed.
pub(crate) fn senders<'a>(
    core: &'a StateCore,
    header: &'a Header,
    first: usize,
    raw: &'a [Bytes],
    limits: &'a Limits,
) -> Senders<'a, OpTxEnvelope> {
    Supply::new(raw.len(), move |index| {
        limits.check()?;
        let bytes = &raw[index];
        let index = first + index;
        let tx = OpTxEnvelope::decode_2718_exact(bytes)
            .map_err(|why| malformed("flashblock", format!("transaction {index}: {why}")))?;
        if tx.encoded_2718() != **bytes {
            return Err(malformed("flashblock", format!("transaction {index}: its encoding is not canonical")));
        }
        let sender = core
            .senders
            .recover(&core.spec, header, &tx)
            .map_err(|why| invalid(header, &format!("transaction {index} has no valid signature: {why}")))?;
        Ok(WithEncoded::new(bytes.clone(), Recovered::new_unchecked(tx, sender)))
    })
}

/// What is run, and where.
pub(crate) struct Part<'a> {
    /// Of the block, as far as it is known before anything of the piece was run.
    pub(crate) header: &'a Header,
    pub(crate) before: Progress,
    pub(crate) is_first: bool,
    pub(crate) senders: Senders<'a, OpTxEnvelope>,
    /// What the block says to have used, the piece included.
    pub(crate) gas_used: u64,
}

/// Runs new transactions on `view`: the state after the piece before, or for the first piece after the parent block.
pub(crate) fn run(spec: &Arc<ChainSpec>, view: &Arc<View>, part: Part<'_>, limits: &Limits) -> Result<Run, Error> {
    let Some(epoch) = view.enter() else {
        return Err(Error::Unavailable("the head moved".into()));
    };
    let Part { header, before, is_first, .. } = part;
    let missing = SharedMissing::default();
    let mut executor = Executor::open(spec, view, &missing, (header, before), limits, Guess::Zero);
    let ran = part.senders.beside(|| executor.run(spec, &part, limits));
    // A transaction that cannot be read or was not signed is said before what else may be wrong, wherever it is.
    let sent = &part.senders.finish().map_err(|why| why.of(&about(header)))?;
    // Before what it found is looked at: what was cut short is neither valid nor invalid.
    limits.check().map_err(|why| why.of(&about(header)))?;
    if !view.check(epoch) {
        return Err(Error::Unavailable("the head moved".into()));
    }
    if !missing.borrow().is_empty() {
        let mut executor = Executor::open(spec, view, &missing, (header, before), limits, Guess::One);
        executor.speculate(is_first, sent, limits);
        return Ok(Run::Missing(view.missing(epoch, missing.borrow_mut().take())));
    }
    ran.map_err(|why| why.describe(|why| invalid(header, &why), &about(header)))?;

    let Executor(OpBlockExecutor { evm, receipts, gas_used, da_footprint_used, .. }) = executor;
    let mut state = evm.finish().0;
    state.merge_transitions(BundleRetention::PlainState);
    let bundle = state.take_bundle();
    let changes = PieceChanges::new(&bundle, Diff::from_bundle(&bundle));
    let raw: Vec<&[u8]> = sent.iter().map(|tx| tx.encoded_bytes().as_ref()).collect();
    let l1 = if raw.is_empty() {
        Vec::new()
    } else {
        l1_extras(spec, header, &mut state, &raw)
            .map_err(|why| invalid(header, &format!("its L1 attributes cannot be read: {why}")))?
    };
    let late = missing.borrow_mut().take();
    if !late.is_empty() {
        return Ok(Run::Missing(view.missing(epoch, late)));
    }
    let mut records = records(spec, header, sent, &receipts, l1);
    if let Some(first) = records.first_mut() {
        // The gas of one transaction is told from the sums, which go on from the piece before.
        first.gas_used -= before.gas_used;
    }
    let progress =
        Progress { transactions: before.transactions + sent.len(), gas_used, da_footprint: da_footprint_used };
    let receipts = receipts.iter().map(|receipt| receipt.for_root(spec, header).encoded_2718().into()).collect();
    Ok(Run::Done(Box::new(Ran { progress, receipts, records, changes })))
}

/// A block executor that goes on where another one stopped. On the OP stack nothing is done after the last transaction
/// of a block, so that every piece can be the last.
struct Executor(OpBlockExecutor<OpBlockEvm, OpAlloyReceiptBuilder, Arc<ChainSpec>>);

impl Executor {
    fn open(
        spec: &Arc<ChainSpec>,
        view: &Arc<View>,
        missing: &SharedMissing,
        (header, before): (&Header, Progress),
        limits: &Limits,
        guess: Guess,
    ) -> Self {
        let mut state = open_state(view, missing, limits);
        state.database.hashes_below = header.number;
        state.database.guess = guess;
        let mut env = spec.op_env(header);
        let rules = OpRules::of(spec, &env, header.timestamp);
        if guess == Guess::One {
            relax(&mut env);
        }
        let evm = op_block_evm(state, env, rules);
        let mut executor =
            OpBlockExecutor::new(evm, op_context(header), Arc::clone(spec), OpAlloyReceiptBuilder::default());
        executor.gas_used = before.gas_used;
        executor.da_footprint_used = before.da_footprint;
        Self(executor)
    }

    fn run(&mut self, spec: &ChainSpec, part: &Part<'_>, limits: &Limits) -> Result<(), Failure> {
        if part.is_first {
            self.0.apply_pre_execution_changes().map_err(Failure::cannot)?;
        }
        let cap = self.0.evm.cfg_env().tx_gas_limit_cap();
        let claim = GasClaim::new(spec, part.header, part.gas_used, cap);
        let mut used = part.before.gas_used;
        for index in 0..part.senders.len() {
            limits.check().map_err(Failure::Stopped)?;
            let tx = part.senders.get(index).map_err(Failure::Stopped)?;
            used = execute_next(&mut self.0, claim, used, tx, |_| {})?;
        }
        Ok(())
    }

    /// Errors only mean that fewer keys were found; the strict run after this one decides.
    fn speculate(&mut self, is_first: bool, sent: &[Sent<OpTxEnvelope>], limits: &Limits) {
        if is_first {
            let _ = self.0.apply_pre_execution_changes();
        }
        for tx in sent {
            let done = execute_next(&mut self.0, GasClaim::none(), 0, tx, |_| {});
            if limits.check().is_err() || matches!(done, Err(Failure::Lacking)) {
                return;
            }
        }
    }
}

/// Without a hash: the block has none yet.
fn invalid(header: &Header, why: &str) -> Error {
    Error::InvalidBlock(format!("{}: {why}", about(header)))
}

/// How errors name a block that has no hash yet.
pub(super) fn about(header: &Header) -> String {
    format!("block {}, pre-confirmed", header.number)
}

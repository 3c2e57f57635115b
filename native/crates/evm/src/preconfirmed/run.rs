//! Executing one flashblock on the state after the one before it.

use crate::block::{SharedMissing, open_state};
use crate::db::{Guess, ViewDb};
use crate::diff::Diff;
use crate::error::{Error, malformed};
use crate::key::Missing;
use crate::outcome::ReceiptRecord;
use crate::parallel;
use crate::preconfirmed::changes::PieceChanges;
use crate::spec::ChainSpec;
use crate::transaction::{StackReceipt, l1_extras, signatures_are_canonical};
use crate::verify::{Sent, records};
use crate::view::View;
use alloy_consensus::Header;
use alloy_consensus::transaction::{Recovered, SignerRecoverable};
use alloy_eips::eip2718::{Decodable2718, Encodable2718, WithEncoded};
use alloy_evm::block::{BlockExecutionError, BlockExecutor};
use alloy_evm::{Evm, EvmFactory};
use alloy_op_evm::block::{OpAlloyReceiptBuilder, OpBlockExecutor};
use alloy_op_evm::{OpBlockExecutionCtx, OpEvmFactory, OpTx};
use alloy_primitives::Bytes;
use op_alloy_consensus::OpTxEnvelope;
use revm::database::State;
use revm::database::states::bundle_state::BundleRetention;
use std::sync::Arc;

/// How far the block was before this piece.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) transactions: usize,
    pub(crate) gas_used: u64,
    pub(crate) da_footprint: u64,
}

/// What a piece gave.
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

/// Reads transactions and finds their senders.
pub(crate) fn recover(
    spec: &ChainSpec,
    header: &Header,
    first: usize,
    raw: &[Bytes],
) -> Result<Vec<Sent<OpTxEnvelope>>, Error> {
    let canonical = signatures_are_canonical(spec, header.number);
    parallel::map(raw, |index, bytes| {
        let index = first + index;
        let tx = OpTxEnvelope::decode_2718_exact(bytes)
            .map_err(|why| malformed("flashblock", format!("transaction {index}: {why}")))?;
        if tx.encoded_2718() != **bytes {
            return Err(malformed("flashblock", format!("transaction {index}: its encoding is not canonical")));
        }
        let signer = if canonical { tx.recover_signer() } else { tx.recover_signer_unchecked() };
        let signer = signer
            .map_err(|why| invalid(header, &format!("transaction {index} has no valid signature: {why}")))?;
        Ok(WithEncoded::new(bytes.clone(), Recovered::new_unchecked(tx, signer)))
    })
}

/// Runs new transactions on `view`: the state after the piece before, or for the first piece after the parent block.
pub(crate) fn run(
    spec: &Arc<ChainSpec>,
    view: &Arc<View>,
    header: &Header,
    before: Progress,
    is_first: bool,
    sent: &[Sent<OpTxEnvelope>],
) -> Result<Run, Error> {
    let Some(epoch) = view.enter() else {
        return Err(Error::Unavailable("the head moved".into()));
    };
    let missing = SharedMissing::default();
    let mut executor = Executor::open(spec, view, &missing, header, before, Guess::Zero);
    let ran = executor.run(is_first, sent);
    if !missing.borrow().is_empty() {
        let mut executor = Executor::open(spec, view, &missing, header, before, Guess::One);
        executor.speculate(is_first, sent);
        return Ok(Run::Missing(view.missing(epoch, missing.borrow_mut().take())));
    }
    ran.map_err(|why| invalid(header, &format!("it cannot be executed: {why}")))?;

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

type OpEvm = <OpEvmFactory<OpTx> as EvmFactory>::Evm<State<ViewDb>, revm::inspector::NoOpInspector>;

/// A block executor that goes on where another one stopped. On the OP stack nothing is done after the last transaction
/// of a block, so that every piece can be the last.
struct Executor(OpBlockExecutor<OpEvm, OpAlloyReceiptBuilder, Arc<ChainSpec>>);

impl Executor {
    fn open(
        spec: &Arc<ChainSpec>,
        view: &Arc<View>,
        missing: &SharedMissing,
        header: &Header,
        before: Progress,
        guess: Guess,
    ) -> Self {
        let mut state = open_state(view, missing);
        state.database.hashes_below = header.number;
        state.database.guess = guess;
        let mut env = spec.op_env(header);
        if guess == Guess::One {
            env.cfg_env.disable_nonce_check = true;
            env.cfg_env.disable_balance_check = true;
            env.cfg_env.disable_eip3607 = true;
            env.cfg_env.disable_base_fee = true;
        }
        let context = OpBlockExecutionCtx {
            parent_hash: header.parent_hash,
            parent_beacon_block_root: header.parent_beacon_block_root,
            extra_data: header.extra_data.clone(),
        };
        let evm = OpEvmFactory::<OpTx>::default().create_evm(state, env);
        let mut executor = OpBlockExecutor::new(evm, context, Arc::clone(spec), OpAlloyReceiptBuilder::default());
        executor.gas_used = before.gas_used;
        executor.da_footprint_used = before.da_footprint;
        Self(executor)
    }

    fn run(&mut self, is_first: bool, sent: &[Sent<OpTxEnvelope>]) -> Result<(), BlockExecutionError> {
        if is_first {
            self.0.apply_pre_execution_changes()?;
        }
        for tx in sent {
            self.0.execute_transaction(tx)?;
        }
        Ok(())
    }

    /// Errors only mean that fewer keys were found; the strict run after this one decides.
    fn speculate(&mut self, is_first: bool, sent: &[Sent<OpTxEnvelope>]) {
        if is_first {
            let _ = self.0.apply_pre_execution_changes();
        }
        for tx in sent {
            let _ = self.0.execute_transaction(tx);
        }
    }
}

/// Without a hash: the block has none yet.
fn invalid(header: &Header, why: &str) -> Error {
    Error::InvalidBlock(format!("block {}, pre-confirmed: {why}", header.number))
}

//! Executing one transaction of a block.

use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::evm::factory::{BlockState, ran_out_of_memory};
use crate::evm::meter::Stop;
use crate::model::claim::GasClaim;
use crate::model::transaction::StackTransaction;
use crate::model::verify::Sent;
use alloy_evm::block::{BlockExecutionError, BlockExecutor, TxResult};
use alloy_evm::{Evm, FromRecoveredTx, FromTxWithEncoded};
use alloy_primitives::Address;
use revm::state::EvmState;

/// Missing keys from which a run looks for no more: they are loaded first, and the next one goes on.
const MAX_MISSING: usize = 65_536;

/// Why a block was not executed to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    Invalid(String),
    /// By a limit of ours.
    Stopped(Error),
    /// The native contract at this address is entered.
    EntersNative(Address),
    /// So much was missing that it has to be loaded before anything else.
    Lacking,
}

impl Failure {
    /// As an error: of what is invalid as `invalid` words it, and else about `what`.
    pub(crate) fn describe(self, invalid: impl FnOnce(String) -> Error, what: &str) -> Error {
        match self {
            Self::Invalid(why) => invalid(why),
            Self::Stopped(why) => why.of(what),
            Self::EntersNative(address) => Error::Native(format!(
                "{what}: it enters the native contract {address}, which nothing here can run"
            )),
            // Whoever finds keys missing does not ask why.
            Self::Lacking => Error::Unavailable(format!("{what}: its state is not here")),
        }
    }

    pub(crate) fn cannot(why: BlockExecutionError) -> Self {
        Self::Invalid(format!("it cannot be executed: {why}"))
    }
}

/// Executes one transaction of a block, of which those before it used `used`. Gives what they have used with it.
pub(crate) fn execute_next<T, E>(
    executor: &mut E,
    claim: GasClaim,
    used: u64,
    tx: &Sent<T>,
    see: impl FnOnce(&EvmState),
) -> Result<u64, Failure>
where
    T: StackTransaction,
    E: BlockExecutor<Transaction = T, Evm: Evm<DB = BlockState, Tx: FromRecoveredTx<T> + FromTxWithEncoded<T>>>,
{
    let least = claim.least_left(used, tx.value().inner());
    executor.evm_mut().db_mut().database.meter.begin_transaction(tx.value().inner().gas_limit(), least);
    let done = executor.execute_transaction_with_result_closure(tx, |done| see(&done.result().state));
    let db = &executor.evm().db().database;
    let lacked = db.missing.borrow().len();
    if db.memory.as_ref().is_some_and(ran_out_of_memory) {
        return Err(Failure::Stopped(Error::Exhausted("a transaction of it takes too much memory".into())));
    }
    let used = match (done, db.meter.stopped) {
        (Ok(gas), _) => used.saturating_add(gas.tx_gas_used()),
        (Err(_), Some(Stop::Claim)) => return Err(Failure::Invalid(claim.to_string())),
        (Err(_), Some(Stop::Native(address))) => return Err(Failure::EntersNative(address)),
        // Also what would not have ended in time.
        (Err(_), Some(Stop::Deadline)) => return Err(Failure::Stopped(Limits::too_long())),
        (Err(why), _) => return Err(Failure::cannot(why)),
    };
    match lacked {
        0 if claim.is_passed_by(used) => Err(Failure::Invalid(claim.to_string())),
        // What made-up state used says nothing.
        0..MAX_MISSING => Ok(used),
        _ => Err(Failure::Lacking),
    }
}

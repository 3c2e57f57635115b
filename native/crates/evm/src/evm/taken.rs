//! Transactions whose effects come from an upstream's diff, since they enter code that nobody described. Nonces, slots and
//! balances are the diff's, status, gas and logs the receipt's. What is paid for the gas is computed here: the transaction is
//! run with nothing in place of its first frame, and so by the handler that every other one is run by.

use crate::base::limits::Limits;
use crate::evm::effects::{AccountEffects, AccountParts, Effects, TransactionEffects};
use crate::evm::factory::BlockState;
use crate::evm::meter::TakenFrame;
use crate::evm::transaction::{Failure, execute_next};
use crate::model::claim::GasClaim;
use crate::model::code::bytecode;
use crate::model::outcome::Extra;
use crate::model::transaction::{DEPOSIT, StackTransaction};
use crate::model::verify::Sent;
use alloy_evm::block::{BlockExecutor, GasOutput};
use alloy_evm::eth::EthTxResult;
use alloy_evm::{Evm, FromRecoveredTx, FromTxWithEncoded, ToTxEnv};
use alloy_op_evm::OpTx;
use alloy_op_evm::block::OpTxResult;
use alloy_primitives::{Address, KECCAK256_EMPTY, TxKind, U256};
use revm::Database;
use revm::context::TxEnv;
use revm::context_interface::result::{ExecutionResult, ResultAndState};
use revm::state::{Account, AccountInfo, EvmState, EvmStorageSlot};
use std::collections::BTreeSet;

/// A transaction of one stack in the terms of the EVM.
pub(crate) trait TakenTransaction {
    /// Leaves of it what decides who pays what for its gas, as a call without effects of its own.
    fn without_effects(&mut self);
    /// Leaves of it what any rules take: its sender and its gas.
    fn without_rules(&mut self);
}

impl TakenTransaction for TxEnv {
    fn without_effects(&mut self) {
        self.kind = TxKind::Call(self.caller);
        self.value = U256::ZERO;
        self.access_list = Default::default();
        if !self.authorization_list.is_empty() {
            // Delegations are in the diff, and what they give back of the gas is in the receipt.
            self.authorization_list = Vec::new();
            self.tx_type = 2;
        }
    }

    fn without_rules(&mut self) {
        self.without_effects();
        self.tx_type = 0;
        self.data = Default::default();
        (self.gas_price, self.gas_priority_fee) = (0, None);
        (self.blob_hashes, self.max_fee_per_blob_gas) = (Vec::new(), 0);
    }
}

impl TakenTransaction for OpTx {
    fn without_effects(&mut self) {
        self.0.base.without_effects();
    }

    fn without_rules(&mut self) {
        let kind = self.0.base.tx_type;
        self.0.base.without_rules();
        if kind == DEPOSIT {
            self.0.base.tx_type = kind;
        }
    }
}

/// What an executor gives for a transaction before it commits it.
pub(crate) trait TakenResult {
    type Halt;
    fn result_mut(&mut self) -> &mut ResultAndState<Self::Halt>;
}

impl<H, T> TakenResult for EthTxResult<H, T> {
    type Halt = H;

    fn result_mut(&mut self) -> &mut ResultAndState<H> {
        &mut self.result
    }
}

impl<H, T> TakenResult for OpTxResult<H, T> {
    type Halt = H;

    fn result_mut(&mut self) -> &mut ResultAndState<H> {
        &mut self.inner.result
    }
}

/// The effects that are told of a block, and which of its transactions took theirs.
#[derive(Debug)]
pub(crate) struct Taking<'a> {
    effects: Option<&'a Effects>,
    pub(crate) taken: Vec<u32>,
}

/// Executes blocks of transactions `T`, whose effects can be taken in the place of executing them.
pub(crate) trait TakingExecutor<T>:
    BlockExecutor<
        Transaction = T,
        Result: TakenResult,
        Evm: Evm<DB = BlockState, Tx: FromRecoveredTx<T> + FromTxWithEncoded<T> + TakenTransaction>,
    >
{
}

impl<T, E> TakingExecutor<T> for E where
    E: BlockExecutor<
            Transaction = T,
            Result: TakenResult,
            Evm: Evm<DB = BlockState, Tx: FromRecoveredTx<T> + FromTxWithEncoded<T> + TakenTransaction>,
        >
{
}

impl<'a> Taking<'a> {
    pub(crate) const fn new(effects: Option<&'a Effects>) -> Self {
        Self { effects, taken: Vec::new() }
    }

    /// Whether nothing of the block is executed, as its rules are not known.
    pub(crate) fn is_whole(&self) -> bool {
        self.effects.is_some_and(|effects| effects.is_whole)
    }

    /// What the receipts of such a block have that follows from its rules.
    pub(crate) fn extras(&self) -> Option<impl Iterator<Item = &'a [(Extra, U256)]>> {
        let effects = self.effects.filter(|effects| effects.is_whole)?;
        Some(effects.transactions.iter().map(|effects| effects.extras.as_slice()))
    }

    /// The accounts that such a block may write outside of its transactions.
    fn unknown(&self) -> Option<&'a BTreeSet<Address>> {
        self.effects.filter(|effects| effects.is_whole).map(|effects| &effects.unknown)
    }

    /// Executes one transaction of a block, or takes its effects if it cannot be executed and they are known. Gives what the
    /// block has used with it.
    pub(crate) fn execute_next<T, E>(
        &mut self,
        executor: &mut E,
        claim: GasClaim,
        used: u64,
        (index, tx): (usize, &Sent<T>),
        see: impl FnOnce(&EvmState),
    ) -> Result<u64, Failure>
    where
        T: StackTransaction,
        E: TakingExecutor<T>,
    {
        let known = self.effects.and_then(|effects| effects.transactions.get(index));
        if let (Some(effects), true) = (known, self.is_whole()) {
            return self.take(executor, used, (index, tx), effects, see);
        }
        let mut see = Some(see);
        let done =
            execute_next(executor, claim, used, tx, |state| see.take().into_iter().for_each(|see| see(state)));
        match (done, known, see) {
            (Err(Failure::EntersNative(_)), Some(effects), Some(see)) => {
                self.take(executor, used, (index, tx), effects, see)
            }
            (done, ..) => done,
        }
    }

    fn take<T, E>(
        &mut self,
        executor: &mut E,
        used: u64,
        (index, tx): (usize, &Sent<T>),
        effects: &TransactionEffects,
        see: impl FnOnce(&EvmState),
    ) -> Result<u64, Failure>
    where
        T: StackTransaction,
        E: TakingExecutor<T>,
    {
        self.taken.push(u32::try_from(index).unwrap_or(u32::MAX));
        let gas = take(executor, tx, effects, self.unknown(), see)?;
        Ok(used.saturating_add(gas.tx_gas_used()))
    }
}

fn take<T, E>(
    executor: &mut E,
    tx: &Sent<T>,
    effects: &TransactionEffects,
    unknown: Option<&BTreeSet<Address>>,
    see: impl FnOnce(&EvmState),
) -> Result<GasOutput, Failure>
where
    T: StackTransaction,
    E: TakingExecutor<T>,
{
    let limit = tx.value().inner().gas_limit();
    let Some(gas_left) = limit.checked_sub(effects.gas_used) else {
        return Err(Failure::Invalid(format!("a receipt says gas used {} of {limit}", effects.gas_used)));
    };
    let mut env: <E::Evm as Evm>::Tx = tx.to_tx_env();
    if unknown.is_some() {
        env.without_rules();
    } else {
        env.without_effects();
    }
    let meter = &mut executor.evm_mut().db_mut().database.meter;
    meter.begin_transaction(limit, 0);
    meter.taken = Some(TakenFrame { succeeded: effects.succeeded, gas_left });
    let done = executor.execute_transaction_without_commit((env, tx));
    let meter = &mut executor.evm_mut().db_mut().database.meter;
    meter.taken = None;
    if meter.stopped.is_some() {
        return Err(Failure::Stopped(Limits::too_long()));
    }
    let mut done = done.map_err(Failure::cannot)?;
    // op-geth shows the sender of a deposit with its new nonce, and with what was minted for it.
    let unreliable = (tx.value().inner().ty() == DEPOSIT).then(|| tx.value().signer());
    let db = executor.evm_mut().db_mut();
    let ResultAndState { result, state } = done.result_mut();
    if let ExecutionResult::Success { logs, .. } = result {
        logs.clone_from(&effects.logs);
    }
    if unknown.is_some() {
        // By rules that are not known nobody can tell what was paid to whom, but for what the diff has.
        state.retain(|address, _| unreliable == Some(*address));
    }
    let contradiction = merge(db, state, effects, unreliable, unknown)?;
    // What was compared with made-up state says nothing.
    if let (Some(why), true) = (contradiction, db.database.missing.borrow().is_empty()) {
        return Err(Failure::Invalid(why));
    }
    see(state);
    executor.commit_transaction(done).map_err(Failure::cannot)
}

/// Puts the effects over what paying for the gas changed. Says what the diff contradicts, if it is anything: all of it is looked at,
/// so that all that is missing is found at once.
fn merge(
    db: &mut BlockState,
    state: &mut EvmState,
    effects: &TransactionEffects,
    unreliable: Option<Address>,
    unknown: Option<&BTreeSet<Address>>,
) -> Result<Option<String>, Failure> {
    let mut contradiction = None;
    for (address, effects) in &effects.accounts {
        let held = db.basic(*address).map_err(unreadable)?;
        let held = held.unwrap_or_default();
        let is_known = unknown.is_none_or(|unknown| !unknown.contains(address));
        if is_known
            && unreliable != Some(*address)
            && let Some(why) = effects.contradicts(*address, &held, unknown.is_none())
        {
            contradiction.get_or_insert(why);
        }
        let account = state.entry(*address).or_insert_with(|| Account::from(held));
        account.mark_touch();
        match &effects.after {
            Some(after) => put(account, after),
            None => account.mark_selfdestruct(),
        }
        for (slot, (before, after)) in &effects.slots {
            let held = db.storage(*address, *slot).map_err(unreadable)?;
            if is_known && held != *before {
                let why = format!(
                    "the state diff says that slot {slot:#x} of {address} was {before}, here it is {held}"
                );
                contradiction.get_or_insert(why);
            }
            account.storage.insert(*slot, EvmStorageSlot::new_changed(held, *after, 0));
        }
    }
    Ok(contradiction)
}

fn unreadable(why: impl std::fmt::Display) -> Failure {
    Failure::Invalid(format!("its state cannot be read: {why}"))
}

impl AccountEffects {
    /// What is another account here than the diff says it was. Where rules are not known, a balance may have been credited by them.
    fn contradicts(&self, address: Address, held: &AccountInfo, knows_balance: bool) -> Option<String> {
        let nothing = AccountParts { nonce: Some(0), balance: Some(U256::ZERO), code: None };
        let AccountParts { nonce, balance, .. } = self.before.as_ref().unwrap_or(&nothing);
        let other = |what, was: String, is: String| {
            Some(format!("the state diff says that the {what} of {address} was {was}, here it is {is}"))
        };
        match (*nonce, *balance) {
            (Some(nonce), _) if nonce != held.nonce => other("nonce", nonce.to_string(), held.nonce.to_string()),
            (_, Some(balance)) if knows_balance && balance != held.balance => {
                other("balance", balance.to_string(), held.balance.to_string())
            }
            _ => None,
        }
    }
}

/// A balance that the diff has is that after all payments. Where it has none, what was paid for the gas stays: tracers leave out
/// recipients of fees that the transaction did not touch otherwise.
fn put(account: &mut Account, AccountParts { nonce, balance, code }: &AccountParts) {
    let info = &mut account.info;
    info.nonce = nonce.unwrap_or(info.nonce);
    info.balance = balance.unwrap_or(info.balance);
    match code {
        Some(code) if code.is_empty() => {
            (info.code_hash, info.code) = (KECCAK256_EMPTY, Some(Default::default()));
        }
        Some(code) => {
            let code = bytecode(code.clone());
            (info.code_hash, info.code) = (code.hash_slow(), Some(code));
        }
        None => {}
    }
}

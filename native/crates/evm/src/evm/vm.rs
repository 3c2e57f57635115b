//! One EVM per thread, kept between calls: building one costs as much as a small call.

use crate::evm::database::ViewDb;
use crate::evm::factory::{MeteredEthEvm, MeteredOpEvm, OpRules, eth_evm, op_evm};
use crate::evm::message::{CallResult, Message, choose_type};
use crate::rules::spec::{ChainSpec, Stack};
use alloy_evm::EvmEnv;
use alloy_evm::eth::EthEvmContext;
use alloy_op_evm::{OpEvmContext, OpTx};
use alloy_primitives::{Address, Bytes, U256};
use op_revm::{L1BlockInfo, OpSpecId, OpTransaction};
use revm::context::{BlockEnv, CfgEnv, JournalEntry, JournalInner, LocalContext, Transaction, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::result::{
    EVMError, ExecutionResult, HaltReason, InvalidTransaction, OutOfGasError, ResultAndState, ResultGas,
};
use revm::inspector::NoOpInspector;
use revm::primitives::hardfork::SpecId;
use revm::{Database, ExecuteEvm, InspectEvm, Inspector};
use std::cell::RefCell;
use std::convert::Infallible;

/// What an EVM may have allocated and be kept.
const MAX_KEPT_FRAMES: usize = 32;
const MAX_KEPT_ENTRIES: usize = 1 << 13;
const MAX_KEPT_MEMORY: usize = 1 << 20;

/// What geth says of a message that ran out of gas, or has too little to start.
pub(crate) const OUT_OF_GAS: &str = "out of gas";
pub(crate) const INTRINSIC_GAS_TOO_LOW: &str = "intrinsic gas too low";

/// A finished run: the result counts only if the database lacked nothing.
pub(crate) struct Ran {
    pub(crate) result: CallResult,
    /// None when the message could not start.
    pub(crate) gas: Option<ResultGas>,
    pub(crate) db: ViewDb,
}

impl Ran {
    const fn refused(result: CallResult, db: ViewDb) -> Self {
        Self { result, gas: None, db }
    }
}

/// What an inspector is asked about after a run.
pub(crate) struct Inspected {
    pub(crate) done: ResultAndState,
    pub(crate) tx: TxEnv,
}

type EthCallEvm = MeteredEthEvm<ViewDb>;
type OpCallEvm = MeteredOpEvm<ViewDb>;

thread_local! {
    static ETH: RefCell<Option<(SpecId, EthCallEvm)>> = const { RefCell::new(None) };
    static OP: RefCell<Option<(OpRules, OpCallEvm)>> = const { RefCell::new(None) };
}

/// Runs a message on a database.
pub(crate) fn run(spec: &ChainSpec, message: Message, db: ViewDb) -> Ran {
    match spec.stack {
        Stack::Ethereum => run_eth(spec, message, db),
        Stack::Op => run_op(spec, message, db),
    }
}

/// A message by Ethereum's rules, ready to run.
fn prepare_eth(spec: &ChainSpec, message: Message, db: &mut ViewDb) -> (EvmEnv<SpecId>, About, TxEnv) {
    let mut env = spec.eth_call_env(&message.header, message.merged);
    let fork = env.cfg_env.spec;
    db.delegations = fork.is_enabled_in(SpecId::PRAGUE);
    relax(&mut env.cfg_env, &mut env.block_env, &message);
    if !fork.is_enabled_in(SpecId::OSAKA) {
        env.cfg_env.max_blobs_per_tx = None;
    }
    let about = About::of(&message);
    let mut tx = message.tx;
    choose_type(&mut tx, fork);
    (env, about, tx)
}

fn run_eth(spec: &ChainSpec, message: Message, mut db: ViewDb) -> Ran {
    let (env, about, tx) = prepare_eth(spec, message, &mut db);
    let fork = env.cfg_env.spec;
    if let Some(result) = about.refusal_of_sender(&mut db) {
        return Ran::refused(result, db);
    }
    let hidden = overridden_precompiles(&db);
    let kept = ETH.with(RefCell::take).filter(|(kept, _)| *kept == fork && hidden.is_empty());
    let mut evm = match kept {
        Some((_, mut evm)) => {
            evm.ctx.block = env.block_env;
            evm.ctx.cfg = env.cfg_env;
            evm.ctx.journaled_state.database = db;
            evm
        }
        None => eth_evm(db, env, &hidden, NoOpInspector),
    };
    let outcome = evm.transact(tx);
    let db = std::mem::replace(&mut evm.ctx.journaled_state.database, ViewDb::idle());
    let (result, gas) = finish(outcome.as_ref().map(|done| &done.result), &about, halt_text);
    evm.ctx.tx = TxEnv::default();
    if hidden.is_empty() && is_small(&evm.ctx.journaled_state.inner, &evm.ctx.local, &db) {
        ETH.with(|slot| *slot.borrow_mut() = Some((fork, evm)));
    }
    Ran { result, gas, db }
}

/// The same by the rules of the OP stack.
fn prepare_op(
    spec: &ChainSpec,
    message: Message,
    db: &mut ViewDb,
) -> (EvmEnv<OpSpecId>, OpRules, About, OpTransaction<TxEnv>) {
    let mut env = spec.op_env(&message.header);
    let rules = OpRules::of(spec, &env, message.header.timestamp);
    let fork = rules.fork;
    relax(&mut env.cfg_env, &mut env.block_env, &message);
    db.delegations = fork.into_eth_spec().is_enabled_in(SpecId::PRAGUE);
    let about = About::of(&message);
    let mut tx = message.tx;
    choose_type(&mut tx, fork.into_eth_spec());
    let mut op = OpTransaction::new(tx);
    // No bytes, so no fee for L1 data and none for the operator: a call posts nothing. Gas is paid for as on Ethereum.
    op.enveloped_tx = Some(Bytes::new());
    (env, rules, about, op)
}

fn run_op(spec: &ChainSpec, message: Message, mut db: ViewDb) -> Ran {
    let (env, rules, about, op) = prepare_op(spec, message, &mut db);
    if let Some(result) = about.refusal_of_sender(&mut db) {
        return Ran::refused(result, db);
    }
    let hidden = overridden_precompiles(&db);
    let kept = OP.with(RefCell::take).filter(|(kept, _)| *kept == rules && hidden.is_empty());
    let mut evm = match kept {
        Some((_, mut evm)) => {
            let ctx = &mut evm.0.ctx;
            ctx.block = env.block_env;
            ctx.cfg = env.cfg_env;
            ctx.journaled_state.database = db;
            // op-revm keeps this by block number, which several forks can share.
            ctx.chain = L1BlockInfo::default();
            evm
        }
        None => op_evm(db, env, rules, &hidden, NoOpInspector),
    };
    let outcome = evm.transact(OpTx(op)).map_err(base_error);
    let db = std::mem::replace(&mut evm.0.ctx.journaled_state.database, ViewDb::idle());
    let (result, gas) = finish(outcome.as_ref().map(|done| &done.result), &about, op_halt_text);
    evm.0.ctx.tx = OpTx(OpTransaction::new(TxEnv::default()));
    if hidden.is_empty() && is_small(&evm.0.ctx.journaled_state.inner, &evm.0.ctx.local, &db) {
        OP.with(|slot| *slot.borrow_mut() = Some((rules, evm)));
    }
    Ran { result, gas, db }
}

fn base_error(
    error: EVMError<Infallible, op_revm::OpTransactionError>,
) -> EVMError<Infallible, InvalidTransaction> {
    match error {
        EVMError::Transaction(op_revm::OpTransactionError::Base(base)) => EVMError::Transaction(base),
        EVMError::Transaction(other) => EVMError::Custom(other.to_string()),
        EVMError::Header(error) => EVMError::Header(error),
        EVMError::Custom(text) => EVMError::Custom(text),
        other => EVMError::Custom(other.to_string()),
    }
}

/// Runs a message with an inspector, which is given back with what it is to be asked about, if the message could start.
pub(crate) fn inspect<I>(
    spec: &ChainSpec,
    message: Message,
    mut db: ViewDb,
    inspector: I,
) -> (Ran, I, Option<Inspected>)
where
    I: Inspector<EthEvmContext<ViewDb>> + Inspector<OpEvmContext<ViewDb>>,
{
    match spec.stack {
        Stack::Ethereum => {
            let (env, about, tx) = prepare_eth(spec, message, &mut db);
            if let Some(result) = about.refusal_of_sender(&mut db) {
                return (Ran::refused(result, db), inspector, None);
            }
            let hidden = overridden_precompiles(&db);
            let mut evm = eth_evm(db, env, &hidden, inspector);
            let outcome = evm.inspect_tx(tx.clone());
            let (result, gas) = finish(outcome.as_ref().map(|done| &done.result), &about, halt_text);
            let inspected = outcome.ok().map(|done| Inspected { done, tx });
            (Ran { result, gas, db: evm.ctx.journaled_state.database }, evm.inspector, inspected)
        }
        Stack::Op => {
            let (env, rules, about, op) = prepare_op(spec, message, &mut db);
            if let Some(result) = about.refusal_of_sender(&mut db) {
                return (Ran::refused(result, db), inspector, None);
            }
            let hidden = overridden_precompiles(&db);
            let tx = op.base.clone();
            let mut evm = op_evm(db, env, rules, &hidden, inspector);
            let outcome = evm.inspect_tx(OpTx(op)).map_err(base_error);
            let (result, gas) = finish(outcome.as_ref().map(|done| &done.result), &about, op_halt_text);
            let inspected = outcome.ok().map(|done| {
                let result = done.result.map_haltreason(|halt| match halt {
                    op_revm::OpHaltReason::Base(base) => base,
                    // No call is a deposit.
                    op_revm::OpHaltReason::FailedDeposit => HaltReason::OutOfFunds,
                });
                Inspected { done: ResultAndState::new(result, done.state), tx }
            });
            (Ran { result, gas, db: evm.0.ctx.journaled_state.database }, evm.0.inspector, inspected)
        }
    }
}

/// Whether what an EVM has allocated is worth keeping. Its buffers never shrink: one call that went deep or wide would hold
/// tens of megabytes for each thread it ever ran on. After such a call the next one pays for a new EVM.
fn is_small(journal: &JournalInner<JournalEntry>, local: &LocalContext, db: &ViewDb) -> bool {
    let entries = [
        journal.journal.capacity(),
        journal.logs.capacity(),
        journal.transient_storage.capacity(),
        journal.selfdestructed_addresses.capacity(),
    ];
    // A frame has a stack of 32 KiB.
    db.meter.deepest() <= MAX_KEPT_FRAMES
        && entries.into_iter().sum::<usize>() <= MAX_KEPT_ENTRIES
        && local.shared_memory_buffer.borrow().capacity() <= MAX_KEPT_MEMORY
}

/// Turns off the rules that only transactions must follow.
fn relax<S>(cfg: &mut CfgEnv<S>, block: &mut BlockEnv, message: &Message) {
    cfg.disable_nonce_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_block_gas_limit = true;
    cfg.tx_chain_id_check = false;
    cfg.tx_gas_limit_cap = Some(u64::MAX);
    // Compared already, in geth's order. A message that pays nothing sees a base fee of zero.
    cfg.disable_base_fee = true;
    if message.tx.gas_price == 0 {
        block.basefee = 0;
    }
    if let Some(price) = message.blob_base_fee {
        let excess = block.blob_excess_gas_and_price.map_or(0, |blob| blob.excess_blob_gas);
        block.blob_excess_gas_and_price =
            Some(BlobExcessGasAndPrice { excess_blob_gas: excess, blob_gasprice: price });
    }
}

/// An account that is overridden is no precompile any more, as in geth.
fn overridden_precompiles(db: &ViewDb) -> Vec<Address> {
    const HIGHEST: u16 = 0x1ff;
    let low = |address: &&Address| {
        address[..18].iter().all(|byte| *byte == 0) && u16::from_be_bytes([address[18], address[19]]) <= HIGHEST
    };
    let accounts = db.overrides.iter().flat_map(|overrides| &overrides.accounts);
    accounts.filter(|(_, over)| over.is_pretended).map(|(address, _)| address).filter(low).copied().collect()
}

/// What decides whether a sender can start a call, and what a refusal mentions.
struct About {
    from: Address,
    gas: u64,
    /// What the sender must own; `None` when it does not fit into 256 bits.
    want: Option<U256>,
    creates: bool,
    data: usize,
}

impl About {
    fn of(Message { tx, fee_cap, .. }: &Message) -> Self {
        let gas = U256::from(tx.gas_limit).checked_mul(*fee_cap);
        let blobs = U256::from(tx.total_blob_gas()).checked_mul(U256::from(tx.max_fee_per_blob_gas));
        let fees = gas.and_then(|gas| gas.checked_add(blobs?));
        Self {
            from: tx.caller,
            gas: tx.gas_limit,
            want: fees.and_then(|fees| fees.checked_add(tx.value)),
            creates: tx.kind.is_create(),
            data: tx.data.len(),
        }
    }

    /// What geth checks of the sender before anything else about the message.
    fn refusal_of_sender(&self, db: &mut ViewDb) -> Option<CallResult> {
        let sender = db.basic(self.from).unwrap_or_else(|never| match never {}).unwrap_or_default();
        if self.want.is_none_or(|want| sender.balance < want) {
            return Some(self.refuse(&self.poor(sender.balance)));
        }
        (self.creates && sender.nonce == u64::MAX).then(|| CallResult::Halt("nonce uint64 overflow".into()))
    }

    fn poor(&self, have: U256) -> String {
        let from = self.from.to_checksum(None);
        let need = self.want.map_or_else(
            || "required balance exceeds 256 bits".to_owned(),
            |want| format!("have {have} want {want}"),
        );
        format!("insufficient funds for gas * price + value: address {from} {need}")
    }

    fn refuse(&self, why: &str) -> CallResult {
        CallResult::Invalid(format!("err: {why} (supplied gas {})", self.gas))
    }
}

fn finish<H>(
    outcome: Result<&ExecutionResult<H>, &EVMError<Infallible>>,
    about: &About,
    halt: impl Fn(&H) -> String,
) -> (CallResult, Option<ResultGas>) {
    match outcome {
        Ok(ExecutionResult::Success { output, gas, .. }) => {
            (CallResult::Success(output.data().clone()), Some(*gas))
        }
        Ok(ExecutionResult::Revert { output, gas, .. }) => (CallResult::Revert(output.clone()), Some(*gas)),
        Ok(ExecutionResult::Halt { reason, gas, .. }) => (CallResult::Halt(halt(reason)), Some(*gas)),
        Err(EVMError::Transaction(why)) => (about.refuse(&refusal(why, about)), None),
        Err(other) => (about.refuse(&other.to_string()), None),
    }
}

/// Why a message was refused, in geth's words.
fn refusal(why: &InvalidTransaction, about: &About) -> String {
    use InvalidTransaction as I;
    match why {
        I::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("{INTRINSIC_GAS_TOO_LOW}: have {gas_limit}, want {initial_gas}")
        }
        I::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        I::CreateInitCodeSizeLimit => {
            format!("max initcode size exceeded: code size {} limit {}", about.data, 2 * 24_576)
        }
        I::BlobGasPriceGreaterThanMax { block_blob_gas_price, tx_max_fee_per_blob_gas } => format!(
            "max fee per blob gas less than block blob gas fee: address {} blobGasFeeCap: {tx_max_fee_per_blob_gas}, \
             blobBaseFee: {block_blob_gas_price}",
            about.from.to_checksum(None)
        ),
        I::TooManyBlobs { .. } => "blob transaction has too many blobs".into(),
        other => other.to_string(),
    }
}

fn op_halt_text(reason: &op_revm::OpHaltReason) -> String {
    match reason {
        op_revm::OpHaltReason::Base(base) => halt_text(base),
        op_revm::OpHaltReason::FailedDeposit => "failed deposit".into(),
    }
}

/// What went wrong, in geth's words.
pub(crate) fn halt_text(reason: &HaltReason) -> String {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => "gas uint64 overflow".into(),
        HaltReason::OutOfGas(_) => OUT_OF_GAS.into(),
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => "invalid opcode: not defined".into(),
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".into(),
        HaltReason::InvalidJump => "invalid jump destination".into(),
        HaltReason::StackUnderflow => "stack underflow".into(),
        // revm says overflow also where DUP or SWAP reach below the stack.
        HaltReason::StackOverflow => "stack limit reached 1024 (1023) or stack underflow".into(),
        HaltReason::OutOfOffset => "return data out of bounds".into(),
        HaltReason::CreateCollision => "contract address collision".into(),
        HaltReason::PrecompileError => "precompile failed".into(),
        HaltReason::PrecompileErrorWithContext(text) => format!("precompile failed: {text}"),
        HaltReason::NonceOverflow => "nonce uint64 overflow".into(),
        HaltReason::CreateContractSizeLimit => "max code size exceeded".into(),
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef".into(),
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded".into(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection".into()
        }
        HaltReason::OutOfFunds => "insufficient balance for transfer".into(),
        HaltReason::CallTooDeep => "max call depth exceeded".into(),
        HaltReason::OverflowPayment => "insufficient funds for gas * price + value".into(),
    }
}

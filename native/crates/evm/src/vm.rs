//! One EVM per thread, kept between calls: building one costs as much as a small call.

use crate::call::{CallResult, Message, choose_type};
use crate::db::ViewDb;
use crate::meter;
use crate::spec::{ChainSpec, Stack};
use alloy_evm::EvmFactory;
use alloy_evm::eth::{EthEvmBuilder, EthEvmContext};
use alloy_evm::precompiles::PrecompilesMap;
use alloy_op_evm::{OpEvmContext, OpEvmFactory, OpTx};
use alloy_primitives::{Address, Bytes, U256};
use op_revm::{L1BlockInfo, OpSpecId, OpTransaction};
use revm::context::{BlockEnv, CfgEnv, Evm as RevmEvm, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction, OutOfGasError};
use revm::handler::EthFrame;
use revm::handler::instructions::EthInstructions;
use revm::inspector::NoOpInspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::primitives::hardfork::SpecId;
use revm::{Database, ExecuteEvm};
use std::cell::RefCell;

/// A finished run: the result counts only if the database lacked nothing.
pub(crate) struct Ran {
    pub(crate) result: CallResult,
    pub(crate) db: ViewDb,
}

type EthCallEvm = RevmEvm<
    EthEvmContext<ViewDb>,
    NoOpInspector,
    EthInstructions<EthInterpreter, EthEvmContext<ViewDb>>,
    PrecompilesMap,
    EthFrame,
>;
type OpCallEvm = op_revm::OpEvm<
    OpEvmContext<ViewDb>,
    NoOpInspector,
    EthInstructions<EthInterpreter, OpEvmContext<ViewDb>>,
    PrecompilesMap,
>;

thread_local! {
    static ETH: RefCell<Option<(SpecId, EthCallEvm)>> = const { RefCell::new(None) };
    static OP: RefCell<Option<(OpSpecId, OpCallEvm)>> = const { RefCell::new(None) };
}

/// Runs a message on a database.
pub(crate) fn run(spec: &ChainSpec, message: Message, db: ViewDb) -> Ran {
    match spec.stack {
        Stack::Ethereum => run_eth(spec, message, db),
        Stack::Op => run_op(spec, message, db),
    }
}

fn run_eth(spec: &ChainSpec, message: Message, mut db: ViewDb) -> Ran {
    let mut env = spec.eth_call_env(&message.header, message.merged);
    let fork = env.cfg_env.spec;
    db.delegations = fork.is_enabled_in(SpecId::PRAGUE);
    relax(&mut env.cfg_env, &mut env.block_env, &message);
    if !fork.is_enabled_in(SpecId::OSAKA) {
        env.cfg_env.max_blobs_per_tx = None;
    }
    let mut tx = message.tx;
    choose_type(&mut tx, fork);
    let about = About::of(&tx);
    let hidden = overridden_precompiles(&db);
    let kept = ETH.with(RefCell::take).filter(|(kept, _)| *kept == fork && hidden.is_empty());
    let mut evm = match kept {
        Some((_, mut evm)) => {
            evm.ctx.block = env.block_env;
            evm.ctx.cfg = env.cfg_env;
            evm.ctx.journaled_state.database = db;
            evm
        }
        None => {
            let mut evm = EthEvmBuilder::new(db, env).build().into_inner();
            meter::install(&mut evm.instruction, fork);
            hide(&mut evm.precompiles, &hidden);
            evm
        }
    };
    let outcome = evm.transact(tx);
    let db = take_db(&mut evm.ctx.journaled_state.database);
    let (result, db) = finish(outcome.map(|done| done.result), db, &about, |halt| halt_text(&halt));
    if hidden.is_empty() {
        ETH.with(|slot| *slot.borrow_mut() = Some((fork, evm)));
    }
    Ran { result, db }
}

fn run_op(spec: &ChainSpec, message: Message, mut db: ViewDb) -> Ran {
    let mut env = spec.op_env(&message.header);
    let fork = env.cfg_env.spec;
    relax(&mut env.cfg_env, &mut env.block_env, &message);
    db.delegations = fork.into_eth_spec().is_enabled_in(SpecId::PRAGUE);
    // A caller without funds must not fail on the fee for L1 data that a call never posts.
    env.cfg_env.disable_fee_charge = true;
    let mut tx = message.tx;
    choose_type(&mut tx, fork.into_eth_spec());
    let about = About::of(&tx);
    let mut op = OpTransaction::new(tx);
    op.enveloped_tx = Some(Bytes::new());
    let hidden = overridden_precompiles(&db);
    let kept = OP.with(RefCell::take).filter(|(kept, _)| *kept == fork && hidden.is_empty());
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
        None => {
            let mut evm = OpEvmFactory::<OpTx>::default().create_evm(db, env).into_inner();
            meter::install(&mut evm.0.instruction, fork.into_eth_spec());
            hide(&mut evm.0.precompiles, &hidden);
            evm
        }
    };
    let outcome = evm.transact(OpTx(op)).map_err(|error| match error {
        EVMError::Transaction(op_revm::OpTransactionError::Base(base)) => EVMError::Transaction(base),
        EVMError::Transaction(other) => EVMError::Custom(other.to_string()),
        EVMError::Header(error) => EVMError::Header(error),
        EVMError::Custom(text) => EVMError::Custom(text),
        other => EVMError::Custom(other.to_string()),
    });
    let db = take_db(&mut evm.0.ctx.journaled_state.database);
    let (result, db) = finish(outcome.map(|done| done.result), db, &about, |halt| match halt {
        op_revm::OpHaltReason::Base(base) => halt_text(&base),
        op_revm::OpHaltReason::FailedDeposit => "failed deposit".into(),
    });
    if hidden.is_empty() {
        OP.with(|slot| *slot.borrow_mut() = Some((fork, evm)));
    }
    Ran { result, db }
}

/// Moves the database out of an EVM that is kept, leaving an empty one on the same view.
fn take_db(place: &mut ViewDb) -> ViewDb {
    let idle = ViewDb::new(std::sync::Arc::clone(&place.view), meter::Meter::unlimited());
    std::mem::replace(place, idle)
}

/// Turns off the rules that only transactions must follow.
fn relax<S>(cfg: &mut CfgEnv<S>, block: &mut BlockEnv, message: &Message) {
    cfg.disable_nonce_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_block_gas_limit = true;
    cfg.tx_chain_id_check = false;
    cfg.tx_gas_limit_cap = Some(u64::MAX);
    cfg.disable_base_fee = message.free;
    if message.free {
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
    db.overrides.iter().flat_map(|overrides| overrides.accounts.keys()).filter(low).copied().collect()
}

fn hide(precompiles: &mut PrecompilesMap, hidden: &[Address]) {
    for address in hidden {
        precompiles.apply_precompile(address, |_| None);
    }
}

/// What messages about a refused call mention.
struct About {
    from: Address,
    gas: u64,
    fee_cap: u128,
    value: U256,
    data: usize,
}

impl About {
    fn of(tx: &TxEnv) -> Self {
        Self { from: tx.caller, gas: tx.gas_limit, fee_cap: tx.gas_price, value: tx.value, data: tx.data.len() }
    }
}

fn finish<H>(
    outcome: Result<ExecutionResult<H>, EVMError<std::convert::Infallible>>,
    mut db: ViewDb,
    about: &About,
    halt: impl Fn(H) -> String,
) -> (CallResult, ViewDb) {
    let result = match outcome {
        Ok(ExecutionResult::Success { output, .. }) => CallResult::Success(output.into_data()),
        Ok(ExecutionResult::Revert { output, .. }) => CallResult::Revert(output),
        Ok(ExecutionResult::Halt { reason, .. }) => CallResult::Halt(halt(reason)),
        Err(EVMError::Transaction(why)) => {
            let text = refusal(&why, about, &mut db);
            CallResult::Invalid(format!("err: {text} (supplied gas {})", about.gas))
        }
        Err(other) => CallResult::Invalid(format!("err: {other} (supplied gas {})", about.gas)),
    };
    (result, db)
}

/// Why a message was refused, in geth's words and geth's order: funds come before gas.
fn refusal(why: &InvalidTransaction, about: &About, db: &mut ViewDb) -> String {
    use InvalidTransaction as I;
    let from = about.from.to_checksum(None);
    let want = U256::from(about.gas).saturating_mul(U256::from(about.fee_cap)).saturating_add(about.value);
    let have = db.basic(about.from).unwrap_or_else(|never| match never {}).map_or(U256::ZERO, |info| info.balance);
    let poor = format!("insufficient funds for gas * price + value: address {from} have {have} want {want}");
    match why {
        I::LackOfFundForMaxFee { .. } | I::OverflowPaymentInTransaction => poor,
        I::CallGasCostMoreThanGasLimit { .. }
        | I::GasFloorMoreThanGasLimit { .. }
        | I::CreateInitCodeSizeLimit
            if have < want =>
        {
            poor
        }
        I::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}")
        }
        I::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        I::CreateInitCodeSizeLimit => {
            format!("max initcode size exceeded: code size {} limit {}", about.data, 2 * 24_576)
        }
        I::BlobGasPriceGreaterThanMax { block_blob_gas_price, tx_max_fee_per_blob_gas } => format!(
            "max fee per blob gas less than block blob gas fee: address {from} blobGasFeeCap: \
             {tx_max_fee_per_blob_gas}, blobBaseFee: {block_blob_gas_price}"
        ),
        I::TooManyBlobs { .. } => "blob transaction has too many blobs".into(),
        other => other.to_string(),
    }
}

fn halt_text(reason: &HaltReason) -> String {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::InvalidOperand) => "gas uint64 overflow".into(),
        HaltReason::OutOfGas(_) => "out of gas".into(),
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

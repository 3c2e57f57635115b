//! The one place that EVMs are made: those of alloy-evm and alloy-op-evm, with the instructions and precompiles that count, and with
//! any inspector.

use crate::evm::database::{FrameMemory, ViewDb};
use crate::evm::meter::{HasMeter, Metered};
use crate::evm::opcodes;
use crate::evm::pairing::karst;
use crate::evm::precompiles::MeteredPrecompiles;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{BlockBody, Header, TxEnvelope};
use alloy_evm::eth::{EthBlockExecutionCtx, EthEvmBuilder, EthEvmContext};
use alloy_evm::precompiles::PrecompilesMap;
use alloy_evm::{Database, EthEvm, EvmEnv, EvmFactory};
use alloy_op_evm::{OpBlockExecutionCtx, OpEvm, OpEvmContext, OpEvmFactory, OpTx};
use alloy_primitives::Address;
use alloy_primitives::map::AddressSet;
use op_revm::OpSpecId;
use op_revm::precompiles::OpPrecompiles;
use revm::Inspector;
use revm::context::{CfgEnv, Evm as RevmEvm};
use revm::database::State;
use revm::handler::EthFrame;
use revm::handler::instructions::EthInstructions;
use revm::inspector::NoOpInspector;
use revm::interpreter::interpreter::EthInterpreter;
use revm::precompile::{PrecompileSpecId, Precompiles};
use revm::primitives::hardfork::SpecId;
use std::borrow::Cow;
use std::rc::Rc;

/// The most that all frames of a transaction may have as memory together. A transaction would need 500 million gas to
/// have more; but a gas limit is whatever a block says, and memory is had in no time.
const MAX_MEMORY: u64 = 1 << 29;
/// The most that one frame can add at once for the gas of any block: 100 MB for 20 billion.
const MEMORY_STEP: u64 = 1 << 27;

/// Whether a transaction came so near to the limit that it may have been refused more.
pub(crate) fn ran_out_of_memory(memory: &FrameMemory) -> bool {
    memory.borrow().capacity() as u64 > MAX_MEMORY - MEMORY_STEP
}

/// An EVM by Ethereum's rules that counts.
pub(crate) type MeteredEthEvm<DB, I = NoOpInspector> = RevmEvm<
    EthEvmContext<DB>,
    I,
    EthInstructions<EthInterpreter, EthEvmContext<DB>>,
    MeteredPrecompiles,
    EthFrame,
>;
/// The same by the rules of the OP stack.
pub(crate) type MeteredOpEvm<DB, I = NoOpInspector> =
    op_revm::OpEvm<OpEvmContext<DB>, I, EthInstructions<EthInterpreter, OpEvmContext<DB>>, MeteredPrecompiles>;

/// Makes an EVM without the precompiles at `hidden` addresses.
pub(crate) fn eth_evm<DB, I>(db: DB, env: EvmEnv<SpecId>, hidden: &[Address], inspector: I) -> MeteredEthEvm<DB, I>
where
    DB: Database + HasMeter,
    I: Inspector<EthEvmContext<DB>>,
    EthEvmContext<DB>: Metered,
{
    let fork = env.cfg_env.spec;
    let mut evm = EthEvmBuilder::new(db, env).inspector(inspector).build().into_inner();
    opcodes::install(&mut evm.instruction, fork);
    let precompiles = MeteredPrecompiles::without(evm.precompiles.clone(), hidden);
    evm.with_precompiles(precompiles)
}

/// The fork of an OP-stack chain as the EVM sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpRules {
    pub(crate) fork: OpSpecId,
    limits_pairings: bool,
}

impl OpRules {
    /// The rules at a time.
    pub(crate) fn of(spec: &ChainSpec, env: &EvmEnv<OpSpecId>, timestamp: u64) -> Self {
        Self { fork: env.cfg_env.spec, limits_pairings: spec.limits_pairings(timestamp) }
    }
}

/// Makes an EVM without the precompiles at `hidden` addresses.
pub(crate) fn op_evm<DB, I>(
    db: DB,
    env: EvmEnv<OpSpecId>,
    rules: OpRules,
    hidden: &[Address],
    inspector: I,
) -> MeteredOpEvm<DB, I>
where
    DB: Database + HasMeter,
    I: Inspector<OpEvmContext<DB>>,
    OpEvmContext<DB>: Metered,
{
    let factory = OpEvmFactory::<OpTx>::default();
    let mut evm = factory.create_evm_with_inspector(db, env, inspector).into_inner();
    opcodes::install(&mut evm.0.instruction, rules.fork.into_eth_spec());
    let active =
        if rules.limits_pairings { PrecompilesMap::from_static(karst()) } else { evm.0.precompiles.clone() };
    let precompiles = MeteredPrecompiles::without(active, hidden);
    evm.with_precompiles(precompiles)
}

/// Where the precompiles of a block are.
pub(crate) fn precompile_addresses(spec: &ChainSpec, header: &Header) -> AddressSet {
    match spec.stack {
        Stack::Ethereum => {
            let fork = PrecompileSpecId::from_spec_id(spec.eth_env(header).cfg_env.spec);
            Precompiles::new(fork).addresses().copied().collect()
        }
        Stack::Op => {
            let precompiles = OpPrecompiles::new_with_spec(spec.op_env(header).cfg_env.spec);
            precompiles.precompiles().addresses().copied().collect()
        }
    }
}

/// State as the transactions of a block see it and change it.
pub(crate) type BlockState = State<ViewDb>;
pub(crate) type EthBlockEvm = EthEvm<BlockState, NoOpInspector, MeteredPrecompiles>;
pub(crate) type OpBlockEvm = OpEvm<BlockState, NoOpInspector, MeteredPrecompiles>;

/// Makes the EVM that a block is executed with: its memory is bounded, and known to the database.
pub(crate) fn eth_block_evm(state: BlockState, env: EvmEnv<SpecId>) -> EthBlockEvm {
    eth_block_evm_with(state, env, NoOpInspector)
}

/// The same with an inspector, which is off.
pub(crate) fn eth_block_evm_with<I: Inspector<EthEvmContext<BlockState>>>(
    state: BlockState,
    mut env: EvmEnv<SpecId>,
    inspector: I,
) -> EthEvm<BlockState, I, MeteredPrecompiles> {
    env.cfg_env.memory_limit = MAX_MEMORY;
    let mut evm = eth_evm(state, env, &[], inspector);
    evm.ctx.journaled_state.database.database.memory = Some(Rc::clone(&evm.ctx.local.shared_memory_buffer));
    EthEvm::new(evm, false)
}

/// The same by the rules of the OP stack.
pub(crate) fn op_block_evm(state: BlockState, env: EvmEnv<OpSpecId>, rules: OpRules) -> OpBlockEvm {
    op_block_evm_with(state, env, rules, NoOpInspector)
}

/// The same with an inspector, which is off.
pub(crate) fn op_block_evm_with<I: Inspector<OpEvmContext<BlockState>>>(
    state: BlockState,
    mut env: EvmEnv<OpSpecId>,
    rules: OpRules,
    inspector: I,
) -> OpEvm<BlockState, I, MeteredPrecompiles> {
    env.cfg_env.memory_limit = MAX_MEMORY;
    let mut evm = op_evm(state, env, rules, &[], inspector);
    let ctx = &mut evm.0.ctx;
    ctx.journaled_state.database.database.memory = Some(Rc::clone(&ctx.local.shared_memory_buffer));
    OpEvm::new(evm, false)
}

/// What the executor of a block is told of it.
pub(crate) fn eth_context<'a>(header: &Header, body: &'a BlockBody<TxEnvelope>) -> EthBlockExecutionCtx<'a> {
    EthBlockExecutionCtx {
        parent_hash: header.parent_hash,
        parent_beacon_block_root: header.parent_beacon_block_root,
        ommers: &body.ommers,
        withdrawals: body.withdrawals.as_ref().map(|list| Cow::Borrowed(list.as_slice())),
        extra_data: header.extra_data.clone(),
        tx_count_hint: Some(body.transactions.len()),
        slot_number: None,
    }
}

/// The same of a block of the OP stack.
pub(crate) fn op_context(header: &Header) -> OpBlockExecutionCtx {
    OpBlockExecutionCtx {
        parent_hash: header.parent_hash,
        parent_beacon_block_root: header.parent_beacon_block_root,
        extra_data: header.extra_data.clone(),
    }
}

/// Turns off the checks that made-up state would fail, or transactions of rules that are not known.
pub(crate) fn relax<S>(env: &mut EvmEnv<S>) {
    let cfg: &mut CfgEnv<S> = &mut env.cfg_env;
    cfg.disable_nonce_check = true;
    cfg.disable_balance_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_base_fee = true;
    cfg.tx_gas_limit_cap = Some(u64::MAX);
}

//! The EVMs that blocks run on: those of alloy-evm and alloy-op-evm, with the instructions and precompiles that count.

use crate::db::{FrameMemory, ViewDb};
use crate::meter::{self, MeteredPrecompiles};
use alloy_evm::eth::EthEvmBuilder;
use alloy_evm::{EthEvm, EvmEnv, EvmFactory};
use alloy_op_evm::{OpEvm, OpEvmFactory, OpTx};
use op_revm::OpSpecId;
use revm::context::CfgEnv;
use revm::database::State;
use revm::inspector::NoOpInspector;
use revm::primitives::hardfork::SpecId;
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

/// State as the transactions of a block see it and change it.
pub(crate) type BlockState = State<ViewDb>;
pub(crate) type EthBlockEvm = EthEvm<BlockState, NoOpInspector, MeteredPrecompiles>;
pub(crate) type OpBlockEvm = OpEvm<BlockState, NoOpInspector, MeteredPrecompiles>;

pub(crate) fn eth_evm(state: BlockState, mut env: EvmEnv<SpecId>) -> EthBlockEvm {
    let fork = env.cfg_env.spec;
    env.cfg_env.memory_limit = MAX_MEMORY;
    let mut evm = EthEvmBuilder::new(state, env).build().into_inner();
    meter::install(&mut evm.instruction, fork);
    let precompiles = MeteredPrecompiles::without(evm.precompiles.clone(), &[]);
    evm.ctx.journaled_state.database.database.memory = Some(Rc::clone(&evm.ctx.local.shared_memory_buffer));
    EthEvm::new(evm.with_precompiles(precompiles), false)
}

pub(crate) fn op_evm(state: BlockState, mut env: EvmEnv<OpSpecId>) -> OpBlockEvm {
    let fork = env.cfg_env.spec;
    env.cfg_env.memory_limit = MAX_MEMORY;
    let mut evm = OpEvmFactory::<OpTx>::default().create_evm(state, env).into_inner();
    meter::install(&mut evm.0.instruction, fork.into_eth_spec());
    let precompiles = MeteredPrecompiles::without(evm.0.precompiles.clone(), &[]);
    let ctx = &mut evm.0.ctx;
    ctx.journaled_state.database.database.memory = Some(Rc::clone(&ctx.local.shared_memory_buffer));
    OpEvm::new(evm.with_precompiles(precompiles), false)
}

/// Turns off the checks that made-up state would fail.
pub(crate) fn relax<S>(env: &mut EvmEnv<S>) {
    let cfg: &mut CfgEnv<S> = &mut env.cfg_env;
    cfg.disable_nonce_check = true;
    cfg.disable_balance_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_base_fee = true;
}

//! Pairings from Karst on, which op-revm 20 does not have yet.

use op_revm::precompiles::karst as op_revm_karst;
use revm::precompile::{
    EthPrecompileResult, Precompile, PrecompileHalt, PrecompileId, Precompiles, bn254, eth_precompile_fn,
};
use std::sync::LazyLock;

/// Most bytes that a pairing takes: 300 pairs (specs, protocol/karst/exec-engine.md).
const MAX_INPUT: usize = 57_600;

/// The precompiles of Karst on the OP stack.
pub(crate) fn karst() -> &'static Precompiles {
    static PRECOMPILES: LazyLock<Precompiles> = LazyLock::new(|| {
        let mut precompiles = op_revm_karst().clone();
        precompiles.extend([Precompile::new(PrecompileId::Bn254Pairing, bn254::pair::ADDRESS, pairing)]);
        precompiles
    });
    &PRECOMPILES
}

fn run_pairing(input: &[u8], gas_limit: u64) -> EthPrecompileResult {
    if input.len() > MAX_INPUT {
        return Err(PrecompileHalt::Bn254PairLength);
    }
    bn254::run_pair(input, bn254::pair::ISTANBUL_PAIR_PER_POINT, bn254::pair::ISTANBUL_PAIR_BASE, gas_limit)
}

eth_precompile_fn!(pairing, run_pairing);

//! Chains whose rules are known by name, as data.

use alloy_op_hardforks::OpChainHardforks;

/// Where the forks of a preset come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Forks {
    Ethereum,
    Op(fn() -> OpChainHardforks),
    /// Every fork up to Osaka from the first block on: `geth --dev` 1.16 (`AllDevChainProtocolChanges`) and anvil 1.7 by
    /// default.
    Development,
}

/// A chain that is known by name.
#[derive(Debug)]
pub(crate) struct Preset {
    pub(crate) chain_id: u64,
    name: &'static str,
    pub(crate) forks: Forks,
}

const PRESETS: [Preset; 7] = [
    Preset { chain_id: 1, name: "ethereum", forks: Forks::Ethereum },
    Preset { chain_id: 10, name: "op-mainnet", forks: Forks::Op(OpChainHardforks::op_mainnet) },
    Preset { chain_id: 1337, name: "geth-dev", forks: Forks::Development },
    Preset { chain_id: 8453, name: "base", forks: Forks::Op(OpChainHardforks::base_mainnet) },
    Preset { chain_id: 31_337, name: "anvil", forks: Forks::Development },
    Preset { chain_id: 84_532, name: "base-sepolia", forks: Forks::Op(OpChainHardforks::base_sepolia) },
    Preset { chain_id: 11_155_420, name: "op-sepolia", forks: Forks::Op(OpChainHardforks::op_sepolia) },
];

/// The name of the preset with the rules of a chain. Of the ids that development nodes share, it is the rules of a node
/// started without options.
pub fn preset_of(chain_id: u64) -> Option<&'static str> {
    PRESETS.iter().find(|preset| preset.chain_id == chain_id).map(|preset| preset.name)
}

/// The preset of a name.
pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

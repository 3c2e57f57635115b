//! Chains whose rules are known by name.

use crate::error::Error;
use crate::spec::ChainSpec;
use alloy_op_hardforks::OpChainHardforks;
use alloy_primitives::Address;

/// The chain id and the name of each preset.
const PRESETS: [(u64, &str); 7] = [
    (1, "ethereum"),
    (10, "op-mainnet"),
    (1337, "geth-dev"),
    (8453, "base"),
    (31_337, "anvil"),
    (84_532, "base-sepolia"),
    (11_155_420, "op-sepolia"),
];

/// The preset with the rules of a chain. Of the ids that development nodes share, it is the rules of a node started
/// without options.
pub fn preset_of(chain_id: u64) -> Option<&'static str> {
    PRESETS.iter().find(|(id, _)| *id == chain_id).map(|(_, name)| *name)
}

/// The rules of a preset; `None` if there is none of that name.
pub(crate) fn preset(name: &str) -> Option<Result<ChainSpec, Error>> {
    let (chain_id, _) = PRESETS.iter().find(|(_, known)| *known == name)?;
    Some(match name {
        "ethereum" => Ok(ChainSpec::ethereum()),
        "op-mainnet" => Ok(ChainSpec::op(*chain_id, &OpChainHardforks::op_mainnet())),
        "op-sepolia" => Ok(ChainSpec::op(*chain_id, &OpChainHardforks::op_sepolia())),
        "base" => Ok(ChainSpec::op(*chain_id, &OpChainHardforks::base_mainnet())),
        "base-sepolia" => Ok(ChainSpec::op(*chain_id, &OpChainHardforks::base_sepolia())),
        _ => development(*chain_id),
    })
}

/// A chain with every fork up to Osaka from its first block on: `geth --dev` 1.16 (`AllDevChainProtocolChanges`) and
/// anvil 1.7 by default.
fn development(chain_id: u64) -> Result<ChainSpec, Error> {
    let config = serde_json::json!({
        "chainId": chain_id,
        "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0, "byzantiumBlock": 0,
        "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0, "muirGlacierBlock": 0, "berlinBlock": 0,
        "londonBlock": 0, "arrowGlacierBlock": 0, "grayGlacierBlock": 0, "terminalTotalDifficulty": 0,
        "shanghaiTime": 0, "cancunTime": 0, "pragueTime": 0, "osakaTime": 0,
        "depositContractAddress": Address::ZERO,
        "blobSchedule": {
            "cancun": { "target": 3, "max": 6, "baseFeeUpdateFraction": 3_338_477 },
            "prague": { "target": 6, "max": 9, "baseFeeUpdateFraction": 5_007_716 },
            "osaka": { "target": 6, "max": 9, "baseFeeUpdateFraction": 5_007_716 },
        },
    });
    ChainSpec::parse(&config.to_string())
}

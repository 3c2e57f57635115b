//! Fork rules: presets, the conformance chain at its boundaries, and the context a call pretends.

use crate::support::test_data;
use alloy_consensus::Header;
use alloy_primitives::U256;
use chain_query_evm::{ChainSpec, Error, Stack, preset_of};
use op_revm::OpSpecId;
use revm::primitives::hardfork::SpecId;

fn conformance() -> ChainSpec {
    let text = std::fs::read_to_string(test_data("conformance/genesis.json")).unwrap();
    let genesis: serde_json::Value = serde_json::from_str(&text).unwrap();
    ChainSpec::parse(&genesis["config"].to_string()).unwrap()
}

/// A block of the conformance chain: ten seconds each, merged from 36 on.
fn header(number: u64, timestamp: u64) -> Header {
    let difficulty = U256::from(u8::from(number < 36));
    Header { number, timestamp, difficulty, base_fee_per_gas: (number >= 27).then_some(7), ..Default::default() }
}

#[test]
fn presets_are_known() {
    for (name, chain_id, stack) in [
        ("ethereum", 1, Stack::Ethereum),
        ("op-mainnet", 10, Stack::Op),
        ("base", 8453, Stack::Op),
        ("base-sepolia", 84532, Stack::Op),
        ("op-sepolia", 11_155_420, Stack::Op),
        ("geth-dev", 1337, Stack::Ethereum),
        ("anvil", 31_337, Stack::Ethereum),
    ] {
        let spec = ChainSpec::parse(name).unwrap();
        assert_eq!((spec.chain_id, spec.stack), (chain_id, stack), "{name}");
        assert_eq!(preset_of(chain_id), Some(name));
    }
    assert_eq!(preset_of(5), None);
    assert!(matches!(ChainSpec::parse("no-such-chain"), Err(Error::Malformed(_))));
}

#[test]
fn presets_have_the_forks_of_their_chains() {
    let at = |number, timestamp| Header { number, timestamp, ..Default::default() };
    let ethereum = ChainSpec::parse("ethereum").unwrap();
    for (number, timestamp, fork) in [
        (1_149_999, 0, SpecId::FRONTIER),
        (1_150_000, 0, SpecId::HOMESTEAD),
        (12_964_999, 0, SpecId::BERLIN),
        (12_965_000, 0, SpecId::LONDON),
        (17_034_869, 1_681_338_454, SpecId::MERGE),
        (17_034_870, 1_681_338_455, SpecId::SHANGHAI),
        (22_431_083, 1_746_612_310, SpecId::CANCUN),
        (22_431_084, 1_746_612_311, SpecId::PRAGUE),
        (23_935_694, 1_764_798_551, SpecId::OSAKA),
    ] {
        assert_eq!(ethereum.eth_env(&at(number, timestamp)).cfg_env.spec, fork, "block {number}");
    }
    let base = ChainSpec::parse("base").unwrap();
    for (timestamp, fork) in [
        (1_704_992_401 - 1, OpSpecId::REGOLITH),
        (1_704_992_401, OpSpecId::CANYON),
        (1_710_374_401, OpSpecId::ECOTONE),
        (1_720_627_201, OpSpecId::FJORD),
        (1_746_806_401 - 1, OpSpecId::HOLOCENE),
        (1_746_806_401, OpSpecId::ISTHMUS),
    ] {
        assert_eq!(base.op_env(&at(20_000_000, timestamp)).cfg_env.spec, fork, "time {timestamp}");
    }
    let sepolia = ChainSpec::parse("op-sepolia").unwrap();
    for (timestamp, fork) in [(1_732_633_200, OpSpecId::HOLOCENE), (1_744_905_600, OpSpecId::ISTHMUS)] {
        assert_eq!(sepolia.op_env(&at(20_000_000, timestamp)).cfg_env.spec, fork, "time {timestamp}");
    }
    for name in ["geth-dev", "anvil"] {
        let spec = ChainSpec::parse(name).unwrap();
        assert_eq!(spec.eth_env(&at(1, 1)).cfg_env.spec, SpecId::OSAKA, "{name}");
        assert_eq!(spec.blob_params_at(1).unwrap().max_blob_count, 9, "{name}");
    }
}

#[test]
fn forks_begin_at_their_blocks_and_times() {
    let spec = conformance();
    let forks = [
        (0, SpecId::HOMESTEAD),
        (3, SpecId::TANGERINE),
        (6, SpecId::SPURIOUS_DRAGON),
        (9, SpecId::BYZANTIUM),
        // Constantinople itself never ran with EIP-1283 for long: its opcodes, without that.
        (12, SpecId::PETERSBURG),
        (15, SpecId::PETERSBURG),
        (18, SpecId::ISTANBUL),
        (24, SpecId::BERLIN),
        (27, SpecId::LONDON),
        (36, SpecId::MERGE),
        (39, SpecId::SHANGHAI),
        (42, SpecId::CANCUN),
        (45, SpecId::PRAGUE),
        (48, SpecId::OSAKA),
    ];
    for (index, (first, fork)) in forks.iter().enumerate() {
        let end = forks.get(index + 1).map_or(60, |(next, _)| *next);
        for number in *first..end {
            let header = header(number, number * 10);
            assert_eq!(spec.eth_env(&header).cfg_env.spec, *fork, "block {number}");
            assert_eq!(spec.eth_call_env(&header, number >= 36).cfg_env.spec, *fork, "call at {number}");
        }
    }
    for (time, target, max) in [(420, 3, 6), (450, 6, 9), (480, 6, 9), (510, 10, 15), (540, 14, 21), (999, 14, 21)]
    {
        let params = spec.blob_params_at(time).unwrap();
        assert_eq!((params.target_blob_count, params.max_blob_count), (target, max), "time {time}");
    }
    assert!(spec.blob_params_at(419).is_none());
    assert!(spec.receipts_hold_roots(8) && !spec.receipts_hold_roots(9));
}

#[test]
fn a_pretended_time_counts_only_where_the_context_is_merged() {
    let spec = conformance();
    let fork = |number, time, merged| spec.eth_call_env(&header(number, time), merged).cfg_env.spec;
    assert_eq!(fork(50, 999, true), SpecId::OSAKA);
    assert_eq!(fork(50, 400, true), SpecId::SHANGHAI, "an earlier time");
    assert_eq!(fork(50, 0, true), SpecId::MERGE);
    assert_eq!(fork(50, 999, false), SpecId::LONDON, "a pretended difficulty alone is no merged context");
    assert_eq!(fork(30, 999, false), SpecId::LONDON, "an old block stays before the merge");
    assert_eq!(fork(30, 999, true), SpecId::OSAKA, "unless randomness is pretended");
    assert_eq!(fork(20, 999, true), SpecId::ISTANBUL, "and London is there");
    assert_eq!(fork(1_000_000, 540, true), SpecId::OSAKA, "a later number");
    let env = spec.eth_call_env(&header(50, 999), true);
    assert!(env.block_env.blob_excess_gas_and_price.is_some(), "BLOBBASEFEE has a price");
}

#[test]
fn a_terminal_difficulty_needs_its_block() {
    let config = r#"{ "chainId": 5, "homesteadBlock": 0, "terminalTotalDifficulty": 9, "shanghaiTime": 1 }"#;
    let refused = ChainSpec::parse(config).unwrap_err();
    assert!(matches!(&refused, Error::Unsupported(text) if text.contains("mergeNetsplitBlock")), "{refused}");
    let named = config.replace("\"shanghaiTime\"", "\"mergeNetsplitBlock\": 7, \"shanghaiTime\"");
    let spec = ChainSpec::parse(&named).unwrap();
    assert_eq!(spec.stack, Stack::Ethereum);
}

#[test]
fn op_chains_are_told_by_their_fields() {
    let config = |more: &str| format!(r#"{{ "chainId": 5, "homesteadBlock": 0, {more} }}"#);
    assert_eq!(ChainSpec::parse(&config(r#""optimism": {}"#)).unwrap().stack, Stack::Op);
    assert_eq!(ChainSpec::parse(&config(r#""bedrockBlock": 0"#)).unwrap().stack, Stack::Op);
    assert_eq!(ChainSpec::parse(&config(r#""canyonTime": null"#)).unwrap().stack, Stack::Ethereum);
    let wrong = ChainSpec::parse(&config(r#""canyonTime": "soon""#));
    assert!(matches!(wrong, Err(Error::Malformed(text)) if text.contains("canyonTime")));
}

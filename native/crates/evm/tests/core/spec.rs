//! Fork rules: those of the OP stack and of Base, the conformance chain at its boundaries, and the context a call pretends.

use crate::support::test_data;
use alloy_consensus::Header;
use alloy_primitives::U256;
use chain_query_evm::{ChainSpec, Error, Stack};
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

const OP: &str = r#"{
    "chainId": 7, "optimism": {}, "homesteadBlock": 0, "mergeNetsplitBlock": 0, "bedrockBlock": 0, "regolithTime": 0,
    "canyonTime": 10, "ecotoneTime": 20, "fjordTime": 30, "graniteTime": 40, "holoceneTime": 50, "isthmusTime": 60,
    "jovianTime": 70, LATER }"#;

fn op(later: &str) -> Result<ChainSpec, Error> {
    ChainSpec::parse(&OP.replace("LATER", later))
}

#[test]
fn forks_of_the_op_stack_and_of_base_begin_at_their_times() {
    let at = |timestamp| Header { number: 1, timestamp, ..Default::default() };
    let karst = op(r#""karstTime": 80, "osakaTime": 80"#).unwrap();
    let base = op(r#""base": { "azul": 80, "beryl": 90, "cobalt": 100, "denim": 110 }"#).unwrap();
    for (timestamp, fork) in [
        (9, OpSpecId::REGOLITH),
        (10, OpSpecId::CANYON),
        (20, OpSpecId::ECOTONE),
        (30, OpSpecId::FJORD),
        (40, OpSpecId::GRANITE),
        (50, OpSpecId::HOLOCENE),
        (60, OpSpecId::ISTHMUS),
        (79, OpSpecId::JOVIAN),
        (80, OpSpecId::KARST),
        (120, OpSpecId::KARST),
    ] {
        for spec in [&karst, &base] {
            assert_eq!(spec.op_env(&at(timestamp)).cfg_env.spec, fork, "time {timestamp}");
            assert!(spec.expect_known(&at(timestamp)).is_ok());
        }
    }
    assert!(karst.limits_pairings(80) && !karst.limits_pairings(79) && !base.limits_pairings(80));
    let both = op(r#""karstTime": 80, "base": { "azul": 80 }"#);
    assert!(matches!(both, Err(Error::Unsupported(text)) if text.contains("karstTime")));
}

#[test]
fn a_fork_that_is_not_known_ends_where_it_begins() {
    let at = |number, timestamp| Header { number, timestamp, ..Default::default() };
    for (field, last, first, said) in [
        (r#""lagoonTime": 100"#, at(5, 99), at(6, 100), "lagoonTime, from time 100 on"),
        (r#""interopTime": "0x64""#, at(5, 99), at(6, 100), "interopTime, from time 100 on"),
        (r#""someBlock": 7"#, at(6, 200), at(7, 200), "someBlock, from block 7 on"),
        (r#""amsterdamTime": 100"#, at(5, 99), at(6, 100), "Amsterdam, from time 100 on"),
        (r#""base": { "azul": 80, "ebony": 100 }"#, at(5, 99), at(6, 100), "base.ebony, from time 100 on"),
    ] {
        let spec = op(field).unwrap();
        assert_eq!(spec.unknown_forks(), [said]);
        assert!(spec.expect_known(&last).is_ok(), "{field}");
        let refused = spec.expect_known(&first).unwrap_err();
        assert!(matches!(&refused, Error::UnknownFork(text) if text.contains("does not know")), "{refused}");
    }
    // What changes nothing that is executed, and what never comes.
    for known in [r#""deltaTime": 1"#, r#""pectraBlobScheduleTime": 1"#, r#""lagoonTime": null"#] {
        assert_eq!(op(known).unwrap().unknown_forks(), Vec::<String>::new(), "{known}");
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
fn adopts_the_blob_parameters_of_another_config_of_the_chain_and_nothing_else() {
    let config = |chain_id: u64, more: &str| {
        format!(r#"{{"chainId":{chain_id},"londonBlock":0,"terminalTotalDifficulty":0,"cancunTime":0{more}}}"#)
    };
    let spec = ChainSpec::parse(&config(7, "")).unwrap();
    let shared = spec.clone();
    let bpo = r#"{"target":10,"max":15,"baseFeeUpdateFraction":8346193}"#;
    let changed = config(7, &format!(r#","pragueTime":50,"bpo1Time":100,"blobSchedule":{{"bpo1":{bpo}}}"#));
    assert!(spec.adopt_blobs(&config(8, "")).is_err());
    spec.adopt_blobs(&changed).unwrap();
    let most = |time| shared.blob_params_at(time).unwrap().max_blob_count;
    assert_eq!([99, 100].map(most), [6, 15]);
    assert_eq!(spec.eth_env(&header(1, 100)).cfg_env.spec, SpecId::CANCUN);
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

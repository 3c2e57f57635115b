//! Small chains and calls for the tests beside this folder.

#![allow(dead_code, unused_imports, reason = "each test file uses a part of it")]

mod full;
mod random;
mod render;
mod witness;

pub use full::{Conformance, Full, conformance};
pub use random::Random;
pub use render::{block_json, receipts_json};
pub use witness::{Fixture, Witness};

use alloy_primitives::{Address, Bytes, U256, address, hex};
use chain_query_evm::{
    CallOptions, CallRequest, CallResult, Chain, ChainOptions, HotLimits, Lane, Outcome, Query, StateTrie, View,
    genesis_block, query,
};
use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Steps a call may take inline by default, and its gas: `callInlineSteps` and `callGasCap` in TypeScript.
pub const STEPS: u64 = 12_000;
pub const GAS: u64 = 50_000_000;

/// A file of `test/data`.
pub fn test_data(path: &str) -> PathBuf {
    // From the crate, wherever it is run from: an example runs where cargo was called. Cargo says where the crate is now; what is
    // compiled in may be a checkout that is gone, as the builds of all checkouts are kept in one place.
    let crate_dir = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(crate_dir).join("../../../test/data").join(path)
}

/// What a real node gave (`tests/recorded`).
pub fn recorded<T: DeserializeOwned>(name: &str) -> T {
    let file = File::open(format!("tests/recorded/{name}.json.gz")).unwrap();
    serde_json::from_reader(GzDecoder::new(file)).unwrap()
}

/// Of loading, for whatever is run: more than any of it takes, also where state is held so little that keys evict each other
/// (by chance: some 60 then).
pub const MAX_ROUNDS: usize = 1_000;

pub fn options() -> ChainOptions {
    ChainOptions {
        hot: HotLimits { window: 64, entries: 1 << 20, code_bytes: 1 << 26 },
        history_bytes: 1 << 24,
        pool_threads: 1,
        pool_queue: 4,
        max_block_gas: u64::MAX,
        trie_keys: 100_000,
    }
}

/// The last fork of each stack that a test chain has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    Byzantium,
    London,
    Prague,
    Osaka,
    Isthmus,
}

pub fn genesis(fork: Fork, alloc: &serde_json::Value) -> String {
    let mut config = serde_json::json!({
        "chainId": 7, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0, "byzantiumBlock": 0,
    });
    let mut add = |fields: serde_json::Value| {
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    };
    if fork != Fork::Byzantium {
        add(serde_json::json!({
            "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0, "berlinBlock": 0, "londonBlock": 0,
        }));
    }
    if matches!(fork, Fork::Prague | Fork::Osaka | Fork::Isthmus) {
        add(serde_json::json!({
            "mergeNetsplitBlock": 0, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 0,
            "pragueTime": 0,
        }));
    }
    if fork == Fork::Osaka {
        add(serde_json::json!({ "osakaTime": 0 }));
    }
    if fork == Fork::Isthmus {
        add(serde_json::json!({
            "optimism": {}, "bedrockBlock": 0, "regolithTime": 0, "canyonTime": 0, "ecotoneTime": 0,
            "fjordTime": 0, "graniteTime": 0, "holoceneTime": 0, "isthmusTime": 0,
        }));
    }
    let difficulty = if matches!(fork, Fork::Byzantium | Fork::London) { "0x1" } else { "0x0" };
    serde_json::json!({
        "config": config, "alloc": alloc, "gasLimit": "0x5f5e100", "difficulty": difficulty, "timestamp": "0x64",
        "nonce": "0x0", "extraData": "0x", "baseFeePerGas": "0x7",
    })
    .to_string()
}

/// A chain that has only its genesis block.
pub struct Small {
    pub chain: Arc<Chain>,
    pub outcome: Outcome,
    pub commitment: Option<StateTrie>,
}

pub fn small(fork: Fork, alloc: &serde_json::Value) -> Small {
    let (spec, outcome, commitment) = genesis_block(&genesis(fork, alloc)).unwrap();
    let chain = Arc::new(Chain::new(spec, options()).unwrap());
    chain.start_at_genesis(&outcome).unwrap();
    Small { chain, outcome, commitment: Some(commitment) }
}

impl Small {
    pub fn view(&self) -> Arc<View> {
        let header = alloy_rlp::encode(&self.outcome.header);
        Arc::new(self.chain.view(&header).unwrap())
    }
}

/// A chain with one contract at `CONTRACT`.
pub fn chain_with_code(fork: Fork, code: &[u8]) -> Small {
    let alloc =
        serde_json::json!({ CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(code) } });
    small(fork, &alloc)
}

/// The state of such a chain.
pub fn with_code(fork: Fork, code: &[u8]) -> Arc<View> {
    chain_with_code(fork, code).view()
}

pub const CONTRACT: Address = address!("00000000000000000000000000000000000c0de0");

pub fn request(to: Address) -> CallRequest {
    CallRequest { from: Address::ZERO, to: Some(to), gas: GAS, data: Bytes::new(), options: None }
}

pub fn with_options(mut request: CallRequest, json: &serde_json::Value) -> CallRequest {
    request.options = Some(Arc::new(CallOptions::parse(&json.to_string()).unwrap()));
    request
}

pub fn pool_lane(limit: Duration) -> Lane {
    Lane::Pool { deadline: Instant::now() + limit, cancel: Arc::new(AtomicBool::new(false)) }
}

/// Runs a call until nothing is missing: what no test put into the state does not exist.
pub fn run(view: &Arc<View>, request: &CallRequest, lane: &Lane) -> CallResult {
    ask(view, request, &Query::Call, lane)
}

/// The same for what else is asked about a call.
pub fn ask(view: &Arc<View>, request: &CallRequest, asked: &Query, lane: &Lane) -> CallResult {
    for _ in 0..4096 {
        match query(view, request, asked, lane) {
            CallResult::Missing(missing) => {
                let values: Vec<&[u8]> = missing.keys.iter().map(|_| &[][..]).collect();
                view.provide(&missing, &values).unwrap();
            }
            result => return result,
        }
    }
    panic!("still missing keys after 4096 rounds");
}

/// A 32-byte word.
pub fn word(value: u64) -> Bytes {
    Bytes::from(U256::from(value).to_be_bytes::<32>())
}

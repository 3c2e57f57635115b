//! Real blocks of OP Sepolia, executed on the state in their witnesses: the block hash that comes out must be the
//! one the network agreed on. State is handed in through the missing-set protocol, as an upstream would.

use crate::support::{Fixture, MAX_ROUNDS, Witness, block_json, receipts_json};
use alloy_consensus::Block;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::B256;
use alloy_rlp::Decodable;
use chain_query_evm::{
    Chain, ChainOptions, ChainSpec, Diff, Error, Execution, HotLimits, Key, Outcome, block_from_json,
    outcome_from_json, transactions_from_json,
};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::Value;
use std::sync::Arc;

#[test]
fn blocks_have_the_hash_the_network_agreed_on() {
    let fixtures = Fixture::all();
    assert_eq!(fixtures.len(), 8, "all eight blocks are there");
    for fixture in fixtures {
        let (hash, rounds) = execute(&fixture);
        assert_eq!(hash, fixture.expected_block_hash, "on {}", fixture.parent_header.number);
        println!("{hash} in {rounds} rounds of missing keys");
    }
}

fn execute(fixture: &Fixture) -> (B256, usize) {
    let options = ChainOptions {
        hot: HotLimits { window: 4, entries: 1 << 20, code_bytes: 1 << 26 },
        history_bytes: 1 << 24,
        pool_threads: 1,
        pool_queue: 1,
        max_block_gas: u64::MAX,
        trie_keys: 100_000,
    };
    let chain = Arc::new(Chain::new(fixture.spec(), options).unwrap());
    chain.open(&alloy_rlp::encode(&fixture.parent_header)).unwrap();
    let witness = Witness::new(fixture);
    let block = fixture.block();
    for round in 0..MAX_ROUNDS {
        match chain.seal(&block).unwrap() {
            Execution::Done(outcome) => {
                read_from_json(chain.spec(), &block, &outcome);
                let mut header = outcome.header;
                header.state_root = witness.root_after(&outcome.diff);
                return (header.hash_slow(), round);
            }
            Execution::Missing(mut missing) => {
                // Speculation also asks for keys that the block never touches; a witness does not have those.
                let loaded: Vec<(Key, Vec<u8>)> =
                    missing.keys.iter().filter_map(|key| Some((*key, witness.load(key)?))).collect();
                missing.keys = loaded.iter().map(|(key, _)| *key).collect();
                let values: Vec<&[u8]> = loaded.iter().map(|(_, value)| value.as_slice()).collect();
                chain.head_view().unwrap().provide(&missing, &values).unwrap();
            }
        }
    }
    panic!("still missing keys after {MAX_ROUNDS} rounds");
}

/// Its transactions must give their bytes, and none that says it is another.
fn encoded_from_json(spec: &ChainSpec, block: &[u8], transactions: &Value) {
    let Block { body, .. } = Block::<OpTxEnvelope>::decode(&mut &*block).unwrap();
    let bytes: Vec<_> = body.transactions.iter().map(Encodable2718::encoded_2718).collect();
    assert_eq!(transactions_from_json(spec, &transactions.to_string()).unwrap(), bytes);
    let mut first = transactions[0].clone();
    first["hash"] = B256::ZERO.to_string().into();
    let refused = transactions_from_json(spec, &Value::from(vec![first]).to_string());
    assert!(matches!(refused, Err(Error::InvalidBlock(_))), "{refused:?}");
    assert!(matches!(transactions_from_json(spec, "[7]"), Err(Error::Malformed(_))));
}

/// The block and its receipts as JSON must give what executing it gave, fees for L1 data included.
fn read_from_json(spec: &ChainSpec, sealed: &[u8], executed: &Outcome) {
    let Block { body, .. } = Block::<OpTxEnvelope>::decode(&mut &*sealed).unwrap();
    let block = alloy_rlp::encode(Block { header: executed.header.clone(), body });
    let json = block_json::<OpTxEnvelope>(&block);
    assert_eq!(block_from_json(spec, &json.to_string()).unwrap(), block);
    encoded_from_json(spec, &block, &json["transactions"]);
    let read = outcome_from_json(spec, &block, &receipts_json(executed).to_string()).unwrap();
    let expected = Outcome { block: block.into(), diff: Diff::default(), ..executed.clone() };
    assert_eq!(read.encode(), expected.encode());
}

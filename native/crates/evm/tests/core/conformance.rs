//! The 54 blocks of the conformance chain: executed and verified, taken back and executed again, damaged and refused,
//! and executed from an empty state that is loaded as it is asked for.

use crate::support::{Conformance, Full, Random, block_json, conformance, options, receipts_json};
use alloy_consensus::{Block, BlockBody, TxEnvelope, proofs};
use alloy_rlp::Decodable;
use chain_query_evm::{
    Chain, ChainOptions, Diff, Error, Execution, HotLimits, Outcome, StateTrie, block_from_json, genesis_block,
    outcome_from_json,
};
use std::sync::Arc;

/// A chain with the complete state of its genesis block.
fn start(fixture: &Conformance) -> (Arc<Chain>, Outcome) {
    let (spec, outcome, commitment) = genesis_block(&fixture.genesis).unwrap();
    let chain = Arc::new(Chain::new(spec, options()).unwrap());
    chain.start_at_genesis(&outcome).unwrap();
    chain.set_commitment(Some(commitment));
    (chain, outcome)
}

/// Executes a block; on a complete state nothing else is missing than what does not exist.
fn execute(chain: &Arc<Chain>, block: &[u8]) -> Result<Outcome, Error> {
    loop {
        match chain.execute(block)? {
            Execution::Done(outcome) => return Ok(*outcome),
            Execution::Missing(missing) => {
                let nothing: Vec<&[u8]> = missing.keys.iter().map(|_| &[][..]).collect();
                chain.head_view()?.provide(&missing, &nothing)?;
            }
        }
    }
}

/// The complete state after some blocks.
fn commitment_after(genesis: &Conformance, outcomes: &[Outcome]) -> StateTrie {
    let (_, _, mut commitment) = genesis_block(&genesis.genesis).unwrap();
    for outcome in outcomes {
        commitment.apply(&outcome.diff);
    }
    commitment
}

#[test]
fn blocks_taken_back_execute_to_the_same() {
    let mut random = Random::from_env();
    let fixture = conformance();
    let (chain, _) = start(&fixture);
    let mut outcomes: Vec<Outcome> = fixture.blocks.iter().map(|block| execute(&chain, block).unwrap()).collect();
    for _ in 0..12 {
        let keep = random.below(54) as usize;
        chain.revert_to(keep as u64).unwrap();
        if random.once_in(2) {
            let commitment = commitment_after(&fixture, &outcomes[..keep]);
            chain.set_commitment(Some(commitment));
            for (block, before) in fixture.blocks.iter().zip(&mut outcomes).skip(keep) {
                let again = execute(&chain, block).unwrap();
                assert_eq!(again.encode(), before.encode(), "block {}", before.header.number);
            }
        } else {
            for outcome in &outcomes[keep..] {
                chain.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
            }
        }
        assert_eq!(chain.head_view().unwrap().hash(), outcomes[53].hash);
        let root = commitment_after(&fixture, &outcomes).root();
        assert_eq!(root, outcomes[53].header.state_root);
    }
}

/// A block with one thing changed, its other fields made to fit again where they follow from the change.
fn damaged(block: &[u8], change: impl Fn(&mut Block<TxEnvelope>)) -> Vec<u8> {
    let mut block = Block::<TxEnvelope>::decode(&mut &*block).unwrap();
    change(&mut block);
    alloy_rlp::encode(block)
}

#[test]
fn a_damaged_block_is_refused_and_named() {
    type Change = fn(&mut Block<TxEnvelope>);
    let changes: [(&str, Change); 9] = [
        ("gas used", |block| block.header.gas_used ^= 1),
        ("receipts root", |block| block.header.receipts_root[7] ^= 1),
        ("logs bloom", |block| block.header.logs_bloom[100] ^= 1),
        ("state root", |block| block.header.state_root[31] ^= 1),
        ("transactions root", |block| {
            block.body.transactions.pop();
        }),
        ("transactions root", |block| block.header.transactions_root[0] ^= 1),
        ("it cannot be executed", |block| {
            // The last transaction once more: its nonce is used.
            let last = block.body.transactions.last().unwrap().clone();
            block.body.transactions.push(last);
            block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
        }),
        ("does not follow", |block| block.header.parent_hash[0] ^= 1),
        ("ommers hash", |block| block.header.ommers_hash[0] ^= 1),
    ];
    let fixture = conformance();
    let (chain, _) = start(&fixture);
    let mut outcomes = Vec::new();
    let mut refused = 0;
    for block in &fixture.blocks {
        let BlockBody { transactions, .. } = Block::<TxEnvelope>::decode(&mut &**block).unwrap().body;
        for (name, change) in &changes {
            if transactions.is_empty() {
                break;
            }
            let error = execute(&chain, &damaged(block, change)).unwrap_err();
            let Error::InvalidBlock(text) = &error else { panic!("{name}: {error:?}") };
            assert!(text.contains(name), "{name}: {text}");
            refused += 1;
            if *name == "state root" || outcomes.len() < 9 {
                chain.set_commitment(Some(commitment_after(&fixture, &outcomes)));
            }
        }
        // Refused blocks leave everything as it was, the state that roots are computed from included.
        outcomes.push(execute(&chain, block).unwrap());
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn blocks_and_receipts_come_back_from_json() {
    let fixture = conformance();
    let (chain, _) = start(&fixture);
    let mut read = 0;
    for block in &fixture.blocks {
        let mut executed = execute(&chain, block).unwrap();
        let json = block_json::<TxEnvelope>(block);
        let receipts = receipts_json(&executed).to_string();
        let again = outcome_from_json(chain.spec(), block, &receipts).unwrap();
        executed.diff = Diff::default();
        assert_eq!(again.encode(), executed.encode(), "block {}", executed.header.number);
        if json["uncles"].as_array().unwrap().is_empty() {
            assert_eq!(block_from_json(chain.spec(), &json.to_string()).unwrap(), *block);
            read += 1;
        }
    }
    assert_eq!(read, 36, "the others have uncles");
}

#[test]
fn a_damaged_transaction_is_refused() {
    let fixture = conformance();
    let (chain, _) = start(&fixture);
    let mut random = Random::from_env();
    let mut refused = 0;
    for block in &fixture.blocks {
        let decoded = Block::<TxEnvelope>::decode(&mut &**block).unwrap();
        if let Some(tx) = decoded.body.transactions.first() {
            // One bit anywhere in the bytes of the first transaction.
            let raw = alloy_rlp::encode(tx);
            let at = block.windows(raw.len()).position(|part| part == raw).unwrap();
            for _ in 0..40 {
                let mut bytes = block.clone();
                bytes[at + random.below(raw.len() as u64) as usize] ^= 1 << random.below(8);
                let error = execute(&chain, &bytes).unwrap_err();
                assert!(matches!(error, Error::InvalidBlock(_) | Error::Malformed(_)), "{error:?}");
                refused += 1;
            }
        }
        execute(&chain, block).unwrap();
    }
    assert!(refused > 1_000);
}

#[test]
fn random_bytes_are_no_block() {
    let fixture = conformance();
    let (chain, _) = start(&fixture);
    let mut random = Random::from_env();
    for _ in 0..20_000 {
        let mut bytes = fixture.blocks[random.below(54) as usize].clone();
        bytes.truncate(random.below(700) as usize);
        for _ in 0..random.below(4) {
            if !bytes.is_empty() {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
        }
        let _ = chain_query_evm::read_header(&bytes);
        assert!(chain.execute(&bytes).is_err());
        assert!(chain.apply(&bytes, &bytes).is_err());
        let _ = chain.view(&bytes);
    }
    execute(&chain, &fixture.blocks[0]).unwrap();
}

#[test]
fn an_empty_state_is_loaded_as_it_is_asked_for() {
    let rounds = load_every_block(options());
    assert!(rounds <= 8, "{rounds} rounds for one block");
}

#[test]
fn a_block_needs_no_more_rounds_when_hot_state_keeps_nothing() {
    let hot = HotLimits { window: 2, entries: 1, code_bytes: 1 };
    let rounds = load_every_block(ChainOptions { hot, ..options() });
    assert!(rounds <= 8, "{rounds} rounds for one block");
}

/// Executes each block on a state that is empty at first; the most rounds of loading that one needed.
fn load_every_block(limits: ChainOptions) -> usize {
    let fixture = conformance();
    let (complete, genesis) = start(&fixture);
    let mut full = Full::default();
    full.apply(genesis.hash, &genesis.diff);
    let mut parent = genesis.header.clone();
    let (mut rounds, mut most) = (0, 0);
    for block in &fixture.blocks {
        let outcome = execute(&complete, block).unwrap();
        if outcome.header.number > 9 {
            // A chain that knows nothing but its first block.
            let (spec, ..) = genesis_block(&fixture.genesis).unwrap();
            let chain = Arc::new(Chain::new(spec, limits).unwrap());
            chain.open(&alloy_rlp::encode(&parent)).unwrap();
            let mut round = 0;
            let again = loop {
                match chain.execute(block).unwrap() {
                    Execution::Done(outcome) => break outcome,
                    Execution::Missing(missing) => {
                        round += 1;
                        let values = full.load(&missing);
                        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                        chain.head_view().unwrap().provide(&missing, &values).unwrap();
                    }
                }
                assert!(round < 64, "block {} is never complete", outcome.header.number);
            };
            assert_eq!(again.encode(), outcome.encode());
            rounds += round;
            most = most.max(round);
        }
        full.apply(outcome.hash, &outcome.diff);
        parent = outcome.header;
    }
    println!("45 blocks from nothing: {rounds} rounds in all, {most} at most");
    most
}

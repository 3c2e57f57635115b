//! Blocks of the conformance chain whose contracts are said to be native: what their transactions did is told, and must give what
//! executing them gives (B17).

use crate::support::{Conformance, Full, conformance, options};
use alloy_consensus::{Block, Transaction, TxEnvelope, constants::EMPTY_ROOT_HASH, proofs};
use alloy_primitives::{Address, B256, U256, address};
use alloy_rlp::Decodable;
use chain_query_evm::{
    Chain, ChainSpec, Effects, Error, Execution, Extra, Limits, Missing, Outcome, Ready, Status, genesis_block,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Written by blocks and by no transaction of this chain alone.
const OF_BLOCKS: [Address; 4] = [
    address!("000f3df6d732807ef1319fb7b8bb8522d0beac02"),
    address!("0000f90827f1c53a10cb7a02335b175320002935"),
    address!("00000961ef480eb55e80d19ad83579a64c007002"),
    address!("0000bbddc7ce488642fb579f8b00f3a590007251"),
];

/// A chain of the same rules on which every address is native but those that begin with zeros: precompiles and what blocks call.
fn native_chain(fixture: &Conformance, unknown_fork: Option<u64>) -> Arc<Chain> {
    let mut genesis: Value = serde_json::from_str(&fixture.genesis).unwrap();
    genesis["config"]["unheardOfTime"] = json!(unknown_fork);
    let patterns: Vec<String> = (1..16).map(|digit| format!("0x{digit:x}{}", "?".repeat(39))).collect();
    genesis["config"]["nativeContracts"] = json!(patterns);
    let spec = ChainSpec::parse(&genesis["config"].to_string()).unwrap();
    Arc::new(Chain::new(spec, options()).unwrap())
}

/// On a complete state nothing else is missing than what does not exist.
fn provide_nothing(chain: &Arc<Chain>, missing: &Missing) -> Result<(), Error> {
    let nothing: Vec<&[u8]> = missing.keys.iter().map(|_| &[][..]).collect();
    chain.head_view()?.provide(missing, &nothing)
}

fn run(chain: &Arc<Chain>, block: &[u8], effects: Option<&Effects>) -> Result<Ready, Error> {
    loop {
        match chain.run_block_with(block, effects, &Limits::none())? {
            Execution::Missing(missing) => provide_nothing(chain, &missing)?,
            Execution::Done(ready) => return Ok(ready),
        }
    }
}

/// What a tracer says of the only transaction of a block: without what the block itself writes, and without the recipient of fees.
fn told(before: &Full, outcome: &Outcome) -> Value {
    let (mut pre, mut post) = (Map::new(), Map::new());
    let is_left_out = |address: &Address| OF_BLOCKS.contains(address) || *address == outcome.header.beneficiary;
    for (address, account) in outcome.diff.accounts.iter().filter(|(address, _)| !is_left_out(address)) {
        let name = address.to_string().to_lowercase();
        if let Some(was) = before.accounts.get(address) {
            pre.insert(name.clone(), json!({ "balance": was.balance, "nonce": was.nonce, "storage": {} }));
        }
        if let Some(account) = account {
            let code = outcome.diff.codes.iter().find(|(hash, _)| *hash == account.code_hash);
            let code = code.map_or(Value::Null, |(_, code)| json!(code));
            let parts = json!({ "balance": account.balance, "nonce": account.nonce, "code": code, "storage": {} });
            post.insert(name, parts);
        }
    }
    for (address, slot, value) in outcome.diff.slots.iter().filter(|(address, ..)| !is_left_out(address)) {
        let name = address.to_string().to_lowercase();
        let was = before.slots.get(&(*address, *slot)).copied().unwrap_or_default();
        let put = |map: &mut Map<String, Value>, value: U256| {
            let account = map.entry(name.clone()).or_insert_with(|| json!({ "storage": {} }));
            // Tracers leave out what is zero.
            if !value.is_zero() {
                account["storage"][slot.to_string()] = json!(B256::from(value));
            }
        };
        let held = before.accounts.get(address);
        put(&mut post, *value);
        if let Some(held) = held {
            put(&mut pre, was);
            pre[&name]["balance"] = json!(held.balance);
            pre[&name]["nonce"] = json!(held.nonce);
        }
    }
    let receipt = &outcome.receipts[0];
    let logs: Vec<Value> = receipt.logs.iter().map(|log| json!(log)).collect();
    let status = if matches!(receipt.status, Status::Code(true)) { "0x1" } else { "0x0" };
    let cumulative = format!("0x{:x}", receipt.cumulative_gas_used);
    json!({
        "diffs": [{ "pre": pre, "post": post }],
        "receipts": [{ "status": status, "cumulativeGasUsed": cumulative, "logs": logs }],
    })
}

/// Each block of the chain with its first transaction only, what executing that gives, and the state before it.
fn each_first(see: impl Fn(&Arc<Chain>, &[u8], &Outcome, &Full)) -> usize {
    each_first_of(None, see)
}

/// The same where a fork that nobody has heard of begins at some time.
fn each_first_of(unknown_fork: Option<u64>, see: impl Fn(&Arc<Chain>, &[u8], &Outcome, &Full)) -> usize {
    let fixture = conformance();
    let (spec, genesis, commitment) = genesis_block(&fixture.genesis).unwrap();
    let chain = |spec| Arc::new(Chain::new(spec, options()).unwrap());
    let (complete, plain) = (chain(spec.clone()), chain(spec));
    let native = native_chain(&fixture, unknown_fork);
    for chain in [&complete, &plain, &native] {
        chain.start_at_genesis(&genesis).unwrap();
    }
    complete.set_commitment(Some(commitment));
    let mut full = Full::default();
    full.apply(genesis.hash, &genesis.diff);
    let mut seen = 0;
    for rlp in &fixture.blocks {
        // Before Byzantium receipts need the complete state; others hold requests of more than one transaction.
        let block = Block::<TxEnvelope>::decode(&mut &**rlp).unwrap();
        let to = block.body.transactions.first().and_then(|tx| tx.to());
        let is_call = to.is_some_and(|to| to[0] >= 0x10);
        if is_call
            && let Ok(first) = only_first(&plain, rlp)
            && let Ok(ready) = run(&plain, &first, None)
        {
            see(&native, &first, ready.outcome(), &full);
            seen += 1;
        }
        let outcome = full.execute(&complete, rlp).unwrap();
        for chain in [&plain, &native] {
            chain.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
        }
        full.apply(outcome.hash, &outcome.diff);
    }
    seen
}

/// A block without withdrawals and with its first transaction only, its header made to fit but for the state root.
fn only_first(chain: &Arc<Chain>, rlp: &[u8]) -> Result<Vec<u8>, Error> {
    let mut block = Block::<TxEnvelope>::decode(&mut &*rlp).unwrap();
    block.body.transactions.truncate(1);
    block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    block.body.withdrawals = block.body.withdrawals.map(|_| Default::default());
    block.header.withdrawals_root = block.header.withdrawals_root.map(|_| EMPTY_ROOT_HASH);
    let rlp = alloy_rlp::encode(&block);
    loop {
        match chain.seal(&rlp)? {
            Execution::Missing(missing) => provide_nothing(chain, &missing)?,
            Execution::Done(outcome) => {
                block.header = outcome.header;
                return Ok(alloy_rlp::encode(&block));
            }
        }
    }
}

fn effects(text: &Value) -> Effects {
    Effects::parse(&text.to_string()).unwrap()
}

#[test]
fn told_effects_give_what_executing_gives() {
    let seen = each_first(|chain, block, outcome, before| {
        let number = outcome.header.number;
        let error = run(chain, block, None).unwrap_err();
        assert!(matches!(&error, Error::Native(text) if text.contains("native contract 0x")), "{error:?}");
        let told = effects(&told(before, outcome));
        let ready = run(chain, block, Some(&told)).unwrap();
        assert_eq!(ready.taken(), [0]);
        assert_eq!(ready.outcome().encode(), outcome.encode(), "block {number}");
    });
    assert!(seen > 10, "{seen}");
}

/// A block whose rules are not known: nothing of it is executed. What its diff leaves out, as what its coinbase gets, is not known.
#[test]
fn all_of_a_block_can_be_told() {
    let seen = each_first_of(Some(1), |chain, block, outcome, before| {
        let mut told = told(before, outcome);
        let error = run(chain, block, Some(&effects(&told))).unwrap_err();
        assert!(matches!(&error, Error::UnknownFork(text) if text.contains("unheardOfTime")), "{error:?}");
        told["whole"] = json!(true);
        // What balances were says nothing: blocks may have credited them in ways that nobody here knows.
        for account in told["diffs"][0]["pre"].as_object_mut().unwrap().values_mut() {
            account["balance"] = json!("0x7");
        }
        told["receipts"][0]["blobGasPrice"] = json!("0x5");
        let ready = run(chain, block, Some(&effects(&told))).unwrap();
        let known = |outcome: &Outcome| {
            let mut diff = outcome.diff.clone();
            diff.accounts.retain(|(address, _)| *address != outcome.header.beneficiary);
            diff
        };
        assert_eq!((ready.taken(), known(ready.outcome())), (&[0][..], known(outcome)));
        assert_eq!(ready.outcome().receipts[0].extras, [(Extra::BlobGasPrice, U256::from(5))]);
    });
    assert!(seen > 10, "{seen}");
}

#[test]
fn what_a_block_without_known_rules_found_is_compared_but_for_what_blocks_write() {
    let seen = each_first(|chain, block, outcome, before| {
        let mut told = told(before, outcome);
        told["whole"] = json!(true);
        let pre = told["diffs"][0]["pre"].as_object_mut().unwrap();
        let Some(name) = pre.keys().next().cloned() else { return };
        pre[&name]["storage"][B256::with_last_byte(0xee).to_string()] = json!(B256::with_last_byte(1));
        let error = run(chain, block, Some(&effects(&told))).unwrap_err();
        assert!(matches!(&error, Error::InvalidBlock(text) if text.contains("slot 0xee")), "{error:?}");
        told["unknown"] = json!([name]);
        run(chain, block, Some(&effects(&told))).unwrap();
    });
    assert!(seen > 10, "{seen}");
}

#[test]
fn what_was_is_compared_with_what_is_held() {
    let seen = each_first(|chain, block, outcome, before| {
        let mut told = told(before, outcome);
        let pre = told["diffs"][0]["pre"].as_object_mut().unwrap();
        let account = pre.values_mut().next().unwrap();
        account["balance"] = json!("0x7");
        let error = run(chain, block, Some(&effects(&told))).unwrap_err();
        let Error::InvalidBlock(text) = &error else { panic!("{error:?}") };
        assert!(text.contains("the state diff says that the balance of"), "{text}");
    });
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_receipt_that_lies_is_refused_by_the_root() {
    let seen = each_first(|chain, block, outcome, before| {
        let mut lie = told(before, outcome);
        lie["receipts"][0]["cumulativeGasUsed"] = json!(format!("0x{:x}", outcome.header.gas_used + 1));
        let error = run(chain, block, Some(&effects(&lie))).unwrap_err();
        assert!(matches!(&error, Error::InvalidBlock(text) if text.contains("gas used")), "{error:?}");
        let mut lie = told(before, outcome);
        let log = json!({ "address": Address::ZERO, "topics": [], "data": "0x01" });
        lie["receipts"][0]["status"] = json!("0x1");
        lie["receipts"][0]["logs"].as_array_mut().unwrap().push(log);
        let error = run(chain, block, Some(&effects(&lie))).unwrap_err();
        assert!(matches!(&error, Error::InvalidBlock(text) if text.contains("receipts root")), "{error:?}");
    });
    assert!(seen > 10, "{seen}");
}

#[test]
fn effects_of_another_form_are_refused() {
    for text in ["", "{}", r#"{"diffs":[],"receipts":[{"status":"0x1","cumulativeGasUsed":"0x1","logs":[]}]}"#] {
        assert!(matches!(Effects::parse(text), Err(Error::Malformed(_))), "{text}");
    }
    let shrinking = json!({
        "diffs": [{ "pre": {}, "post": {} }, { "pre": {}, "post": {} }],
        "receipts": [
            { "status": "0x1", "cumulativeGasUsed": "0x2", "logs": [] },
            { "status": "0x1", "cumulativeGasUsed": "0x1", "logs": [] },
        ],
    });
    assert!(matches!(Effects::parse(&shrinking.to_string()), Err(Error::Malformed(_))));
}

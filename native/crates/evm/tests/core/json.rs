//! Blocks and receipts as geth, anvil and op-geth gave them, read back: they must be the blocks that execute on the
//! state those nodes had, and the receipts that executing them gives; and written again as those nodes wrote them.
//! `recorded` holds what real nodes said.

use crate::support::{Fork, Full, genesis, options};
use alloy_consensus::{Block, BlockBody, Header, Sealable};
use alloy_primitives::bytes::BufMut;
use alloy_primitives::{Address, B256, Bytes, TxKind, U64, U256, keccak256};
use alloy_trie::root::ordered_trie_root_with_encoder;
use chain_query_evm::{
    Account, Chain, ChainSpec, Diff, Error, Extra, Outcome, StateTrie, TransactionContext, block_from_json,
    block_json, header_json, outcome_from_json, raw_block, raw_receipts, raw_transaction, transactions_json,
};
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Deserialize)]
struct Recorded {
    #[serde(default)]
    config: Value,
    alloc: BTreeMap<Address, Alloc>,
    blocks: Vec<RecordedBlock>,
}

#[derive(Deserialize)]
struct Alloc {
    nonce: U64,
    balance: U256,
    #[serde(default)]
    code: Bytes,
    #[serde(default)]
    storage: BTreeMap<B256, B256>,
}

#[derive(Deserialize)]
struct RecordedBlock {
    block: Value,
    receipts: Value,
}

fn recorded(name: &str) -> (ChainSpec, Recorded) {
    let recorded: Recorded = crate::support::recorded(name);
    let spec = match name {
        "geth" | "anvil" => {
            let mut genesis: Value = serde_json::from_str(&genesis(Fork::Osaka, &json!({}))).unwrap();
            genesis["config"]["chainId"] = if name == "geth" { 1_337 } else { 31_337 }.into();
            genesis["config"]["depositContractAddress"] = json!(Address::ZERO);
            ChainSpec::parse(&genesis["config"].to_string())
        }
        _ => ChainSpec::parse(&recorded.config.to_string()),
    };
    (spec.unwrap(), recorded)
}

/// A chain at the first recorded block, with its complete state.
fn start(spec: &ChainSpec, recorded: &Recorded) -> (Arc<Chain>, Full) {
    let mut diff = Diff::default();
    for (address, alloc) in &recorded.alloc {
        let (nonce, balance) = (alloc.nonce.to(), alloc.balance);
        let code_hash = keccak256(&alloc.code);
        diff.accounts.push((*address, Some(Account { nonce, balance, code_hash })));
        diff.codes.push((code_hash, alloc.code.clone()));
        diff.slots.extend(alloc.storage.iter().map(|(slot, value)| (*address, *slot, (*value).into())));
    }
    let block = block_from_json(spec, &recorded.blocks[0].block.to_string()).unwrap();
    let header = chain_query_evm::read_header(&block).unwrap();
    let mut commitment = StateTrie::default();
    commitment.apply(&diff);
    // anvil's first block says that its state is empty, which it is not.
    if spec.chain_id != 31_337 {
        assert_eq!(commitment.root(), header.state_root, "the state of the first block");
    }
    let mut full = Full::default();
    full.apply(header.hash_slow(), &diff);
    let chain = Arc::new(Chain::new(spec.clone(), options()).unwrap());
    chain.open(&alloy_rlp::encode(&header)).unwrap();
    chain.set_commitment(Some(commitment));
    (chain, full)
}

fn without_diff(mut outcome: Outcome) -> Outcome {
    outcome.diff = Diff::default();
    outcome
}

/// Every recorded block is read, executed, and compared with its receipts.
fn follow(name: &str) -> Vec<u8> {
    let (spec, recorded) = recorded(name);
    let (chain, mut full) = start(&spec, &recorded);
    let mut kinds = Vec::new();
    for RecordedBlock { block, receipts } in &recorded.blocks[1..] {
        let rlp = block_from_json(&spec, &block.to_string()).unwrap();
        let executed = full.execute(&chain, &rlp).unwrap();
        assert_eq!(executed.hash.to_string(), block["hash"], "{name}");
        full.apply(executed.hash, &executed.diff);
        let read = outcome_from_json(&spec, &rlp, &receipts.to_string()).unwrap();
        kinds.extend(read.receipts.iter().map(|receipt| receipt.kind));
        for (receipt, json) in read.receipts.iter().zip(receipts.as_array().unwrap()) {
            compare_with_node(receipt, json);
        }
        assert_eq!(read.encode(), without_diff(executed).encode(), "{name} block {}", block["number"]);
    }
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// What the receipts root does not cover must be what the node says, too.
fn compare_with_node(receipt: &chain_query_evm::ReceiptRecord, json: &Value) {
    let quantity = |value: U256| Value::String(format!("0x{value:x}"));
    assert_eq!(json["gasUsed"], quantity(U256::from(receipt.gas_used)));
    assert_eq!(json["effectiveGasPrice"], quantity(U256::from(receipt.effective_gas_price)));
    assert_eq!(json["from"], format!("{:?}", receipt.from));
    assert_eq!(json["transactionHash"], receipt.transaction_hash.to_string());
    assert_eq!(json["contractAddress"], serde_json::json!(receipt.contract_address.map(|at| format!("{at:?}"))));
    for (extra, value) in &receipt.extras {
        let field = match extra {
            Extra::BlobGasUsed => "blobGasUsed",
            Extra::BlobGasPrice => "blobGasPrice",
            Extra::DepositNonce => "depositNonce",
            Extra::DepositReceiptVersion => "depositReceiptVersion",
            Extra::L1GasPrice => "l1GasPrice",
            Extra::L1GasUsed => "l1GasUsed",
            Extra::L1Fee => "l1Fee",
            Extra::L1BaseFeeScalar => "l1BaseFeeScalar",
            Extra::L1BlobBaseFee => "l1BlobBaseFee",
            Extra::L1BlobBaseFeeScalar => "l1BlobBaseFeeScalar",
            Extra::OperatorFeeScalar => "operatorFeeScalar",
            Extra::OperatorFeeConstant => "operatorFeeConstant",
            Extra::DaFootprintGasScalar => "daFootprintGasScalar",
        };
        assert_eq!(json[field], quantity(*value), "{field}");
    }
}

#[test]
fn blocks_of_geth_are_what_executes() {
    assert_eq!(follow("geth"), [0, 1, 2, 3, 4]);
}

#[test]
fn blocks_of_anvil_are_what_executes() {
    assert_eq!(follow("anvil"), [0, 1, 2, 4]);
}

#[test]
fn blocks_of_op_geth_are_what_executes() {
    assert_eq!(follow("op"), [0, 1, 2, 4, 0x7e]);
}

/// The last digit of a hex text turned into another one.
fn changed(value: &Value) -> Option<Value> {
    let text = value.as_str()?;
    let (rest, last) = text.split_at(text.len() - 1);
    let last = match last {
        "x" => "x01",
        "0" => "1",
        _ => "0",
    };
    Some(format!("{rest}{last}").into())
}

#[test]
fn a_lie_in_any_field_of_a_block_is_refused_and_named() {
    let mut refused = 0;
    for name in ["geth", "anvil", "op"] {
        let (spec, recorded) = recorded(name);
        for RecordedBlock { block, .. } in &recorded.blocks {
            for (field, value) in block.as_object().unwrap() {
                let ignored = ["size", "totalDifficulty"].contains(&field.as_str());
                let Some(lie) = changed(value).filter(|_| !ignored) else { continue };
                let mut block = block.clone();
                block[field] = lie;
                let error = block_from_json(&spec, &block.to_string()).unwrap_err();
                assert!(
                    matches!(&error, Error::InvalidBlock(text) if text.starts_with("header: ")),
                    "{field}: {error}"
                );
                refused += 1;
            }
            for (index, tx) in block["transactions"].as_array().unwrap().iter().enumerate() {
                refused += lie_in_transaction(&spec, block, index, tx.as_object().unwrap());
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

fn lie_in_transaction(
    spec: &ChainSpec,
    block: &Value,
    index: usize,
    tx: &serde_json::Map<String, Value>,
) -> usize {
    let mut not_covered = vec!["hash", "blockHash", "blockNumber", "blockTimestamp", "transactionIndex"];
    match tx["type"].as_str().unwrap() {
        "0x7e" => not_covered.extend(["gasPrice", "nonce", "v", "r", "s", "depositReceiptVersion"]),
        "0x0" | "0x1" => not_covered.extend(["from", "v"]),
        _ => not_covered.extend(["from", "gasPrice", "v"]),
    }
    let mut refused = 0;
    for (field, value) in tx {
        let Some(lie) = changed(value) else { continue };
        let mut block = block.clone();
        block["transactions"][index][field] = lie;
        let result = block_from_json(spec, &block.to_string());
        if not_covered.contains(&field.as_str()) {
            // Not part of the block: whatever it says, the block is what it was, or the text is no JSON of one.
            assert!(!matches!(result, Err(Error::InvalidBlock(_))) || field == "v", "{field}: {result:?}");
            continue;
        }
        let error = result.unwrap_err();
        let named = matches!(&error, Error::InvalidBlock(text) if text.starts_with("transactions: "));
        assert!(named || matches!(error, Error::Malformed(_)), "{field}: {error}");
        refused += 1;
    }
    refused
}

#[test]
fn lists_with_something_more_or_less_are_refused() {
    for name in ["geth", "anvil", "op"] {
        let (spec, recorded) = recorded(name);
        let RecordedBlock { block, receipts } = recorded
            .blocks
            .iter()
            .find(|each| each.receipts.as_array().is_some_and(|list| !list.is_empty()))
            .unwrap();
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut block = block.clone();
            change(&mut block);
            block_from_json(&spec, &block.to_string()).unwrap_err()
        };
        let error = refused(&|block| drop(block["transactions"].as_array_mut().unwrap().pop()));
        assert!(error.to_string().starts_with("transactions: "), "{error}");
        let withdrawal = serde_json::json!({ "index": "0x0", "validatorIndex": "0x0", "address": Address::ZERO, "amount": "0x1" });
        let error = refused(&|block| block["withdrawals"].as_array_mut().unwrap().push(withdrawal.clone()));
        assert!(error.to_string().starts_with("withdrawals: "), "{error}");
        let error = refused(&|block| block["uncles"].as_array_mut().unwrap().push(B256::ZERO.to_string().into()));
        assert!(error.to_string().starts_with("uncles: "), "{error}");
        let error = refused(&|block| block["transactions"] = serde_json::json!([B256::ZERO]));
        assert!(matches!(error, Error::Malformed(_)), "{error}");

        let rlp = block_from_json(&spec, &block.to_string()).unwrap();
        let mut list = receipts.clone();
        list.as_array_mut().unwrap().pop();
        let error = outcome_from_json(&spec, &rlp, &list.to_string()).unwrap_err();
        assert!(error.to_string().starts_with("receipts: "), "{error}");
    }
    for text in ["", "null", "[]", "{}", "7", "\"0x\"", "[[[["] {
        let (spec, _) = recorded("geth");
        assert!(matches!(block_from_json(&spec, text), Err(Error::Malformed(_))), "{text}");
        assert!(matches!(outcome_from_json(&spec, &[0xc0], text), Err(Error::Malformed(_))), "{text}");
    }
}

#[test]
fn a_lie_in_any_field_of_a_receipt_is_refused() {
    let mut refused = 0;
    for name in ["geth", "anvil", "op"] {
        let (spec, recorded) = recorded(name);
        for RecordedBlock { block, receipts } in &recorded.blocks {
            let rlp = block_from_json(&spec, &block.to_string()).unwrap();
            let truth = outcome_from_json(&spec, &rlp, &receipts.to_string()).unwrap().encode();
            for path in paths(receipts) {
                let mut lied = receipts.clone();
                let place = lied.pointer_mut(&path).unwrap();
                *place = changed(place).unwrap();
                match outcome_from_json(&spec, &rlp, &lied.to_string()) {
                    // Not part of what the chain commits to, so not looked at.
                    Ok(outcome) => assert_eq!(outcome.encode(), truth, "{path}"),
                    Err(Error::InvalidBlock(text)) => {
                        assert!(text.starts_with("receipts: "), "{path}: {text}");
                        refused += 1;
                    }
                    Err(Error::Malformed(_)) => refused += 1,
                    Err(other) => panic!("{path}: {other}"),
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

/// Headers and transactions as subscriptions send them are what the nodes said, field by field.
#[test]
fn headers_and_transactions_are_written_as_nodes_write_them() {
    let mut kinds = Vec::new();
    for name in ["geth", "anvil", "op"] {
        let (spec, recorded) = recorded(name);
        for RecordedBlock { block, receipts } in &recorded.blocks {
            let rlp = block_from_json(&spec, &block.to_string()).unwrap();
            let mut whole = block.clone();
            let fields = whole.as_object_mut().unwrap();
            fields.retain(|_, value| !value.is_null());
            fields.remove("totalDifficulty");
            fields.remove("transactions");
            if name == "anvil" {
                // It does not count the list of withdrawals.
                fields.insert("size".into(), json!(U64::from(rlp.len())));
            }
            let ours: Value = serde_json::from_str(&block_json(&spec, &[&rlp], None).unwrap()).unwrap();
            assert_eq!(ours, whole, "{name}");
            let mut header = whole;
            let fields = header.as_object_mut().unwrap();
            for of_block in ["size", "uncles", "withdrawals"] {
                fields.remove(of_block);
            }
            let ours: Value = serde_json::from_str(&header_json(&rlp, None).unwrap()).unwrap();
            assert_eq!(ours, header, "{name}");

            let receipts = receipts.as_array().unwrap();
            let quantity = |value: &Value| serde_json::from_value::<U64>(value.clone()).unwrap().to::<u64>();
            let nonces: Vec<u64> =
                receipts.iter().filter_map(|each| each.get("depositNonce")).map(quantity).collect();
            let read = outcome_from_json(&spec, &rlp, &Value::from(receipts.clone()).to_string()).unwrap();
            let senders: Vec<Address> = read.receipts.iter().map(|receipt| receipt.from).collect();
            let block_hash = serde_json::from_value(block["hash"].clone()).unwrap();
            let context = TransactionContext { block_hash, deposit_nonces: &nonces, ..Default::default() };
            let text = transactions_json(&spec, &rlp, &context).unwrap();
            let told = TransactionContext { senders: &senders, ..context };
            assert_eq!(transactions_json(&spec, &rlp, &told).unwrap(), text, "senders told or recovered");
            for (only, text) in text.iter().enumerate() {
                let one = TransactionContext { only: Some(only), ..told };
                assert_eq!(transactions_json(&spec, &rlp, &one).unwrap(), [text.as_str()]);
            }
            for (index, receipt) in receipts.iter().enumerate() {
                let raw = raw_transaction(&spec, &rlp, index).unwrap();
                assert_eq!(json!(keccak256(raw)), receipt["transactionHash"], "{name}");
            }
            assert!(raw_transaction(&spec, &rlp, receipts.len()).is_err());
            let header = alloy_rlp::encode(chain_query_evm::read_header(&rlp).unwrap());
            let raw = raw_receipts(&spec, &header, &Value::from(receipts.clone()).to_string()).unwrap();
            let root = ordered_trie_root_with_encoder(&raw, |raw, out| out.put_slice(raw));
            assert_eq!(json!(root), block["receiptsRoot"], "{name}");
            assert_eq!(raw_block(&spec, &[&rlp]).unwrap(), rlp, "{name}");
            let ours: Vec<Value> = text.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            let theirs = block["transactions"].as_array().unwrap();
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                kinds.push(theirs["type"].to_string());
                assert_eq!(ours, as_we_write(theirs, &block["timestamp"]), "{name}");
            }
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), 6, "{kinds:?}");
}

/// A node's transaction with what only some nodes write.
fn as_we_write(theirs: &Value, timestamp: &Value) -> Value {
    let mut theirs = theirs.clone();
    theirs["blockTimestamp"] = timestamp.clone();
    if theirs["type"] == "0x7e" {
        // op-reth does, op-geth does not.
        theirs["yParity"] = "0x0".into();
    }
    theirs
}

#[test]
fn transactions_of_a_piece_are_counted_in_their_block() {
    let (spec, recorded) = recorded("op");
    let block = &recorded.blocks[1].block;
    let rlp = block_from_json(&spec, &block.to_string()).unwrap();
    let context = TransactionContext { first: 7, ..Default::default() };
    let list = transactions_json(&spec, &rlp, &context).unwrap();
    let list: Vec<Value> = list.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    for (index, tx) in list.iter().enumerate() {
        assert_eq!(tx["transactionIndex"], format!("0x{:x}", 7 + index));
        assert_eq!(tx["blockHash"], B256::ZERO.to_string());
    }
    let short = TransactionContext { senders: &[Address::ZERO], ..Default::default() };
    assert!(matches!(transactions_json(&spec, &rlp, &short), Err(Error::Malformed(_))));
    for bytes in [&[][..], &[0xc0], &[0xff; 9], &rlp[..rlp.len() - 1]] {
        assert!(matches!(transactions_json(&spec, bytes, &context), Err(Error::Malformed(_))));
    }
    assert!(matches!(header_json(&[0xc0], None), Err(Error::Malformed(_))));
    // A deposit that creates a contract says so.
    let deposit = OpTxEnvelope::Deposit(TxDeposit { to: TxKind::Create, ..Default::default() }.seal_slow());
    let body = BlockBody { transactions: vec![deposit], ..Default::default() };
    let rlp = alloy_rlp::encode(Block { header: Header::default(), body });
    let list = transactions_json(&spec, &rlp, &context).unwrap();
    let listed: Value = serde_json::from_str(&list[0]).unwrap();
    assert!(listed.as_object().unwrap()["to"].is_null());
}

/// Where there are texts in a value.
fn paths(value: &Value) -> Vec<String> {
    let below =
        |key: String, value: &Value| paths(value).into_iter().map(|rest| format!("/{key}{rest}")).collect();
    match value {
        Value::String(_) => vec![String::new()],
        Value::Array(list) => list
            .iter()
            .enumerate()
            .flat_map(|(at, value)| -> Vec<String> { below(at.to_string(), value) })
            .collect(),
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| -> Vec<String> { below(key.clone(), value) }).collect()
        }
        _ => Vec::new(),
    }
}

//! Blocks and receipts as nodes write them in JSON.

use alloy_consensus::{Block, Sealable};
use alloy_primitives::{B256, U64};
use alloy_rlp::{Decodable, Encodable};
use chain_query_evm::{Extra, Outcome, Status};
use serde::Serialize;
use serde_json::{Value, json};

/// A block (RLP) with whole transactions.
pub fn block_json<T: Serialize + Decodable + Encodable>(rlp: &[u8]) -> Value {
    let Block { header, body } = Block::<T>::decode(&mut &*rlp).unwrap();
    let mut block = serde_json::to_value(&header).unwrap();
    block["hash"] = json!(header.hash_slow());
    block["size"] = json!(U64::from(rlp.len()));
    block["transactions"] = serde_json::to_value(&body.transactions).unwrap();
    block["uncles"] = body.ommers.iter().map(Sealable::hash_slow).map(|hash: B256| json!(hash)).collect();
    if let Some(withdrawals) = &body.withdrawals {
        block["withdrawals"] = serde_json::to_value(withdrawals).unwrap();
    }
    block
}

/// The receipts of a block, with no more than the chain commits to.
pub fn receipts_json(outcome: &Outcome) -> Value {
    let list = outcome.receipts.iter().map(|receipt| {
        let logs = receipt.logs.iter().map(|log| {
            json!({ "address": log.address, "topics": log.topics(), "data": log.data.data, "removed": false })
        });
        let mut json = json!({
            "type": U64::from(receipt.kind),
            "cumulativeGasUsed": U64::from(receipt.cumulative_gas_used),
            "logsBloom": receipt.bloom,
            "logs": logs.collect::<Value>(),
            "contractAddress": receipt.contract_address,
        });
        match receipt.status {
            Status::Code(done) => json["status"] = json!(U64::from(u8::from(done))),
            Status::Root(root) => json["root"] = json!(root),
        }
        for (extra, value) in &receipt.extras {
            match extra {
                Extra::DepositNonce => json["depositNonce"] = json!(value),
                Extra::DepositReceiptVersion => json["depositReceiptVersion"] = json!(value),
                _ => {}
            }
        }
        json
    });
    list.collect()
}

//! Made-up chains of full blocks. Every transaction has a sender of its own: its signature is random, and whoever it
//! is found to be of is given money.

use crate::case::{Case, bare_run, bare_state, seal};
use crate::support::{CONTRACT, Fork, Random, genesis, options};
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{
    Block, BlockBody, EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, SignableTransaction, TxEip1559, TxEnvelope,
    proofs,
};
use alloy_eips::eip4895::Withdrawals;
use alloy_evm::FromRecoveredTx;
use alloy_evm::eth::EthEvmFactory;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex, keccak256};
use chain_query_evm::{Chain, Execution, Key, genesis_block};
use revm::context::TxEnv;
use serde_json::{Map, Value, json};
use std::hint::black_box;
use std::sync::Arc;

const BLOCKS: u64 = 8;
const RECEIVERS: u64 = 2_000;

/// `balance[caller] -= amount; balance[to] += amount; emit Transfer(caller, to, amount)`, as solc lays a mapping out.
const TOKEN: &[u8] = &hex!(
    "335f5260405f208054602035900390555f355f5260405f2080546020350190556020355f52"
    "5f35337fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    "60205fa300"
);

/// Writes as many fresh slots as the input says, with a log for each.
const WRITES: &[u8] = &hex!("5f35335f525b8060205260405f208054600101815533600160206020a3600190038060055700");

pub fn transfers(title: &'static str) -> Case {
    let to = |random: &mut Random| (receiver(random), U256::ONE, Bytes::new());
    case(title, 400, 21_000, &[], to)
}

pub fn tokens(title: &'static str) -> Case {
    let call = |random: &mut Random| {
        let input = [receiver(random).into_word(), B256::with_last_byte(1)].concat();
        (CONTRACT, U256::ZERO, input.into())
    };
    case(title, 400, 100_000, TOKEN, call)
}

pub fn writes(title: &'static str) -> Case {
    let call = |_: &mut Random| (CONTRACT, U256::ZERO, B256::with_last_byte(100).to_vec().into());
    case(title, 12, 4_000_000, WRITES, call)
}

fn receiver(random: &mut Random) -> Address {
    Address::from_word(keccak256(random.below(RECEIVERS).to_be_bytes()))
}

fn case(
    title: &'static str,
    per_block: usize,
    gas_limit: u64,
    code: &[u8],
    call: impl Fn(&mut Random) -> (Address, U256, Bytes),
) -> Case {
    let mut random = Random::from_seed(20_261_115);
    let mut senders = Vec::new();
    let bodies: Vec<Vec<TxEnvelope>> = (0..BLOCKS)
        .map(|_| {
            let sent = (0..per_block).map(|_| {
                let (to, value, input) = call(&mut random);
                let tx = TxEip1559 {
                    chain_id: 7,
                    nonce: 0,
                    gas_limit,
                    max_fee_per_gas: 10,
                    max_priority_fee_per_gas: 1,
                    to: TxKind::Call(to),
                    value,
                    access_list: Default::default(),
                    input,
                };
                let (tx, sender) = sign(&mut random, &tx);
                senders.push(sender);
                tx
            });
            sent.collect()
        })
        .collect();

    let (spec, outcome, _) = genesis_block(&cancun(code, &senders)).unwrap();
    let chain = Arc::new(Chain::new(spec, options()).unwrap());
    chain.start_at_genesis(&outcome).unwrap();
    let mut held: Vec<(Key, Vec<u8>)> = Vec::new();
    let diff = &outcome.diff;
    held.extend(
        diff.accounts
            .iter()
            .map(|(who, account)| (Key::Account(*who), account.map_or_else(Vec::new, alloy_rlp::encode))),
    );
    held.extend(
        diff.slots.iter().map(|(who, slot, value)| (Key::Slot(*who, *slot), value.to_be_bytes_trimmed_vec())),
    );
    held.extend(diff.codes.iter().map(|(hash, code)| (Key::Code(*hash), code.to_vec())));

    let (mut parent, mut blocks, mut bare, mut gas) = (outcome.header, Vec::new(), Vec::new(), 0);
    for transactions in &bodies {
        let header = Header {
            parent_hash: parent.hash_slow(),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            transactions_root: proofs::calculate_transaction_root(transactions),
            withdrawals_root: Some(EMPTY_ROOT_HASH),
            number: parent.number + 1,
            gas_limit: parent.gas_limit,
            timestamp: parent.timestamp + 2,
            base_fee_per_gas: Some(7),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(B256::ZERO),
            ..Default::default()
        };
        let body = BlockBody {
            transactions: transactions.clone(),
            ommers: Vec::new(),
            withdrawals: Some(Withdrawals::default()),
        };
        let unsealed = alloy_rlp::encode(Block { header, body: body.clone() });
        // What is in nobody's genesis does not exist.
        let outcome = seal(&chain, &unsealed, |_| Some(Vec::new()), &mut held);
        assert!(
            outcome.receipts.iter().all(|receipt| matches!(receipt.status, chain_query_evm::Status::Code(true)))
        );
        parent = outcome.header;
        gas += parent.gas_used;
        let block = alloy_rlp::encode(Block { header: parent.clone(), body });
        let Execution::Done(_) = chain.execute(&block).unwrap() else { panic!("what was sealed lacks nothing") };
        blocks.push(block);
        let sent = transactions.iter().map(|tx| TxEnv::from_recovered_tx(tx, tx.recover_signer().unwrap()));
        bare.push((chain.spec().eth_env(&parent), sent.collect()));
    }
    chain.revert_to(0).unwrap();
    let recover = move || {
        for tx in bodies.iter().flatten() {
            black_box(tx.recover_signer().unwrap());
        }
    };
    let bare = vec![bare_run(EthEvmFactory::default(), bare_state(&held), bare)];
    Case { title, gas, ours: vec![(chain, blocks)], bare, recover: Box::new(recover) }
}

/// Half of all numbers are the x of a point: any of those is a signature of somebody.
fn sign(random: &mut Random, tx: &TxEip1559) -> (TxEnvelope, Address) {
    loop {
        let (r, mut s) = (U256::from_be_bytes(random.array::<32>()), U256::from_be_bytes(random.array::<32>()));
        s >>= 1;
        let signed = TxEnvelope::Eip1559(tx.clone().into_signed(Signature::new(r, s, random.once_in(2))));
        if let Ok(sender) = signed.recover_signer() {
            return (signed, sender);
        }
    }
}

/// A genesis file under Cancun rules: nothing but transactions runs in a block, once the beacon root's contract is absent.
fn cancun(code: &[u8], senders: &[Address]) -> String {
    let slots: Map<String, Value> = senders
        .iter()
        .map(|sender| {
            (keccak256([sender.into_word(), B256::ZERO].concat()).to_string(), json!(B256::with_last_byte(100)))
        })
        .collect();
    let mut alloc: Map<String, Value> =
        senders.iter().map(|sender| (sender.to_string(), json!({ "balance": "0xde0b6b3a7640000" }))).collect();
    if !code.is_empty() {
        let storage = if code == TOKEN { slots } else { Map::new() };
        let contract = json!({ "balance": "0x0", "code": hex::encode_prefixed(code), "storage": storage });
        alloc.insert(CONTRACT.to_string(), contract);
    }
    let mut genesis: Value = serde_json::from_str(&genesis(Fork::Prague, &Value::Object(alloc))).unwrap();
    genesis["config"].as_object_mut().unwrap().remove("pragueTime");
    genesis.to_string()
}

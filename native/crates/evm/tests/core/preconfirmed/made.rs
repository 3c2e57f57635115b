//! Blocks that are made for tests.

use super::case::{Case, complete, cut, message, open, read_block, seal};
use super::real::full_case;
use crate::support::{CONTRACT, Fork, Random, genesis, options};
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{
    Block, BlockBody, EMPTY_OMMER_ROOT_HASH, Header, Sealable, SignableTransaction, TxEip1559, proofs,
};
use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B256, Signature, TxKind, U256, hex, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use chain_query_evm::genesis_block;
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};
use serde_json::{Value, json};

/// Destroys itself without input; else writes the second word to the slot in the first.
pub const STORE: [u8; 15] = hex!("3660065733ff5b6020356000355500");
/// Creates (CREATE2) what its input says, always at the same address for the same input.
pub const FACTORY: [u8; 14] = hex!("36600060003760003660006000f5");

/// Counts its calls in slot 0. It stands where every block calls it once.
pub const COUNTER: [u8; 8] = hex!("5f546001015f5500");

pub fn factory() -> Address {
    Address::with_last_byte(0xfa)
}

pub fn store_init() -> Vec<u8> {
    [[0x6e].as_slice(), &STORE, &hex!("600052600f6011f3")].concat()
}

pub fn deposit(from: Address, to: TxKind, mint: u128, value: u64, input: Vec<u8>) -> OpTxEnvelope {
    let tx = TxDeposit {
        source_hash: B256::ZERO,
        from,
        to,
        mint,
        value: U256::from(value),
        gas_limit: 400_000,
        is_system_transaction: false,
        input: input.into(),
    };
    OpTxEnvelope::Deposit(tx.seal_slow())
}

/// Writes, writes back, creates, destroys and pays, all on few keys.
pub fn random_transaction(random: &mut Random) -> OpTxEnvelope {
    let from = Address::with_last_byte(0xa0 + random.below(4) as u8);
    let created = factory().create2_from_code(B256::ZERO, store_init());
    let store = if random.once_in(2) { created } else { CONTRACT };
    let write = |random: &mut Random| {
        [B256::from(U256::from(random.below(3))), B256::from(U256::from(random.below(3)))].concat()
    };
    match random.below(8) {
        0 => deposit(from, TxKind::Call(store), 0, 0, Vec::new()),
        1 => deposit(from, TxKind::Call(factory()), 0, 0, store_init()),
        2 => deposit(from, TxKind::Create, 0, 0, store_init()),
        3 => deposit(from, TxKind::Call(Address::with_last_byte(0xa0)), 5, random.below(9), Vec::new()),
        _ => {
            let data = write(random);
            deposit(from, TxKind::Call(store), 0, 0, data)
        }
    }
}

/// The second is from before Canyon, where a contract that destroys itself is gone.
pub fn random_genesis(cancun: bool) -> String {
    let store = json!({
        "balance": "0x0", "code": hex::encode_prefixed(STORE),
        "storage": { B256::with_last_byte(1).to_string(): B256::with_last_byte(2) },
    });
    let alloc = json!({
        CONTRACT.to_string(): store,
        factory().to_string(): { "balance": "0x0", "code": hex::encode_prefixed(FACTORY) },
        HISTORY_STORAGE_ADDRESS.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(COUNTER) },
    });
    let mut text: Value = serde_json::from_str(&genesis(Fork::Isthmus, &alloc)).unwrap();
    if !cancun {
        let config = text["config"].as_object_mut().unwrap();
        let younger = [
            "shanghaiTime",
            "cancunTime",
            "pragueTime",
            "canyonTime",
            "ecotoneTime",
            "fjordTime",
            "graniteTime",
            "holoceneTime",
            "isthmusTime",
        ];
        config.retain(|name, _| !younger.contains(&name.as_str()));
    }
    text.to_string()
}

pub fn header_on(parent: &Header, cancun: bool) -> Header {
    Header {
        parent_hash: parent.hash_slow(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: Address::with_last_byte(0xbe),
        number: parent.number + 1,
        timestamp: parent.timestamp + 2,
        gas_limit: parent.gas_limit,
        mix_hash: keccak256(parent.number.to_be_bytes()),
        // Nobody computes it here; zero would say that nobody has.
        state_root: keccak256(parent.state_root),
        base_fee_per_gas: Some(7),
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: cancun.then_some(0),
        excess_blob_gas: cancun.then_some(0),
        parent_beacon_block_root: cancun.then(|| keccak256(parent.timestamp.to_be_bytes())),
        requests_hash: cancun.then_some(alloy_eips::eip7685::EMPTY_REQUESTS_HASH),
        ..Default::default()
    }
}

/// A chain of blocks with these transactions, sealed.
pub fn build(text: &str, cancun: bool, bodies: Vec<Vec<OpTxEnvelope>>) -> Case<'static> {
    let (spec, outcome, _) = genesis_block(text).unwrap();
    let mut case = full_case("random", spec, outcome.header.clone(), Vec::new(), &outcome.diff);
    let chain = open(&case.spec, options(), &case.parent);
    let mut parent = case.parent.clone();
    for transactions in bodies {
        let mut header = header_on(&parent, cancun);
        header.transactions_root = proofs::calculate_transaction_root(&transactions);
        let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
        let mut block = Block { header, body };
        block.header = seal(&chain, &*case.load, &block).header;
        let rlp = alloy_rlp::encode(&block);
        complete(&chain, &*case.load, || chain.execute(&rlp)).unwrap();
        parent = block.header;
        case.blocks.push(rlp);
    }
    case
}

pub fn random_case(random: &mut Random, cancun: bool) -> Case<'static> {
    let bodies = (0..1 + random.below(4))
        .map(|_| (0..1 + random.below(14)).map(|_| random_transaction(random)).collect())
        .collect();
    build(&random_genesis(cancun), cancun, bodies)
}

/// Two blocks of three transactions, and the messages of each: after one, two and three of them.
pub fn two_blocks() -> (Case<'static>, Vec<Vec<Value>>) {
    let write = |slot: u8, value: u8| {
        let input = [B256::with_last_byte(slot), B256::with_last_byte(value)].concat();
        deposit(Address::with_last_byte(0xa0), TxKind::Call(CONTRACT), 0, 0, input)
    };
    let body = |value: u8| vec![write(1, value), write(2, value), write(3, value)];
    let case = build(&random_genesis(true), true, vec![body(11), body(21)]);
    let chain = open(&case.spec, options(), &case.parent);
    let mut all = Vec::new();
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let list = (0..3).map(|index| {
            let so_far = seal(&chain, &*case.load, &cut(&block, index + 1));
            message(&block, &so_far.header, &format!("p{at}"), index as u64, index, index + 1)
        });
        all.push(list.collect());
        complete(&chain, &*case.load, || chain.execute(rlp)).unwrap();
    }
    (case, all)
}

pub fn sign(random: &mut Random, tx: &TxEip1559) -> (OpTxEnvelope, Address) {
    loop {
        let (r, mut s) = (U256::from_be_bytes(random.array::<32>()), U256::from_be_bytes(random.array::<32>()));
        s >>= 1;
        let signed = OpTxEnvelope::Eip1559(tx.clone().into_signed(Signature::new(r, s, random.once_in(2))));
        if let Ok(sender) = signed.recover_signer() {
            return (signed, sender);
        }
    }
}

//! Transactions of more than 2^24 gas: refused from Karst on (EIP-7825), unless they are deposits.

use crate::preconfirmed::case::{Case, complete, open, seal};
use crate::preconfirmed::made::{deposit, header_on, sign};
use crate::preconfirmed::real::full_case;
use crate::support::{CONTRACT, Fork, Random, genesis, options};
use alloy_consensus::{Block, BlockBody, Header, TxEip1559, proofs};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, TxKind};
use chain_query_evm::{ChainSpec, Error, genesis_block};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::{Value, json};

const CAP: u64 = 1 << 24;

/// A chain whose fork is at its second block (time 104), with one account that can pay.
fn case(fork: &Value, rich: Address) -> Case<'static> {
    let alloc = json!({ rich.to_string(): { "balance": "0xde0b6b3a7640000" } });
    let mut text: Value = serde_json::from_str(&genesis(Fork::Isthmus, &alloc)).unwrap();
    let config = text["config"].as_object_mut().unwrap();
    config.insert("jovianTime".into(), 0.into());
    config.extend(fork.as_object().unwrap().clone());
    let spec = ChainSpec::parse(&text["config"].to_string()).unwrap();
    let (_, outcome, _) = genesis_block(&text.to_string()).unwrap();
    full_case("cap", spec, outcome.header, Vec::new(), &outcome.diff)
}

fn block_of(parent: &Header, transactions: Vec<OpTxEnvelope>) -> Block<OpTxEnvelope> {
    let mut header = header_on(parent, true);
    // Jovian's: the version, the parameters of EIP-1559 and the least base fee.
    header.extra_data = [[1].as_slice(), &[0; 16]].concat().into();
    header.transactions_root = proofs::calculate_transaction_root(&transactions);
    Block {
        header,
        body: BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) },
    }
}

fn paid(nonce: u64, gas_limit: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: 7,
        nonce,
        gas_limit,
        max_fee_per_gas: 7,
        to: TxKind::Call(CONTRACT),
        ..Default::default()
    }
}

#[test]
fn the_cap_of_a_transaction_begins_with_the_fork_and_spares_deposits() {
    for fork in [json!({ "karstTime": 104, "osakaTime": 104 }), json!({ "base": { "azul": 104 } })] {
        let (large, rich) = sign(&mut Random::from_seed(7), &paid(0, CAP + 1));
        let case = case(&fork, rich);
        let (chain, first) = (open(&case.spec, options(), &case.parent), &case.parent);
        let execute = |block: &Block<OpTxEnvelope>| {
            let rlp = alloy_rlp::encode(block);
            complete(&chain, &*case.load, || chain.execute(&rlp))
        };
        // The block before the fork takes it.
        let before = block_of(first, vec![large.clone()]);
        assert_eq!(seal(&chain, &*case.load, &before).header.gas_used, 21_000, "{fork}");
        let empty = block_of(first, Vec::new());
        let second = execute(&Block { header: seal(&chain, &*case.load, &empty).header, ..empty }).unwrap();
        let after = block_of(&second.header, vec![large]);
        let refused = execute(&after).unwrap_err();
        assert!(matches!(&refused, Error::InvalidBlock(text) if text.contains("16777216")), "{fork}: {refused}");
        let OpTxEnvelope::Deposit(system) = deposit(rich, TxKind::Call(CONTRACT), 0, 0, Vec::new()) else {
            panic!("not a deposit")
        };
        let mut system = system.into_inner();
        system.gas_limit = CAP + 1;
        let deposited = block_of(&second.header, vec![alloy_consensus::Sealable::seal_slow(system).into()]);
        assert_eq!(seal(&chain, &*case.load, &deposited).header.gas_used, 21_000, "{fork}");
    }
}

//! Flashblocks without the hash of their block.

use super::case::{
    Case, answer, begin, complete, cut, extend, feed, message, newest, open, parse, promoted_by_header,
    read_block, seal, settle,
};
use super::compare::context;
use super::made::{build, deposit, random_genesis, two_blocks};
use crate::support::{CONTRACT, options};
use alloy_consensus::{Header, proofs};
use alloy_eips::eip2935::{HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE};
use alloy_primitives::{Address, B256, TxKind, U256, hex};
use chain_query_evm::{CallResult, Chain, Error, Flashblock, Outcome, SealedRoots};
use serde_json::{Value, json};
use std::sync::Arc;

/// How much of a block's header its builder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// All of it.
    Real,
    /// No state root, and the hash of the header without one.
    ZeroRoot,
    /// Zeros for the roots of state and withdrawals and for the hash.
    Absent,
    /// The same left out, and neither receipts root nor bloom.
    Unsaid,
}

impl Form {
    pub const ALL: [Self; 4] = [Self::Real, Self::ZeroRoot, Self::Absent, Self::Unsaid];

    /// The header as it is known from such flashblocks.
    fn header(self, so_far: &Header) -> Header {
        let (state_root, none) = (B256::ZERO, Some(B256::ZERO));
        match self {
            Self::Real => so_far.clone(),
            Self::ZeroRoot => Header { state_root, ..so_far.clone() },
            Self::Absent | Self::Unsaid => Header { state_root, withdrawals_root: none, ..so_far.clone() },
        }
    }

    /// What is known of a block so far.
    pub fn shown(self, so_far: &Outcome) -> Outcome {
        let hash = if self == Self::Real { so_far.hash } else { B256::ZERO };
        Outcome { hash, header: self.header(&so_far.header), ..so_far.clone() }
    }

    /// A message of real roots in this form.
    pub fn apply(self, mut message: Value, so_far: &Header) -> Value {
        let diff = &mut message["diff"];
        match self {
            Self::Real => {}
            Self::ZeroRoot => {
                diff["state_root"] = json!(B256::ZERO);
                diff["block_hash"] = json!(self.header(so_far).hash_slow());
            }
            Self::Absent => {
                for field in ["state_root", "withdrawals_root", "block_hash"] {
                    diff[field] = json!(B256::ZERO);
                }
            }
            Self::Unsaid => {
                let unsaid = ["state_root", "withdrawals_root", "block_hash", "receipts_root", "logs_bloom"];
                diff.as_object_mut().unwrap().retain(|field, _| !unsaid.contains(&field.as_str()));
            }
        }
        message
    }
}

/// The messages of `two_blocks` without hashes.
fn hashless(messages: &[Value]) -> Vec<Value> {
    messages.iter().map(|message| Form::Absent.apply(message.clone(), &Header::default())).collect()
}

fn refusal(chain: &Arc<Chain>, message: &Value) -> String {
    let before = newest(chain);
    let error = extend(chain, &|_| None, &parse(message)).unwrap_err();
    assert!(matches!(error, Error::InvalidBlock(_)), "{error:?}");
    assert_eq!(newest(chain), before);
    error.to_string()
}

#[test]
fn what_is_said_without_a_state_root_is_still_checked() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    let (absent, block) = (&hashless(&messages[0])[0], read_block(&case.blocks[0]));
    let first = seal(&begin(&case), &*case.load, &cut(&block, 1));
    let rootless = Form::ZeroRoot.apply(messages[0][0].clone(), &first.header);
    extend(&chain, &*case.load, &parse(absent)).unwrap();
    chain.drop_preconfirmed(0);
    for message in [absent, &rootless] {
        for (field, words) in [("receipts_root", "receipts root"), ("logs_bloom", "logs bloom")] {
            let mut message = message.clone();
            let bytes = if field == "logs_bloom" { 256 } else { 32 };
            message["diff"][field] = json!(hex::encode_prefixed(vec![1; bytes]));
            assert!(refusal(&chain, &message).contains(words));
        }
        for (field, words) in [("gas_used", "gas used"), ("blob_gas_used", "blob gas used")] {
            let mut message = message.clone();
            message["diff"][field] = json!("0x1");
            assert!(refusal(&chain, &message).contains(words));
        }
        let mut zero = message.clone();
        zero["diff"]["receipts_root"] = json!(B256::ZERO);
        assert!(refusal(&chain, &zero).contains("receipts root"), "zeros are no receipts root");
    }
    // The hash binds all that is said beside it, the sealed block's own included.
    for (field, value) in
        [("block_hash", first.hash), ("withdrawals_root", B256::ZERO), ("state_root", B256::with_last_byte(1))]
    {
        let mut message = rootless.clone();
        message["diff"][field] = json!(value);
        assert!(refusal(&chain, &message).contains("block hash"));
    }
    extend(&chain, &*case.load, &parse(&rootless)).unwrap();
    let mut lagoon = messages[0][0].clone();
    lagoon["diff"]["post_exec_tx"] = json!("0x7d00");
    let Err(Error::Malformed(why)) = Flashblock::parse(&lagoon.to_string()) else { panic!("it is refused") };
    assert!(why.contains("Lagoon"), "{why}");
    lagoon["diff"]["post_exec_tx"] = Value::Null;
    Flashblock::parse(&lagoon.to_string()).unwrap();
}

#[test]
fn a_sealed_header_completes_what_was_preconfirmed_or_nothing_happens() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    for list in &messages {
        feed(&chain, &case, &hashless(list));
    }
    let sealed = read_block(&case.blocks[0]).header;
    let Header { state_root, withdrawals_root, .. } = sealed;
    let hash = sealed.hash_slow();
    for (hash, roots) in [
        (hash, None),
        (hash, Some(SealedRoots { state_root: B256::ZERO, withdrawals_root })),
        (hash, Some(SealedRoots { state_root, withdrawals_root: None })),
        (B256::ZERO, Some(SealedRoots { state_root, withdrawals_root })),
        (B256::ZERO, None),
    ] {
        assert!(chain.promote_sealed(hash, roots).unwrap().is_none());
    }
    // Any other field is another block.
    for change in [
        |header: &mut Header| header.gas_used += 1,
        |header: &mut Header| header.receipts_root = B256::ZERO,
        |header: &mut Header| header.transactions_root = B256::ZERO,
        |header: &mut Header| header.timestamp += 1,
        |header: &mut Header| header.extra_data = vec![1].into(),
        |header: &mut Header| header.requests_hash = None,
    ] {
        let mut other = sealed.clone();
        change(&mut other);
        let roots = Some(SealedRoots { state_root, withdrawals_root });
        assert!(chain.promote_sealed(other.hash_slow(), roots).unwrap().is_none());
    }
    assert_eq!(newest(&chain), Some((2, 2)), "nothing has happened");
    for (at, rlp) in case.blocks.iter().enumerate() {
        let outcome = promoted_by_header(&chain, &read_block(rlp).header);
        assert_eq!(outcome.block, *rlp);
        assert_eq!(newest(&chain), (at == 0).then_some((2, 2)), "what stands on it stays");
    }
}

/// What BLOCKHASH gives for the parent of the newest block.
fn parent_hash(chain: &Arc<Chain>, case: &Case<'_>) -> B256 {
    let view = Arc::new(chain.preconfirmed_view().unwrap());
    let Some(CallResult::Success(words)) = answer(&view, &*case.load, &context()) else {
        panic!("the context can be read")
    };
    // Six words before the hash of the block itself.
    B256::from_slice(&words[7 * 32..8 * 32])
}

#[test]
fn a_block_on_one_without_a_hash_is_dropped_when_that_turns_out_to_be_another() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let first = read_block(&case.blocks[0]);
    let [below, above] = [hashless(&messages[0]), hashless(&messages[1])];
    let on = |parent: B256| {
        let mut message = above[0].clone();
        message["base"]["parent_hash"] = json!(parent);
        message
    };
    let start = |parent: B256| {
        let chain = begin(&case);
        feed(&chain, &case, &below);
        extend(&chain, load, &parse(&on(parent))).unwrap();
        assert_eq!(newest(&chain), Some((2, 0)));
        assert_eq!(parent_hash(&chain, &case), parent, "the block below is what the one above calls it");
        chain
    };
    let hash = first.header.hash_slow();
    // Sealed as it was: the block above stays, and goes on.
    let chain = start(hash);
    promoted_by_header(&chain, &first.header);
    assert!(!chain.take_lost_preconfirmed() && chain.sealed_otherwise().is_none());
    feed(&chain, &case, &above[1..]);
    assert_eq!(newest(&chain), Some((2, 2)));
    promoted_by_header(&chain, &read_block(&case.blocks[1]).header);
    assert_eq!(chain.sealed_otherwise(), None);

    // Under another hash than was said.
    let chain = start(B256::with_last_byte(7));
    promoted_by_header(&chain, &first.header);
    assert_eq!((newest(&chain), chain.preconfirmed_payloads()), (None, Vec::new()));
    assert!(!chain.take_lost_preconfirmed(), "whoever goes by hashes sees it");
    assert!(refusal(&chain, &on(B256::with_last_byte(7))).contains("does not follow"));

    // Under the hash that was said, with more in it than was seen.
    let mut longer = first.clone();
    longer.body.transactions.push(first.body.transactions[0].clone());
    longer.header.transactions_root = proofs::calculate_transaction_root(&longer.body.transactions);
    longer.header = seal(&begin(&case), load, &longer).header;
    let hash = longer.header.hash_slow();
    let chain = start(hash);
    assert_eq!(chain.preconfirmed_payloads(), ["p0", "p1"]);
    complete(&chain, load, || chain.execute(&alloy_rlp::encode(&longer))).unwrap();
    assert_eq!((newest(&chain), chain.preconfirmed_payloads()), (None, Vec::new()));
    assert_eq!([chain.take_lost_preconfirmed(), chain.take_lost_preconfirmed()], [true, false]);
    assert_eq!(chain.sealed_otherwise(), Some(1));
    // Now that all of it is there, it begins again.
    // The nonce in its receipt is another there than the message says, which was made for the shorter block.
    extend(&chain, load, &parse(&Form::Unsaid.apply(on(hash), &Header::default()))).unwrap();
    assert_eq!(newest(&chain), Some((2, 0)));

    // A real hash is still held against what stands on it.
    let chain = begin(&case);
    feed(&chain, &case, &messages[0]);
    assert!(refusal(&chain, &on(B256::with_last_byte(7))).contains("does not follow"));
}

/// EIP-2935 writes what the block above calls the one below it.
#[test]
fn the_history_contract_has_the_hash_that_the_next_block_says() {
    let genesis = random_genesis(true);
    let mut text: Value = serde_json::from_str(&genesis).unwrap();
    text["alloc"][HISTORY_STORAGE_ADDRESS.to_string()] =
        json!({ "balance": "0x0", "nonce": "0x1", "code": HISTORY_STORAGE_CODE });
    let write = || deposit(Address::with_last_byte(0xa0), TxKind::Call(CONTRACT), 0, 0, vec![1; 64]);
    let case = build(&text.to_string(), true, vec![vec![write()], vec![write()], vec![write()]]);
    let chain = begin(&case);
    let oracle = open(&case.spec, options(), &case.parent);
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let said = message(&block, &block.header, &format!("p{at}"), 0, 0, 1);
        extend(&chain, &*case.load, &parse(&Form::Absent.apply(said, &block.header))).unwrap();
        complete(&oracle, &*case.load, || oracle.execute(rlp)).unwrap();
        let slot = B256::from(U256::from((block.header.number - 1) % HISTORY_SERVE_WINDOW as u64));
        let view = chain.preconfirmed_view().unwrap();
        let found = settle(&view, &*case.load, || view.slot(HISTORY_STORAGE_ADDRESS, slot));
        assert_eq!(found.map(B256::from), Some(block.header.parent_hash));
        assert_eq!(parent_hash(&chain, &case), block.header.parent_hash);
    }
}

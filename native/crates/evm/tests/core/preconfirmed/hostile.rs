//! Blocks and flashblocks that are made to hurt: their hashes fit, and executing them would take for ever.

use super::case::{Case, OpBlock, begin, complete, cut, extend, message, newest, open, parse, read_block, seal};
use super::made::{build, deposit, header_on, random_genesis, two_blocks};
use crate::support::{CONTRACT, Fork, genesis, options};
use alloy_consensus::{Block, BlockBody, Header, Sealable, proofs};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use chain_query_evm::{
    Chain, ChainOptions, Error, Execution, Flashblock, Limits, Missing, Preconfirmation, genesis_block,
};
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// JUMPDEST PUSH0 JUMP.
const LOOP: [u8; 3] = hex!("5b5f56");
/// Calls an account that nobody knows until that returns something: made-up state never does, in one of the two ways.
const ASK: [u8; 36] = hex!("5b60205f5f5f7300000000000000000000000000000000000bad005afa505f51155f5700");
const HUGE: u64 = 1 << 62;
/// Much less than anything here would take, and much more than a slow machine needs to notice.
const SOON: Duration = Duration::from_secs(20);

/// A deposit that creates a contract with this code, and may use this much gas.
fn creation(code: &[u8], gas_limit: u64) -> OpTxEnvelope {
    let tx =
        TxDeposit { gas_limit, to: TxKind::Create, input: Bytes::copy_from_slice(code), ..Default::default() };
    OpTxEnvelope::Deposit(tx.seal_slow())
}

fn honest() -> OpTxEnvelope {
    deposit(Address::with_last_byte(0xa0), TxKind::Call(Address::ZERO), 1, 0, Vec::new())
}

/// A chain, and a block on it whose header claims what it is told to.
fn block_of(transactions: Vec<OpTxEnvelope>, gas_limit: u64, gas_used: u64) -> (Case<'static>, OpBlock) {
    let case = build(&random_genesis(true), true, Vec::new());
    let mut header = Header { gas_limit, gas_used, ..header_on(&case.parent, true) };
    header.transactions_root = proofs::calculate_transaction_root(&transactions);
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    (case, Block { header, body })
}

/// How executing the block ends once nothing is missing, and how long that takes.
fn verdict(case: &Case<'_>, block: &OpBlock, options: ChainOptions, time: Duration) -> (Error, Duration) {
    let chain = open(&case.spec, options, &case.parent);
    let rlp = alloy_rlp::encode(block);
    let limits = || Limits::within(time, Arc::new(AtomicBool::new(false)));
    let started = Instant::now();
    let error = complete(&chain, &*case.load, || match chain.run_block(&rlp, &limits())? {
        Execution::Done(_) => panic!("it is not valid"),
        Execution::Missing(missing) => Ok(Execution::Missing(missing)),
    });
    (error.unwrap_err(), started.elapsed())
}

#[test]
fn a_block_is_refused_as_soon_as_it_uses_more_gas_than_it_says() {
    let (case, block) = block_of(vec![honest(), creation(&LOOP, HUGE)], 2 * HUGE, 1_000_000);
    let (error, took) = verdict(&case, &block, options(), 60 * SOON);
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("gas used 1000000")), "{error}");
    assert!(took < SOON, "{took:?}");
    // At the first transaction already.
    let (case, block) = block_of(vec![honest(), creation(&LOOP, HUGE)], 2 * HUGE, 20_000);
    let (error, _) = verdict(&case, &block, options(), 60 * SOON);
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("gas used 20000")), "{error}");
}

#[test]
fn a_block_that_claims_what_it_uses_ends_in_time_and_is_not_called_invalid() {
    let (case, block) = block_of(vec![honest(), creation(&LOOP, HUGE)], 2 * HUGE, HUGE);
    // Gas is worth time: here it would be years.
    let chain = open(&case.spec, options(), &case.parent);
    let cancel = Arc::new(AtomicBool::new(false));
    let limits = Limits::within(Duration::from_millis(200), Arc::clone(&cancel));
    let rlp = alloy_rlp::encode(&block);
    let running = std::thread::spawn({
        let chain = Arc::clone(&chain);
        move || {
            loop {
                match chain.run_block(&rlp, &limits) {
                    Ok(Execution::Missing(missing)) => provide(&chain, &missing),
                    other => return other.map(|_| ()),
                }
            }
        }
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!running.is_finished());
    // Nothing is locked meanwhile that others need.
    chain.drop_preconfirmed(0);
    assert!(chain.promote_sealed(B256::ZERO, None).unwrap().is_none());
    cancel.store(true, Ordering::Relaxed);
    let ended = running.join().unwrap();
    assert!(matches!(ended, Err(Error::Cancelled(_))), "{ended:?}");

    // One without gas has no time of its own.
    let (case, block) = block_of(vec![honest(), creation(&LOOP, HUGE)], 2 * HUGE, 0);
    let (error, _) = verdict(&case, &block, options(), Duration::ZERO);
    assert!(matches!(&error, Error::Exhausted(why) if why.contains("took longer")), "{error}");
}

#[test]
fn a_gas_limit_out_of_all_bounds_is_not_begun_with() {
    let bounded = ChainOptions { max_block_gas: 30_000_000, ..options() };
    for (limit, used) in [(HUGE, 0), (30_000_001, 21_000)] {
        let (case, block) = block_of(vec![honest()], limit, used);
        let (error, _) = verdict(&case, &block, bounded, SOON);
        assert!(matches!(&error, Error::Exhausted(why) if why.contains("--max-block-gas")), "{error}");
    }
    let (case, block) = block_of(vec![honest()], 30_000_000, 30_000_001);
    let (error, _) = verdict(&case, &block, bounded, SOON);
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("of a limit of 30000000")), "{error}");
    // A jump of the limit is the chain's affair.
    let (case, block) = block_of(vec![honest()], 29_000_000, 21_000);
    let (error, _) = verdict(&case, &block, bounded, SOON);
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("receipts root")), "{error}");
}

#[test]
fn headers_that_cannot_be_are_refused_before_anything_runs() {
    type Change = fn(&mut Header);
    let changes: [(&str, Change); 4] = [
        ("timestamp", |header| header.timestamp = 1),
        ("timestamp", |header| header.timestamp = u64::MAX),
        ("number", |header| header.number += 1),
        ("number", |header| header.number = u64::MAX),
    ];
    for (what, change) in changes {
        let (case, mut block) = block_of(vec![creation(&LOOP, HUGE)], 2 * HUGE, HUGE);
        change(&mut block.header);
        let (error, _) = verdict(&case, &block, options(), SOON);
        assert!(matches!(&error, Error::InvalidBlock(why) if why.contains(what)), "{what}: {error}");
    }
}

fn provide(chain: &Arc<Chain>, missing: &Missing) {
    let values: Vec<&[u8]> = missing.keys.iter().map(|_| &[][..]).collect();
    chain.head_view().unwrap().provide(missing, &values).unwrap();
}

#[test]
fn guessing_ends_although_what_is_guessed_does_not() {
    let (case, block) = block_of(vec![honest(), creation(&ASK, HUGE), creation(&ASK, HUGE)], u64::MAX, HUGE);
    let chain = open(&case.spec, options(), &case.parent);
    let rlp = alloy_rlp::encode(&block);
    let started = Instant::now();
    let Execution::Missing(missing) = chain.run_block(&rlp, &Limits::none()).unwrap() else {
        panic!("nothing was missing")
    };
    assert!(missing.keys.len() > 1);
    assert!(started.elapsed() < SOON);
    let flashblock = flashblock_of(&block, u64::MAX, HUGE);
    let Preconfirmation::Missing(_) = chain.run_flashblock(&flashblock, &Limits::none()).unwrap() else {
        panic!("nothing was missing")
    };
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_precompile_takes_no_more_than_is_left_of_the_claim_or_the_time() {
    // MODEXP of 1 MB to the power of 1 MB, which is hours: PUSH3 1 MB at 0, 32 and 64, then the call with all gas.
    let code = hex!("620fffff5f52620fffff602052620fffff60405260205f622fffff5f5f60055af1");
    let claimed = 20_000_000_000;
    let (case, block) = block_of(vec![creation(&code, HUGE)], 2 * HUGE, claimed);
    let (error, took) = verdict(&case, &block, options(), Duration::from_millis(50));
    assert!(matches!(&error, Error::Exhausted(why) if why.contains("took longer")), "{error}");
    assert!(took < SOON, "{took:?}");
    // With time for all that it claims, and for more.
    let (error, took) = verdict(&case, &block, options(), Duration::from_secs(3_600));
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("gas used")), "{error}");
    assert!(took < SOON, "{took:?}");
}

/// Takes 8 MB, and calls itself until it is as deep as can be. It is in genesis: what creates it has too little gas.
const TOWER: [u8; 19] = hex!("5f627fffe0525f5f5f5f5f305af15000000000");

#[test]
fn memory_does_not_grow_without_end_either() {
    let alloc = json!({ CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(TOWER) } });
    let case = build(&genesis(Fork::Isthmus, &alloc), true, Vec::new());
    let tx = TxDeposit { to: TxKind::Call(CONTRACT), gas_limit: 20_000_000_000, ..Default::default() };
    let transactions = vec![OpTxEnvelope::Deposit(tx.seal_slow())];
    let mut header =
        Header { gas_limit: 40_000_000_000, gas_used: 20_000_000_000, ..header_on(&case.parent, true) };
    header.transactions_root = proofs::calculate_transaction_root(&transactions);
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    let (error, _) = verdict(&case, &Block { header, body }, options(), SOON);
    assert!(matches!(&error, Error::Exhausted(why) if why.contains("too much memory")), "{error}");
}

/// The first flashblock of a block that claims this.
fn flashblock_of(block: &OpBlock, gas_limit: u64, gas_used: u64) -> Flashblock {
    let so_far = Header { gas_used, ..block.header.clone() };
    let mut block = block.clone();
    block.header.gas_limit = gas_limit;
    parse(&message(&block, &so_far, "p", 0, 0, block.body.transactions.len()))
}

#[test]
fn flashblocks_are_held_to_the_same() {
    let bounded = ChainOptions { max_block_gas: 30_000_000, ..options() };
    let (case, block) = block_of(vec![honest(), creation(&LOOP, HUGE)], 2 * HUGE, 0);
    let verdict = |options: ChainOptions, flashblock: &Flashblock| {
        let chain = open(&case.spec, options, &case.parent);
        let started = Instant::now();
        let error = loop {
            let limits = Limits::within(Duration::from_millis(100), Arc::new(AtomicBool::new(false)));
            match chain.run_flashblock(flashblock, &limits) {
                Ok(Preconfirmation::Missing(missing)) => provide(&chain, &missing),
                Ok(Preconfirmation::Done(_)) => panic!("it is not valid"),
                Err(why) => break why,
            }
        };
        assert!(started.elapsed() < SOON);
        assert_eq!(newest(&chain), None);
        error
    };
    let above = verdict(bounded, &flashblock_of(&block, HUGE, 21_000));
    assert!(matches!(&above, Error::Exhausted(why) if why.contains("--max-block-gas")), "{above}");
    let more = verdict(options(), &flashblock_of(&block, 2 * HUGE, 1_000_000));
    assert!(matches!(&more, Error::InvalidBlock(why) if why.contains("gas used 1000000")), "{more}");
    // Its own time does not grow with what it claims.
    let late = verdict(options(), &flashblock_of(&block, 2 * HUGE, HUGE));
    assert!(matches!(&late, Error::Exhausted(why) if why.contains("took longer")), "{late}");
    let wrong = verdict(options(), &flashblock_of(&block, 1_000, 1_001));
    assert!(matches!(&wrong, Error::InvalidBlock(why) if why.contains("of a limit of 1000")), "{wrong}");
}

#[test]
fn a_flashblock_cannot_claim_less_than_the_ones_before_it() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    extend(&chain, &*case.load, &parse(&messages[0][0])).unwrap();
    let mut less = messages[0][1].clone();
    less["diff"]["gas_used"] = json!("0x1");
    let error = extend(&chain, &*case.load, &parse(&less)).unwrap_err();
    assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("gas used 1 after")), "{error}");
    extend(&chain, &*case.load, &parse(&messages[0][1])).unwrap();
}

/// Clears slots 1 to the number in its input: each costs 5,000 and gives 4,800 back, of which a fifth counts.
const CLEAR: [u8; 16] = hex!("5f355b805f9055600190038060025700");

#[test]
fn a_block_whose_gas_comes_back_is_taken_at_exactly_what_it_used() {
    let count = 300_u64;
    let slots: serde_json::Map<String, Value> =
        (1..=count).map(|at| (B256::from(U256::from(at)).to_string(), json!(B256::with_last_byte(1)))).collect();
    let alloc = json!({
        CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(CLEAR), "storage": slots },
    });
    for clears in [1, 2, 3, 7, 50, count] {
        let input = B256::from(U256::from(clears)).to_vec();
        let tx = TxDeposit {
            to: TxKind::Call(CONTRACT),
            gas_limit: 4_000_000,
            input: input.into(),
            ..Default::default()
        };
        let body = vec![honest(), OpTxEnvelope::Deposit(tx.seal_slow()), honest()];
        let case = build(&genesis(Fork::Isthmus, &alloc), true, vec![body]);
        // Built means executed; and it spent more than it says.
        let block = read_block(&case.blocks[0]);
        let two = seal(&begin(&case), &*case.load, &cut(&block, 2));
        let used = two.receipts[1].gas_used;
        assert!(clears < 50 || used < 21_000 + clears * 5_000, "nothing came back");
        // One less, and it is refused; while the whole refund may still come, only at its end.
        let mut less = block.clone();
        less.header.gas_used -= 1;
        let (error, _) = verdict(&case, &less, options(), SOON);
        assert!(matches!(&error, Error::InvalidBlock(why) if why.contains("gas used")), "{error}");
    }
}

#[test]
fn what_was_executed_is_not_taken_in_once_the_head_has_moved() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let ready = |chain: &Arc<Chain>, rlp: &[u8]| {
        for _ in 0..8 {
            match chain.run_block(rlp, &Limits::none()).unwrap() {
                Execution::Done(ready) => return ready,
                Execution::Missing(missing) => super::case::provide(&chain.head_view().unwrap(), load, missing),
            };
        }
        panic!("still missing keys");
    };
    let chain = begin(&case);
    let first = ready(&chain, &case.blocks[0]);
    // Executing changes nothing.
    assert_eq!(chain.head_view().unwrap().number(), 0);
    let again = ready(&chain, &case.blocks[0]);
    chain.make_head(first).unwrap();
    assert!(matches!(chain.make_head(again), Err(Error::InvalidBlock(_))));
    // Taken back, and there again: the same head, but hot state may have had others in between.
    let second = ready(&chain, &case.blocks[1]);
    chain.revert_to(0).unwrap();
    complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap();
    assert!(matches!(chain.make_head(second), Err(Error::Unavailable(_))));
    assert_eq!(chain.head_view().unwrap().number(), 1);

    let chain = begin(&case);
    let extension = |chain: &Arc<Chain>, message: &Value| {
        for _ in 0..8 {
            match chain.run_flashblock(&parse(message), &Limits::none()).unwrap() {
                Preconfirmation::Done(extension) => return extension,
                Preconfirmation::Missing(missing) => {
                    super::case::provide(&chain.head_view().unwrap(), load, missing);
                }
            }
        }
        panic!("still missing keys");
    };
    extend(&chain, load, &parse(&messages[0][0])).unwrap();
    let next = extension(&chain, &messages[0][1]);
    assert_eq!(newest(&chain), Some((1, 0)));
    let version = chain.preconfirmed_version();
    chain.drop_preconfirmed(5);
    let same = extension(&chain, &messages[0][1]);
    chain.show(next).unwrap();
    assert_eq!((newest(&chain), chain.preconfirmed_version()), (Some((1, 1)), version.map(|version| version + 1)));
    assert!(matches!(chain.show(same), Err(Error::Unavailable(_))), "it is there already");
    let last = extension(&chain, &messages[0][2]);
    chain.drop_preconfirmed(1);
    assert!(matches!(chain.show(last), Err(Error::Unavailable(_))), "what it stands on was dropped");
    assert_eq!(newest(&chain), None);
    let first = extension(&chain, &messages[0][0]);
    complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap();
    assert!(matches!(chain.show(first), Err(Error::Unavailable(_))), "the head is another one");
}

#[test]
fn an_ethereum_block_is_held_to_it_too() {
    let (spec, outcome, _) = genesis_block(&genesis(Fork::Prague, &json!({}))).unwrap();
    let chain = Arc::new(Chain::new(spec, ChainOptions { max_block_gas: 1_000, ..options() }).unwrap());
    chain.start_at_genesis(&outcome).unwrap();
    let header = Header { gas_limit: 1_001, ..header_on(&outcome.header, true) };
    let body: BlockBody<alloy_consensus::TxEnvelope> =
        BlockBody { withdrawals: Some(Withdrawals::default()), ..Default::default() };
    let rlp = alloy_rlp::encode(Block { header, body });
    assert!(matches!(chain.run_block(&rlp, &Limits::none()), Err(Error::Exhausted(_))));
}

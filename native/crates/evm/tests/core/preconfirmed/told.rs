//! Flashblocks that another process executed: a chain that is only told of them must have what the one has that executes.

use super::case::{
    Case, OpBlock, begin, complete, cut, cuts, extend, feed, message, newest, open, parse, promoted, read_block,
    seal,
};
use super::compare::{Probes, compare};
use super::forms::Form;
use super::made::{build, header_on, random_case, random_genesis, random_transaction, two_blocks};
use super::real::{op_geth, op_sepolia};
use crate::support::{Fixture, Fork, MAX_ROUNDS, Random, options, small};
use alloy_consensus::{Block, BlockBody, Header, proofs};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, Bytes};
use chain_query_evm::{Chain, Error, Flashblock, Outcome, Piece, Promoted, ToldFlashblock};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::Value;
use std::sync::Arc;

/// Hands in what is told of a piece.
fn tell(chain: &Arc<Chain>, payload_id: &str, piece: &Piece) -> Result<u64, Error> {
    tell_bytes(chain, payload_id, piece, &piece.outcome.encode())
}

/// The same with these bytes as its outcome.
pub fn tell_bytes(chain: &Arc<Chain>, payload_id: &str, piece: &Piece, outcome: &[u8]) -> Result<u64, Error> {
    chain.apply_flashblock(ToldFlashblock {
        payload_id,
        index: piece.index,
        first_transaction: piece.first_transaction,
        first_log: piece.first_log,
        outcome,
    })
}

/// One chain that executes, and one that is told.
struct Pair<'a> {
    case: &'a Case<'a>,
    executes: Arc<Chain>,
    told: Arc<Chain>,
    probes: Probes,
}

impl<'a> Pair<'a> {
    fn new(case: &'a Case<'a>, probes: Probes) -> Self {
        let [executes, told] = [(); 2].map(|()| {
            let chain = open(&case.spec, options(), &case.parent);
            chain.set_preconfirmed_depth(8);
            chain
        });
        Self { case, executes, told, probes }
    }

    fn extend(&self, flashblock: &Flashblock) -> Result<Piece, Error> {
        let piece = extend(&self.executes, &*self.case.load, flashblock)?;
        tell(&self.told, &flashblock.payload_id, &piece).unwrap();
        Ok(piece)
    }

    /// Makes a sealed block the head of both: taken over where that is possible.
    fn confirm(&self, rlp: &[u8]) -> Outcome {
        let load = &*self.case.load;
        let taken = (0..MAX_ROUNDS).find_map(|_| match self.executes.promote(rlp).unwrap()?.result {
            Promoted::Done(outcome) => Some(Some(*outcome)),
            Promoted::No => Some(None),
            Promoted::Missing(missing) => {
                super::case::provide(&self.executes.head_view().unwrap(), load, missing);
                None
            }
        });
        // What was not pre-confirmed here ends the search above with nothing, too.
        let outcome = taken
            .flatten()
            .unwrap_or_else(|| complete(&self.executes, load, || self.executes.execute(rlp)).unwrap());
        assert!(self.told.promote(rlp).unwrap().is_none(), "what was told is nothing to take over");
        assert!(self.told.promote_sealed(outcome.hash, None).unwrap().is_none());
        self.told.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
        outcome
    }

    /// Whether something is pre-confirmed, the same on both.
    fn compare(&self, random: &mut Random) -> bool {
        let chains = [&self.executes, &self.told];
        let [ours, theirs] = chains.map(|chain| chain.preconfirmed_payloads());
        assert_eq!(ours, theirs);
        let [ours, theirs] = chains.map(|chain| chain.preconfirmed_sizes());
        assert_eq!(ours, theirs);
        let [ours, theirs] = chains.map(|chain| (chain.take_lost_preconfirmed(), chain.sealed_otherwise()));
        assert_eq!(ours, theirs);
        let [Some(ours), Some(theirs)] = chains.map(|chain| chain.preconfirmed_view().map(Arc::new)) else {
            assert_eq!(newest(&self.executes), newest(&self.told));
            return false;
        };
        assert_eq!((ours.number(), ours.hash(), ours.base()), (theirs.number(), theirs.hash(), theirs.base()));
        assert_eq!((ours.header(), ours.flashblock_index()), (theirs.header(), theirs.flashblock_index()));
        compare(&theirs, &ours, &*self.case.load, &self.probes, random);
        true
    }
}

fn outcomes_of(case: &Case<'_>) -> Vec<Outcome> {
    let chain = open(&case.spec, options(), &case.parent);
    case.blocks.iter().map(|rlp| complete(&chain, &*case.load, || chain.execute(rlp)).unwrap()).collect()
}

/// Feeds all blocks in pieces, and confirms each when its time has come, at random.
fn run_case(case: &Case<'_>, form: Form, random: &mut Random) -> usize {
    let (load, outcomes) = (&*case.load, outcomes_of(case));
    let oracle = open(&case.spec, options(), &case.parent);
    let pair = Pair::new(case, Probes::of(case, &outcomes));
    let (mut pieces, mut confirmed) = (0, 0);
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let mut first = 0;
        for (index, count) in cuts(random, block.body.transactions.len()).into_iter().enumerate() {
            if confirmed < at && random.once_in(4) {
                pair.confirm(&case.blocks[confirmed]);
                confirmed += 1;
                assert_eq!(pair.compare(random), index > 0 || confirmed < at, "what is above it stays");
            }
            let so_far = seal(&oracle, load, &cut(&block, count));
            let said = message(&block, &so_far.header, &format!("p{at}"), index as u64, first, count);
            pair.extend(&parse(&form.apply(said, &so_far.header))).unwrap();
            assert!(pair.compare(random), "{}", case.name);
            (first, pieces) = (count, pieces + 1);
        }
        complete(&oracle, load, || oracle.execute(rlp)).unwrap();
    }
    for (at, rlp) in case.blocks.iter().enumerate().skip(confirmed) {
        pair.confirm(rlp);
        assert_eq!(pair.compare(random), at + 1 < case.blocks.len());
    }
    let heads = [&pair.told, &pair.executes].map(|chain| Arc::new(chain.head_view().unwrap()));
    compare(&heads[0], &heads[1], load, &pair.probes, random);
    pieces
}

#[test]
fn what_is_told_of_blocks_is_what_executing_them_gives() {
    let mut random = Random::from_env();
    let fixtures = Fixture::all();
    let mut pieces = 0;
    let (sepolia, geth) = (op_sepolia(&fixtures), op_geth());
    for case in sepolia.iter().chain([&geth]) {
        pieces += run_case(case, Form::Real, &mut random);
    }
    for (case, form) in [(&sepolia[0], Form::Absent), (&geth, Form::ZeroRoot), (&geth, Form::Unsaid)] {
        pieces += run_case(case, form, &mut random);
    }
    for round in 0..60 {
        let case = random_case(&mut random, round % 2 == 0);
        let form = Form::ALL[random.below(4) as usize];
        pieces += run_case(&case, form, &mut random);
    }
    println!("{pieces} pieces");
    assert!(pieces > 200);
}

/// A block of these transactions on `parent`, sealed by `oracle`, which stands there.
fn block_on(
    case: &Case<'_>,
    oracle: &Arc<Chain>,
    parent: &Header,
    cancun: bool,
    transactions: Vec<OpTxEnvelope>,
) -> OpBlock {
    let mut header = header_on(parent, cancun);
    header.transactions_root = proofs::calculate_transaction_root(&transactions);
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    let mut block = Block { header, body };
    block.header = seal(oracle, &*case.load, &block).header;
    block
}

#[derive(Debug, Default)]
struct Seen {
    pieces: usize,
    rebuilt: usize,
    dropped: usize,
    confirmed: usize,
    kept: usize,
    otherwise: usize,
    reverted: usize,
    lost: usize,
    refused: usize,
}

fn transactions(random: &mut Random) -> Vec<OpTxEnvelope> {
    (0..1 + random.below(8)).map(|_| random_transaction(random)).collect()
}

/// One block after the other in pieces, of which some are built again, sealed otherwise, taken back, dropped or lost.
fn run_scenario(random: &mut Random, seen: &mut Seen) {
    let cancun = random.once_in(2);
    let form = Form::ALL[random.below(4) as usize];
    let bodies = (0..3).map(|_| transactions(random)).collect();
    let case = build(&random_genesis(cancun), cancun, bodies);
    let load = &*case.load;
    let pair = Pair::new(&case, Probes::of(&case, &outcomes_of(&case)));
    // The confirmed chain, and one to make blocks with that is a block ahead of it or at it.
    let mut sealed: Vec<Outcome> = Vec::new();
    let mut payloads = 0;
    for _ in 0..10 {
        let oracle = begin(&case);
        for outcome in &sealed {
            oracle.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
        }
        let parent = sealed.last().map_or(case.parent.clone(), |outcome| outcome.header.clone());
        let block = block_on(&case, &oracle, &parent, cancun, transactions(random));
        // What is pre-confirmed first: this block, or another one that begins like it.
        let mut told = block.clone();
        if random.once_in(3) {
            let mut list = block.body.transactions.clone();
            list.truncate(random.below(list.len() as u64 + 1) as usize);
            list.extend(transactions(random));
            told = block_on(&case, &oracle, &parent, cancun, list);
        }
        let mut attempts = vec![told];
        if random.once_in(3) {
            attempts.push(block.clone());
            seen.rebuilt += 1;
        }
        for attempt in &attempts {
            feed_pieces(&pair, &oracle, attempt, form, &mut payloads, random, seen);
        }
        if random.once_in(6) {
            let from = block.header.number + random.below(2);
            pair.executes.drop_preconfirmed(from);
            pair.told.drop_preconfirmed(from);
            pair.compare(random);
            seen.dropped += 1;
        }
        // The block above comes before this one is sealed.
        let rlp = alloy_rlp::encode(&block);
        let outcome = complete(&oracle, load, || oracle.execute(&rlp)).unwrap();
        if random.once_in(2) {
            let above = block_on(&case, &oracle, &outcome.header, cancun, transactions(random));
            feed_pieces(&pair, &oracle, &above, form, &mut payloads, random, seen);
        }
        let before = pair.executes.preconfirmed_payloads().len();
        let otherwise = pair.executes.sealed_otherwise();
        assert_eq!(pair.confirm(&rlp).encode(), outcome.encode());
        seen.kept += usize::from(before > 1 && !pair.executes.preconfirmed_payloads().is_empty());
        seen.otherwise += usize::from(pair.executes.sealed_otherwise() != otherwise);
        seen.confirmed += 1;
        pair.compare(random);
        sealed.push(outcome);
        if random.once_in(5) {
            let back = 1 + random.below(sealed.len() as u64) as usize;
            sealed.truncate(sealed.len() - back);
            let number = case.parent.number + sealed.len() as u64;
            for chain in [&pair.executes, &pair.told] {
                chain.revert_to(number).unwrap();
            }
            assert!(!pair.compare(random));
            seen.reverted += 1;
        }
    }
}

/// Tells of a block up to some piece. Now and then the told chain loses one, and what it has with it.
fn feed_pieces(
    pair: &Pair<'_>,
    oracle: &Arc<Chain>,
    block: &OpBlock,
    form: Form,
    payloads: &mut usize,
    random: &mut Random,
    seen: &mut Seen,
) {
    let (load, payload) = (&*pair.case.load, format!("p{payloads}"));
    *payloads += 1;
    let mut first = 0;
    for (index, count) in cuts(random, block.body.transactions.len()).into_iter().enumerate() {
        let so_far = seal(oracle, load, &cut(block, count));
        let said =
            form.apply(message(block, &so_far.header, &payload, index as u64, first, count), &so_far.header);
        first = count;
        let Ok(piece) = extend(&pair.executes, load, &parse(&said)) else {
            // On a parent that is not what is pre-confirmed.
            seen.refused += 1;
            return;
        };
        seen.pieces += 1;
        if random.once_in(25) {
            // It is lost: from here on nothing fits until both have begun again.
            pair.told.drop_preconfirmed(0);
            pair.executes.drop_preconfirmed(0);
            assert!(piece.index == 0 || tell(&pair.told, &payload, &piece).is_err());
            seen.lost += 1;
            return;
        }
        tell(&pair.told, &payload, &piece).unwrap();
        assert!(pair.compare(random));
        if random.once_in(8) {
            return;
        }
    }
}

#[test]
fn random_scenarios_are_the_same_for_who_is_only_told() {
    let mut random = Random::from_env();
    let mut seen = Seen::default();
    for _ in 0..40 {
        run_scenario(&mut random, &mut seen);
    }
    println!("{seen:?}");
    let Seen { pieces, rebuilt, dropped, confirmed, kept, otherwise, reverted, lost, refused } = seen;
    assert!(pieces > 400 && confirmed > 300, "{seen:?}");
    let rare = [rebuilt, dropped, kept, otherwise, reverted, lost, refused];
    assert!(rare.iter().all(|count| *count > 3), "{seen:?}");
}

/// The pieces of `two_blocks`, executed.
fn told_blocks() -> (Case<'static>, Vec<Vec<Piece>>, Vec<Vec<Value>>) {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    let run = |message: &Value| extend(&chain, &*case.load, &parse(message)).unwrap();
    let pieces = messages.iter().map(|list| list.iter().map(run).collect()).collect();
    (case, pieces, messages)
}

#[test]
fn what_is_told_and_does_not_fit_changes_nothing() {
    let (case, pieces, messages) = told_blocks();
    let chain = begin(&case);
    let refused = |payload: &str, piece: &Piece, word: &str| {
        let before = (newest(&chain), chain.preconfirmed_version());
        let error = tell(&chain, payload, piece).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error, Error::InvalidBlock(_) | Error::Malformed(_)), "{error:?}");
        assert_eq!((newest(&chain), chain.preconfirmed_version()), before);
    };
    let changed = |piece: &Piece, change: &dyn Fn(&mut Piece)| {
        let mut piece = piece.clone();
        change(&mut piece);
        piece
    };
    /// With another header, which the rest of it follows.
    fn reheaded(piece: &mut Piece, change: impl Fn(&mut Header)) {
        let outcome = &mut piece.outcome;
        change(&mut outcome.header);
        outcome.hash = outcome.header.hash_slow();
        let mut block = read_block(&outcome.block);
        block.header = outcome.header.clone();
        outcome.block = alloy_rlp::encode(block).into();
    }
    let header = |piece: &Piece, change: &dyn Fn(&mut Header)| changed(piece, &|piece| reheaded(piece, change));
    let (first, second) = (&pieces[0], &pieces[1]);
    refused("p0", &first[1], "not there");
    refused("p1", &second[0], "does not follow");
    refused("p0", &header(&first[0], &|header| header.parent_hash = B256::ZERO), "does not follow");
    refused("p0", &header(&first[0], &|header| header.number += 1), "number");
    refused("p0", &header(&first[0], &|header| header.timestamp = 1), "timestamp");
    refused("p0", &header(&first[0], &|header| header.gas_limit = 1), "gas used");
    for (at, piece) in first.iter().enumerate() {
        refused("p0", &changed(piece, &|piece| piece.first_transaction += 1), "goes on after");
        refused("p0", &changed(piece, &|piece| piece.first_log += 1), "goes on after");
        refused("p0", &changed(piece, &|piece| piece.outcome.hash = B256::with_last_byte(1)), "hash");
        refused("p0", &changed(piece, &|piece| piece.outcome.header.gas_used += 1), "hash");
        refused("p0", &changed(piece, &|piece| piece.outcome.receipts.clear()), "number of receipts");
        refused(
            "p0",
            &changed(piece, &|piece| {
                piece.outcome.diff.codes.push((B256::ZERO, Bytes::from_static(&[1])));
            }),
            "code",
        );
        refused(
            "p0",
            &changed(piece, &|piece| {
                let mut block = read_block(&piece.outcome.block);
                block.header.extra_data = vec![1].into();
                piece.outcome.block = alloy_rlp::encode(block).into();
            }),
            "block",
        );
        if at > 0 {
            refused("other", piece, "does not follow");
            refused("p0", &changed(piece, &|piece| piece.index += 1), "does not follow");
            if at > 1 {
                refused("p0", &first[at - 1], "does not follow");
            }
            refused("p0", &header(piece, &|header| header.number += 1), "another number");
            refused("p0", &header(piece, &|header| header.parent_hash = B256::ZERO), "another parent");
            refused("p0", &header(piece, &|header| header.gas_used = 100_000_001), "another gas used");
            refused("p0", &header(piece, &|header| header.timestamp += 1), "another timestamp");
            refused("p0", &header(piece, &|header| header.mix_hash = B256::ZERO), "another prev randao");
        }
        tell(&chain, "p0", piece).unwrap();
        assert_eq!(newest(&chain), Some((1, at as u64)));
    }
    // Neither goes on with what the other began.
    let load = &*case.load;
    let executing = begin(&case);
    feed(&executing, &case, &messages[0][..1]);
    assert!(tell(&executing, "p0", &first[1]).unwrap_err().to_string().contains("executed here"));
    chain.drop_preconfirmed(0);
    tell(&chain, "p0", &first[0]).unwrap();
    let error = extend(&chain, load, &parse(&messages[0][1])).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    // A block that is begun here stands on one that was told, and one that is told on one that was executed.
    for piece in &first[1..] {
        tell(&chain, "p0", piece).unwrap();
    }
    feed(&chain, &case, &messages[1]);
    assert_eq!(newest(&chain), Some((2, 2)));
    feed(&executing, &case, &messages[0][1..]);
    for piece in second {
        tell(&executing, "p1", piece).unwrap();
    }
    promoted(&executing, &case.blocks[0]);
    assert_eq!(newest(&executing), Some((2, 2)), "it stays when the one below is sealed");
    // No more blocks than may be.
    chain.set_preconfirmed_depth(1);
    chain.drop_preconfirmed(2);
    let deep = tell(&chain, "p1", &second[0]).unwrap_err();
    assert!(matches!(deep, Error::Unavailable(_)), "{deep:?}");
    // Chains that have none.
    let none = small(Fork::Prague, &serde_json::json!({})).chain;
    assert!(matches!(tell(&none, "p0", &first[0]), Err(Error::Unsupported(_))));
}

/// The builder does not say hashes, and seals the block with other contents than those that the next one was executed on.
#[test]
fn what_stands_on_other_contents_goes_for_who_is_only_told() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let first = read_block(&case.blocks[0]);
    let mut longer = first.clone();
    longer.body.transactions.push(first.body.transactions[0].clone());
    longer.header.transactions_root = proofs::calculate_transaction_root(&longer.body.transactions);
    longer.header = seal(&begin(&case), load, &longer).header;
    for (sealed, otherwise) in [(&first, None), (&longer, Some(1))] {
        let pair = Pair::new(&case, Probes::of(&case, &outcomes_of(&case)));
        for message in &messages[0] {
            pair.extend(&parse(&Form::Absent.apply(message.clone(), &Header::default()))).unwrap();
        }
        let mut above = Form::Unsaid.apply(messages[1][0].clone(), &Header::default());
        above["base"]["parent_hash"] = serde_json::json!(sealed.header.hash_slow());
        pair.extend(&parse(&above)).unwrap();
        pair.confirm(&alloy_rlp::encode(sealed));
        assert_eq!(pair.told.sealed_otherwise(), otherwise);
        assert_eq!(pair.compare(&mut Random::from_seed(1)), otherwise.is_none());
        if otherwise.is_some() {
            pair.extend(&parse(&above)).unwrap();
        }
        assert!(pair.compare(&mut Random::from_seed(1)));
        for chain in [&pair.executes, &pair.told] {
            chain.revert_to(0).unwrap();
            assert_eq!(chain.sealed_otherwise(), None, "it was taken back");
        }
    }
}

#[test]
fn bytes_that_were_tampered_with_are_refused_or_taken_and_never_more() {
    let mut random = Random::from_env();
    let geth = op_geth();
    let case = random_case(&mut random, true);
    let (mut taken, mut refused) = (0, 0);
    for case in [&geth, &case] {
        let (executes, oracle) = (begin(case), begin(case));
        let block = read_block(&case.blocks[0]);
        let list = super::case::pieces(&oracle, &*case.load, &block, &[1, block.body.transactions.len()]);
        let pieces: Vec<Piece> =
            list.iter().map(|flashblock| extend(&executes, &*case.load, flashblock).unwrap()).collect();
        for (at, piece) in pieces.iter().enumerate() {
            let right = piece.outcome.encode();
            let told = |outcome: &[u8]| {
                let chain = begin(case);
                for before in &pieces[..at] {
                    tell(&chain, "p", before).unwrap();
                }
                let before = newest(&chain);
                let done = tell_bytes(&chain, "p", piece, outcome);
                if done.is_err() {
                    assert_eq!(newest(&chain), before, "nothing has changed");
                }
                done
            };
            told(&right).unwrap();
            for end in [0, 1, 8, 72, 88, 92, right.len() / 2, right.len() - 1] {
                assert!(told(&right[..end]).is_err(), "it ends after {end} bytes");
            }
            for _ in 0..1_500 {
                let mut bytes = right.clone();
                for _ in 0..1 + random.below(3) {
                    let place = random.below(bytes.len() as u64) as usize;
                    match random.below(4) {
                        0 => bytes[place] ^= 1 << random.below(8),
                        1 => bytes[place] = [0, 0x7f, 0x80, 0xc0, 0xff][random.below(5) as usize],
                        2 => bytes.truncate(place.max(1)),
                        _ => {
                            let part = random.bytes(4);
                            bytes.splice(place..place, part);
                        }
                    }
                }
                match told(&bytes) {
                    Ok(_) => taken += 1,
                    Err(Error::Malformed(_) | Error::InvalidBlock(_)) => refused += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
    }
    println!("{taken} taken, {refused} refused");
    assert!(refused > 3_000, "{taken} taken, {refused} refused");
}

//! Flashblocks: blocks cut at random points must give, piece by piece, what executing the block so far from its start
//! gives; and the sealed block, taken over without executing it, what executing it gives. Blocks are real ones of OP
//! Sepolia and op-geth, and random ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{
    Block, BlockBody, EMPTY_OMMER_ROOT_HASH, Header, Sealable, SignableTransaction, Transaction, TxEip1559, proofs,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U64, U256, address, hex, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::EMPTY_ROOT_HASH;
use chain_query_evm::{
    CallRequest, CallResult, Chain, ChainOptions, ChainSpec, Diff, Difference, Error, Execution, Flashblock,
    HotLimits, Key, Lane, Missing, Outcome, PRECONFIRMED_DEPTH, Piece, Preconfirmation, Promotion, Read, View,
    block_from_json, call, genesis_block, read_header,
};
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;
use support::{CONTRACT, Fixture, Fork, Full, GAS, Random, Witness, genesis, options, with_options};

type Load<'a> = dyn Fn(&Key) -> Option<Vec<u8>> + 'a;
type OpBlock = Block<OpTxEnvelope>;

/// Consecutive sealed blocks, and the state below the first of them.
struct Case<'a> {
    name: String,
    spec: ChainSpec,
    parent: Header,
    blocks: Vec<Vec<u8>>,
    load: Box<Load<'a>>,
}

fn hold(load: &Load<'_>, missing: &mut Missing) -> Vec<Vec<u8>> {
    // Speculation also asks for keys that a block never touches; a witness does not have those.
    let loaded: Vec<(Key, Vec<u8>)> = missing.keys.iter().filter_map(|key| Some((*key, load(key)?))).collect();
    missing.keys = loaded.iter().map(|(key, _)| *key).collect();
    loaded.into_iter().map(|(_, value)| value).collect()
}

fn provide(view: &View, load: &Load<'_>, mut missing: Missing) -> usize {
    let values = hold(load, &mut missing);
    view.provide(&missing, &values.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    values.len()
}

fn open(spec: &ChainSpec, options: ChainOptions, parent: &Header) -> Arc<Chain> {
    let chain = Chain::new(spec.clone(), options).unwrap();
    chain.open(&alloy_rlp::encode(parent)).unwrap();
    Arc::new(chain)
}

fn complete(
    chain: &Arc<Chain>,
    load: &Load<'_>,
    mut run: impl FnMut() -> Result<Execution, Error>,
) -> Result<Outcome, Error> {
    for _ in 0..64 {
        match run()? {
            Execution::Done(outcome) => return Ok(*outcome),
            Execution::Missing(missing) => provide(&chain.head_view()?, load, missing),
        };
    }
    panic!("still missing keys after 64 rounds");
}

/// Hands a flashblock in until nothing is missing; the piece, and how many keys each round lacked.
fn extend_counted(
    chain: &Arc<Chain>,
    load: &Load<'_>,
    flashblock: &Flashblock,
) -> Result<(Piece, Vec<usize>), Error> {
    let mut lacked = Vec::new();
    for _ in 0..64 {
        match chain.extend_preconfirmed(flashblock)? {
            Preconfirmation::Done(piece) => return Ok((*piece, lacked)),
            Preconfirmation::Missing(missing) => lacked.push(provide(&chain.head_view()?, load, missing)),
        }
    }
    panic!("still missing keys after 64 rounds");
}

fn extend(chain: &Arc<Chain>, load: &Load<'_>, flashblock: &Flashblock) -> Result<Piece, Error> {
    extend_counted(chain, load, flashblock).map(|(piece, _)| piece)
}

fn seal(chain: &Arc<Chain>, load: &Load<'_>, block: &OpBlock) -> Outcome {
    let rlp = alloy_rlp::encode(block);
    complete(chain, load, || chain.seal(&rlp)).unwrap()
}

/// The first transactions of a block.
fn cut(block: &OpBlock, count: usize) -> OpBlock {
    let mut block = block.clone();
    block.body.transactions.truncate(count);
    block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    block
}

/// The message that says: these are the transactions after the first `before`, and the block so far is `so_far`.
fn message(block: &OpBlock, so_far: &Header, payload: &str, index: u64, before: usize, count: usize) -> Value {
    let raw: Vec<Bytes> =
        block.body.transactions[before..count].iter().map(|tx| tx.encoded_2718().into()).collect();
    let quantity = |value: u64| json!(U64::from(value));
    let header = &block.header;
    let mut message = json!({
        "payload_id": payload, "index": index, "metadata": { "block_number": header.number },
        "diff": {
            "state_root": so_far.state_root, "receipts_root": so_far.receipts_root,
            "logs_bloom": so_far.logs_bloom, "gas_used": quantity(so_far.gas_used),
            "block_hash": so_far.hash_slow(), "transactions": raw, "withdrawals": [],
            "withdrawals_root": so_far.withdrawals_root.unwrap_or(EMPTY_ROOT_HASH),
            "blob_gas_used": quantity(so_far.blob_gas_used.unwrap_or_default()),
        },
    });
    if index == 0 {
        message["base"] = json!({
            "parent_beacon_block_root": header.parent_beacon_block_root.unwrap_or_default(),
            "parent_hash": header.parent_hash, "fee_recipient": header.beneficiary,
            "prev_randao": header.mix_hash, "block_number": quantity(header.number),
            "gas_limit": quantity(header.gas_limit), "timestamp": quantity(header.timestamp),
            "extra_data": header.extra_data, "base_fee_per_gas": quantity(header.base_fee_per_gas.unwrap()),
        });
    }
    message
}

fn parse(message: &Value) -> Flashblock {
    Flashblock::parse(&message.to_string()).unwrap()
}

fn read_block(rlp: &[u8]) -> OpBlock {
    OpBlock::decode(&mut &*rlp).unwrap()
}

/// Where a block of `count` transactions is cut: after the first one mostly, as builders do, then anywhere.
fn cuts(random: &mut Random, count: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..1 + random.below(6)).map(|_| random.below(count as u64 + 1) as usize).collect();
    cuts.push(count);
    if !random.once_in(4) {
        cuts.push(1.min(count));
    }
    cuts.sort_unstable();
    cuts
}

fn settle<T>(view: &View, load: &Load<'_>, read: impl Fn() -> Read<T>) -> Option<T> {
    for _ in 0..4 {
        match read() {
            Read::Value(value) => return Some(value),
            Read::Missing(missing) => {
                // What no witness reaches is the same nothing on both sides.
                provide(view, &|key| Some(load(key).unwrap_or_default()), missing);
            }
            Read::Outdated => panic!("a view is outdated"),
        }
    }
    None
}

/// Runs a call; `None` if it needs code that nobody has.
fn answer(view: &Arc<View>, load: &Load<'_>, request: &CallRequest) -> Option<CallResult> {
    for _ in 0..64 {
        match call(view, request, &Lane::Inline(1 << 40)) {
            CallResult::Missing(missing) => {
                let code = |key: &Key| matches!(key, Key::Code(_)) && load(key).is_none();
                if missing.keys.iter().all(code) {
                    return None;
                }
                let any = |key: &Key| if code(key) { None } else { Some(load(key).unwrap_or_default()) };
                provide(view, &any, missing);
            }
            result => return Some(result),
        }
    }
    panic!("a call is never complete");
}

/// What is compared: keys and calls.
#[derive(Default)]
struct Probes {
    accounts: Vec<Address>,
    slots: Vec<(Address, B256)>,
    calls: Vec<CallRequest>,
}

const L1_BLOCK: Address = address!("4200000000000000000000000000000000000015");

impl Probes {
    fn of(case: &Case<'_>, outcomes: &[Outcome]) -> Self {
        let mut probes = Self::default();
        for outcome in outcomes {
            probes.accounts.extend(outcome.diff.accounts.iter().map(|(address, _)| *address));
            probes.slots.extend(outcome.diff.slots.iter().map(|(address, slot, _)| (*address, *slot)));
            for slot in 0..9 {
                probes.slots.push((L1_BLOCK, B256::from(U256::from(slot))));
            }
        }
        for rlp in &case.blocks {
            for tx in read_block(rlp).body.transactions {
                let from = tx.recover_signer().unwrap();
                probes.calls.push(CallRequest {
                    from,
                    to: tx.to(),
                    gas: GAS,
                    data: tx.input().clone(),
                    options: None,
                });
            }
        }
        for selector in [hex!("5cf24969"), hex!("8381f58a"), hex!("b80777ea")] {
            let data = Bytes::copy_from_slice(&selector);
            probes.calls.push(CallRequest { from: CONTRACT, to: Some(L1_BLOCK), gas: GAS, data, options: None });
        }
        probes
    }
}

/// Returns NUMBER, TIMESTAMP, BASEFEE, PREVRANDAO, COINBASE, GASLIMIT, BLOBBASEFEE and the hashes of this block and
/// the eight before it.
fn context() -> CallRequest {
    let mut code = Vec::new();
    let mut words = 0u8;
    let mut put = |value: &[u8]| {
        code.extend_from_slice(value);
        code.extend_from_slice(&[0x61, words >> 3, words << 5, 0x52]);
        words += 1;
    };
    for opcode in [0x43, 0x42, 0x48, 0x44, 0x41, 0x45] {
        put(&[opcode]);
    }
    for back in 0..9 {
        put(&[0x60, back, 0x43, 0x03, 0x40]);
    }
    code.extend_from_slice(&[0x61, words >> 3, words << 5, 0x60, 0, 0xf3]);
    let request = support::request(CONTRACT);
    let max = U256::MAX >> 8;
    with_options(
        request,
        &json!({
            "gasPrice": U256::from(1_000_000_000_000u64),
            "stateOverrides": {
                CONTRACT.to_string(): { "code": hex::encode_prefixed(code) },
                Address::ZERO.to_string(): { "balance": max },
            },
        }),
    )
}

fn compare(ours: &Arc<View>, theirs: &Arc<View>, load: &Load<'_>, probes: &Probes, random: &mut Random) -> usize {
    for address in &probes.accounts {
        let mine = settle(ours, load, || ours.account(*address));
        assert_eq!(mine, settle(theirs, load, || theirs.account(*address)), "account {address}");
    }
    for (address, slot) in &probes.slots {
        let mine = settle(ours, load, || ours.slot(*address, *slot));
        assert_eq!(mine, settle(theirs, load, || theirs.slot(*address, *slot)), "slot {slot} of {address}");
    }
    let mut compared = 0;
    let context = context();
    let fixed = &probes.calls[probes.calls.len().saturating_sub(3)..];
    let picked: Vec<&CallRequest> =
        (0..4).map(|_| &probes.calls[random.below(probes.calls.len() as u64) as usize]).collect();
    for request in fixed.iter().chain(picked).chain([&context]) {
        let mine = answer(ours, load, request);
        assert_eq!(mine, answer(theirs, load, request), "a call to {:?}", request.to);
        compared += usize::from(mine.is_some());
    }
    assert!(matches!(answer(ours, load, &context), Some(CallResult::Success(_))), "the context can be read");
    compared
}

/// The state after some blocks, each applied from its whole diff.
fn oracle_view(case: &Case<'_>, confirmed: &[Outcome], last: &Outcome) -> Arc<View> {
    let chain = open(&case.spec, options(), &case.parent);
    for outcome in confirmed.iter().chain([last]) {
        chain.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
    }
    Arc::new(View::open(chain, &alloy_rlp::encode(&last.header)).unwrap())
}

/// A piece must be the difference between two executions from the start of the block.
fn compare_piece(piece: &Piece, before: Option<&Outcome>, so_far: &Outcome, block: &OpBlock) {
    let first = before.map_or(0, |outcome| outcome.receipts.len());
    let logs: usize = so_far.receipts[..first].iter().map(|receipt| receipt.logs.len()).sum();
    assert_eq!((piece.first_transaction, piece.first_log), (first, logs));
    let transactions = block.body.transactions[first..so_far.receipts.len()].to_vec();
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    let expected = Outcome {
        hash: so_far.hash,
        header: so_far.header.clone(),
        block: alloy_rlp::encode(Block { header: so_far.header.clone(), body }).into(),
        receipts: so_far.receipts[first..].to_vec(),
        diff: piece.outcome.diff.clone(),
    };
    assert_eq!(piece.outcome.header, expected.header);
    assert_eq!(piece.outcome.encode(), expected.encode());
}

#[derive(Debug, Default)]
struct Seen {
    pieces: usize,
    calls: usize,
    promoted: usize,
    rounds: usize,
    wiped: usize,
    /// Pieces with a change that the whole block does not have: it was changed back.
    changed_back: usize,
}

/// Feeds all blocks of a case in pieces and takes each over when its time has come, at random.
fn run_case(case: &Case<'_>, random: &mut Random, seen: &mut Seen) {
    let load = &*case.load;
    let theirs = open(&case.spec, options(), &case.parent);
    let ours = open(&case.spec, options(), &case.parent);
    ours.set_preconfirmed_depth(case.blocks.len());
    let outcomes: Vec<Outcome> = {
        let chain = open(&case.spec, options(), &case.parent);
        case.blocks.iter().map(|rlp| complete(&chain, load, || chain.execute(rlp)).unwrap()).collect()
    };
    let probes = Probes::of(case, &outcomes);
    let mut old: Vec<(Arc<View>, Arc<View>)> = Vec::new();
    let mut promoted = 0;
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let mut before: Option<Outcome> = None;
        for (index, count) in cuts(random, block.body.transactions.len()).into_iter().enumerate() {
            if promoted < at && random.once_in(4) {
                promote(case, &ours, &outcomes, &mut promoted);
            }
            let so_far = seal(&theirs, load, &cut(&block, count));
            let first = before.as_ref().map_or(0, |outcome| outcome.receipts.len());
            let flashblock =
                parse(&message(&block, &so_far.header, &format!("p{at}"), index as u64, first, count));
            let (piece, lacked) = extend_counted(&ours, load, &flashblock).unwrap();
            compare_piece(&piece, before.as_ref(), &so_far, &block);
            seen.rounds = seen.rounds.max(lacked.len());
            seen.pieces += 1;
            let whole = &outcomes[at].diff.slots;
            let in_block = |(address, slot, _): &(Address, B256, U256)| {
                whole.iter().any(|(other, at, _)| (other, at) == (address, slot))
            };
            seen.changed_back += usize::from(!piece.outcome.diff.slots.iter().all(in_block));
            seen.wiped += piece.outcome.diff.wiped.len();
            let view = Arc::new(View::open_preconfirmed(Arc::clone(&ours)).unwrap());
            assert_eq!((view.number(), view.hash()), (block.header.number, so_far.hash), "{}", case.name);
            assert_eq!(view.flashblock_index(), Some(index as u64));
            assert_eq!(view.header(), &so_far.header);
            let oracle = oracle_view(case, &outcomes[..at], &so_far);
            seen.calls += compare(&view, &oracle, load, &probes, random);
            old.push((view, oracle));
            let (view, oracle) = &old[random.below(old.len() as u64) as usize];
            compare(view, oracle, load, &probes, random);
            before = Some(so_far);
        }
        let last = before.unwrap();
        assert_eq!((last.hash, &last.header), (outcomes[at].hash, &outcomes[at].header), "the last is the block");
        complete(&theirs, load, || theirs.execute(rlp)).unwrap();
    }
    while promoted < case.blocks.len() {
        promote(case, &ours, &outcomes, &mut promoted);
    }
    seen.promoted += promoted;
    assert!(View::open_preconfirmed(Arc::clone(&ours)).is_none(), "all is confirmed");
    for (view, oracle) in &old {
        compare(view, oracle, load, &probes, random);
    }
    let head = Arc::new(ours.head_view().unwrap());
    assert_eq!(head.hash(), outcomes.last().unwrap().hash);
    compare(&head, &Arc::new(theirs.head_view().unwrap()), load, &probes, random);
    // The same versions below it, too.
    for outcome in outcomes.iter().rev() {
        let number = outcome.header.number;
        let at = |chain: &Arc<Chain>| {
            Arc::new(View::open(Arc::clone(chain), &alloy_rlp::encode(&outcome.header)).unwrap())
        };
        compare(&at(&ours), &at(&theirs), load, &probes, random);
        ours.revert_to(number - 1).unwrap();
        theirs.revert_to(number - 1).unwrap();
    }
}

fn promote(case: &Case<'_>, chain: &Arc<Chain>, outcomes: &[Outcome], promoted: &mut usize) {
    let Promotion::Promoted(outcome) = chain.promote(&case.blocks[*promoted]).unwrap() else {
        panic!("{}: the block is as it was pre-confirmed", case.name);
    };
    assert_eq!(outcome.diff, outcomes[*promoted].diff, "{}", case.name);
    assert_eq!(outcome.encode(), outcomes[*promoted].encode(), "{}", case.name);
    *promoted += 1;
}

fn numbered(number: &u64) -> Vec<u8> {
    keccak256(number.to_be_bytes()).to_vec()
}

/// Real blocks, those that follow each other together.
fn op_sepolia(fixtures: &[Fixture]) -> Vec<Case<'_>> {
    let mut groups: Vec<Vec<&Fixture>> = Vec::new();
    for fixture in fixtures {
        match groups.last_mut() {
            Some(group) if group.last().unwrap().expected_block_hash == fixture.parent_header.hash_slow() => {
                group.push(fixture);
            }
            _ => groups.push(vec![fixture]),
        }
    }
    assert_eq!(groups[0].len(), 4, "the first four follow each other");
    groups.into_iter().map(sepolia_case).collect()
}

fn sepolia_case<'a>(group: Vec<&'a Fixture>) -> Case<'a> {
    let (spec, parent) = (group[0].spec(), group[0].parent_header.clone());
    let mut blocks = Vec::new();
    for fixture in &group {
        let witness = Witness::new(fixture);
        let chain = open(&spec, options(), &fixture.parent_header);
        let mut block = read_block(&fixture.block());
        let outcome = seal(&chain, &|key| witness.load(key), &block);
        block.header = Header { state_root: witness.root_after(&outcome.diff), ..outcome.header };
        assert_eq!(block.header.hash_slow(), fixture.expected_block_hash);
        blocks.push(alloy_rlp::encode(block));
    }
    // What the first witness does not reach was not changed by its block: it is the same one later.
    let witnesses: Vec<Witness<'a>> = group.iter().map(|fixture| Witness::new(fixture)).collect();
    let find = move |key: &Key| match key {
        Key::BlockHash(number) => Some(numbered(number)),
        key => witnesses.iter().find_map(|witness| witness.load(key)),
    };
    let known: RefCell<HashMap<Key, Option<Vec<u8>>>> = RefCell::default();
    let load = move |key: &Key| known.borrow_mut().entry(*key).or_insert_with(|| find(key)).clone();
    Case { name: format!("OP Sepolia {}", parent.number + 1), spec, parent, blocks, load: Box::new(load) }
}

/// Blocks that op-geth made under Jovian.
fn op_geth() -> Case<'static> {
    let recorded: Value = support::recorded("op");
    let spec = ChainSpec::parse(&recorded["config"].to_string()).unwrap();
    let mut blocks: Vec<Vec<u8>> = recorded["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block_from_json(&spec, &block["block"].to_string()).unwrap())
        .collect();
    let parent = read_header(&blocks.remove(0)).unwrap();
    let mut diff = Diff::default();
    for (address, alloc) in recorded["alloc"].as_object().unwrap() {
        let address: Address = address.parse().unwrap();
        let code: Bytes =
            alloc.get("code").map(|code| serde_json::from_value(code.clone()).unwrap()).unwrap_or_default();
        let account = chain_query_evm::Account {
            nonce: serde_json::from_value::<U64>(alloc["nonce"].clone()).unwrap().to(),
            balance: serde_json::from_value(alloc["balance"].clone()).unwrap(),
            code_hash: keccak256(&code),
        };
        diff.accounts.push((address, Some(account)));
        diff.codes.push((keccak256(&code), code));
        for (slot, value) in alloc.get("storage").and_then(Value::as_object).into_iter().flatten() {
            let value: B256 = serde_json::from_value(value.clone()).unwrap();
            diff.slots.push((address, slot.parse().unwrap(), value.into()));
        }
    }
    full_case("op-geth", spec, parent, blocks, &diff)
}

fn full_case(name: &str, spec: ChainSpec, parent: Header, blocks: Vec<Vec<u8>>, state: &Diff) -> Case<'static> {
    let mut full = Full::default();
    full.apply(parent.hash_slow(), state);
    let load = move |key: &Key| match key {
        Key::BlockHash(number) => Some(numbered(number)),
        Key::Code(hash) => full.codes.get(hash).map(|code| code.to_vec()),
        key => full.load(&Missing { as_of: 0, generation: 0, keys: vec![*key] }).pop(),
    };
    Case { name: name.into(), spec, parent, blocks, load: Box::new(load) }
}

#[test]
fn real_blocks_in_pieces_are_what_they_are_whole() {
    let mut random = Random::from_env();
    let fixtures = Fixture::all();
    let mut seen = Seen::default();
    for case in op_sepolia(&fixtures).iter().chain([&op_geth()]) {
        run_case(case, &mut random, &mut seen);
    }
    println!("{seen:?}");
    assert_eq!(seen.promoted, 8 + 2);
    assert!(seen.pieces > 20 && seen.calls > 5 * seen.pieces, "{seen:?}");
}

// --- Random blocks -------------------------------------------------------------------------------------------------

/// Destroys itself without input; else writes the second word to the slot in the first.
const STORE: [u8; 15] = hex!("3660065733ff5b6020356000355500");
/// Creates (CREATE2) what its input says, always at the same address for the same input.
const FACTORY: [u8; 14] = hex!("36600060003760003660006000f5");

/// Counts its calls in slot 0. It stands where every block calls it once.
const COUNTER: [u8; 8] = hex!("5f546001015f5500");

fn factory() -> Address {
    Address::with_last_byte(0xfa)
}

fn store_init() -> Vec<u8> {
    [[0x6e].as_slice(), &STORE, &hex!("600052600f6011f3")].concat()
}

fn deposit(from: Address, to: TxKind, mint: u128, value: u64, input: Vec<u8>) -> OpTxEnvelope {
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
fn random_transaction(random: &mut Random) -> OpTxEnvelope {
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
fn random_genesis(cancun: bool) -> String {
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

fn header_on(parent: &Header, cancun: bool) -> Header {
    Header {
        parent_hash: parent.hash_slow(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: Address::with_last_byte(0xbe),
        number: parent.number + 1,
        timestamp: parent.timestamp + 2,
        gas_limit: parent.gas_limit,
        mix_hash: keccak256(parent.number.to_be_bytes()),
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
fn build(text: &str, cancun: bool, bodies: Vec<Vec<OpTxEnvelope>>) -> Case<'static> {
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

fn random_case(random: &mut Random, cancun: bool) -> Case<'static> {
    let bodies = (0..1 + random.below(4))
        .map(|_| (0..1 + random.below(14)).map(|_| random_transaction(random)).collect())
        .collect();
    build(&random_genesis(cancun), cancun, bodies)
}

#[test]
fn random_blocks_in_pieces_are_what_they_are_whole() {
    let mut random = Random::from_env();
    let mut seen = Seen::default();
    for round in 0..60 {
        let case = random_case(&mut random, round % 2 == 0);
        run_case(&case, &mut random, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.wiped > 20 && seen.changed_back > 20, "{seen:?}");
}

// --- What is refused, differs or is dropped ------------------------------------------------------------------------

/// Two blocks of three transactions, and the messages of each: after one, two and three of them.
fn two_blocks() -> (Case<'static>, Vec<Vec<Value>>) {
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

fn begin(case: &Case<'_>) -> Arc<Chain> {
    open(&case.spec, options(), &case.parent)
}

fn newest(chain: &Arc<Chain>) -> Option<(u64, u64)> {
    let view = View::open_preconfirmed(Arc::clone(chain))?;
    Some((view.number(), view.flashblock_index().unwrap()))
}

fn slot(chain: &Arc<Chain>, load: &Load<'_>, slot: u8) -> u64 {
    let view = View::open_preconfirmed(Arc::clone(chain)).unwrap();
    settle(&view, load, || view.slot(CONTRACT, B256::with_last_byte(slot))).unwrap().to()
}

fn feed(chain: &Arc<Chain>, case: &Case<'_>, messages: &[Value]) {
    for message in messages {
        extend(chain, &*case.load, &parse(message)).unwrap();
    }
}

#[test]
fn a_flashblock_that_does_not_fit_changes_nothing() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    let load = &*case.load;
    let refused = |message: &Value, word: &str| {
        let before = newest(&chain);
        let error = extend(&chain, load, &parse(message)).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error, Error::InvalidBlock(_)), "{error:?}");
        assert_eq!(newest(&chain), before);
    };
    let damaged = |message: &Value, path: &str, value: Value| {
        let mut message = message.clone();
        *message.pointer_mut(path).unwrap() = value;
        message
    };
    let (first, second) = (&messages[0], &messages[1]);
    refused(&first[1], "not there");
    refused(&damaged(&first[0], "/base/parent_hash", json!(B256::ZERO)), "does not follow");
    for index in 0..3 {
        let right = &first[index];
        refused(&damaged(right, "/diff/gas_used", json!("0x1")), "gas used");
        refused(&damaged(right, "/diff/receipts_root", json!(B256::ZERO)), "receipts root");
        let bloom = alloy_primitives::Bloom::repeat_byte(1);
        refused(&damaged(right, "/diff/logs_bloom", json!(bloom)), "logs bloom");
        if index > 0 {
            refused(&damaged(right, "/payload_id", json!("other")), "does not follow");
            refused(&damaged(right, "/index", json!(index + 1)), "does not follow");
            refused(&first[index - 1].clone().tap(index), "does not follow");
        }
        // Transactions that cannot run.
        let mut poor = right.clone();
        let tx = TxEip1559 { chain_id: 7, gas_limit: 21_000, max_fee_per_gas: 10, ..Default::default() };
        let (tx, _) = sign(&mut Random::from_seed(1), &tx);
        poor["diff"]["transactions"] = json!([Bytes::from(tx.encoded_2718())]);
        refused(&poor, "cannot be executed");
        extend(&chain, load, &parse(right)).unwrap();
        assert_eq!(newest(&chain), Some((1, index as u64)));
        let values: Vec<u64> = (1..4).map(|at| slot(&chain, load, at)).collect();
        let expected = [vec![11, 0, 0], vec![11, 11, 0], vec![11, 11, 11]];
        assert_eq!(values, expected[index]);
    }
    refused(&damaged(&second[0], "/base/parent_hash", json!(B256::ZERO)), "does not follow");
    refused(&damaged(&second[0], "/base/timestamp", json!("0x1")), "timestamp");
    feed(&chain, &case, second);
    assert_eq!(newest(&chain), Some((2, 2)));
    for text in ["{}", "[]", r#"{"payload_id":"","index":0}"#] {
        assert!(matches!(Flashblock::parse(text), Err(Error::Malformed(_))));
    }
    let mut broken = second[0].clone();
    broken["diff"]["transactions"] = json!(["0x7e"]);
    assert!(matches!(extend(&chain, load, &parse(&broken)), Err(Error::Malformed(_))));
    assert_eq!(newest(&chain), Some((2, 2)));
}

trait Tap {
    fn tap(self, index: usize) -> Self;
}

impl Tap for Value {
    /// A duplicate: an index that was there. The first of a block would begin it anew, so it has no base here.
    fn tap(mut self, index: usize) -> Self {
        self["index"] = json!(if index == 1 { 3 } else { index - 1 });
        self.as_object_mut().unwrap().remove("base");
        self
    }
}

#[test]
fn a_block_that_is_begun_anew_replaces_the_old_one() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    feed(&chain, &case, &messages[0]);
    feed(&chain, &case, &messages[1][..2]);
    assert_eq!(newest(&chain), Some((2, 1)));
    // Refused, so all stays.
    let mut wrong = messages[0][0].clone();
    wrong["diff"]["gas_used"] = json!("0x1");
    extend(&chain, &*case.load, &parse(&wrong)).unwrap_err();
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((2, 1)), 21));
    feed(&chain, &case, &messages[1][..1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((2, 0)), 11));
    feed(&chain, &case, &messages[0][..1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((1, 0)), 0));
    assert_eq!(chain.preconfirmed_sizes().0, 1);
    feed(&chain, &case, &messages[0][1..]);
    feed(&chain, &case, &messages[1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 3)), (Some((2, 2)), 21));
}

#[test]
fn a_sealed_block_that_differs_says_from_where() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    assert!(matches!(chain.promote(&case.blocks[0]), Ok(Promotion::Unknown)));
    feed(&chain, &case, &messages[0]);
    assert!(matches!(chain.promote(&case.blocks[1]), Ok(Promotion::Unknown)));
    let differs = |change: &dyn Fn(&mut OpBlock)| {
        let mut block = read_block(&case.blocks[0]);
        change(&mut block);
        block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
        match chain.promote(&alloy_rlp::encode(block)).unwrap() {
            Promotion::Differs(difference) => difference,
            other => panic!("{other:?}"),
        }
    };
    let swap = |block: &mut OpBlock| block.body.transactions.swap(1, 2);
    assert_eq!(differs(&swap), Difference::Transaction(1));
    assert_eq!(differs(&|block| block.body.transactions.truncate(2)), Difference::Transaction(2));
    let more = |block: &mut OpBlock| block.body.transactions.push(block.body.transactions[0].clone());
    assert_eq!(differs(&more), Difference::Transaction(3));
    assert_eq!(differs(&|block| block.header.timestamp += 1), Difference::Context("timestamp"));
    assert_eq!(differs(&|block| block.header.mix_hash = B256::ZERO), Difference::Context("prev randao"));
    let root = |block: &mut OpBlock| block.header.receipts_root = B256::ZERO;
    assert_eq!(differs(&root), Difference::Results("receipts root"));
    assert_eq!(newest(&chain), Some((1, 2)), "asking changes nothing");
    // A block that is not what its header says is refused.
    let mut block = read_block(&case.blocks[0]);
    block.header.transactions_root = B256::ZERO;
    assert!(matches!(chain.promote(&alloy_rlp::encode(block)), Err(Error::InvalidBlock(_))));
    // The other block is executed, and what was pre-confirmed is dropped; a view of it goes on.
    feed(&chain, &case, &messages[1]);
    let view = Arc::new(View::open_preconfirmed(Arc::clone(&chain)).unwrap());
    let mut other = cut(&read_block(&case.blocks[0]), 2);
    other.header = seal(&chain, &*case.load, &other).header;
    complete(&chain, &*case.load, || chain.execute(&alloy_rlp::encode(&other))).unwrap();
    assert_eq!(newest(&chain), None);
    let value = settle(&view, &*case.load, || view.slot(CONTRACT, B256::with_last_byte(3)));
    assert_eq!(value, Some(U256::from(21)));
    assert!(matches!(chain.promote(&case.blocks[0]), Ok(Promotion::Unknown)));
}

#[test]
fn what_does_not_fit_the_head_is_dropped() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let both = || {
        let chain = begin(&case);
        feed(&chain, &case, &messages[0]);
        feed(&chain, &case, &messages[1]);
        chain
    };
    // By number.
    let chain = both();
    chain.drop_preconfirmed(3);
    assert_eq!(newest(&chain), Some((2, 2)));
    chain.drop_preconfirmed(2);
    assert_eq!((newest(&chain), slot(&chain, load, 1)), (Some((1, 2)), 11));
    feed(&chain, &case, &messages[1][..1]);
    assert_eq!((newest(&chain), slot(&chain, load, 1)), (Some((2, 0)), 21));
    chain.drop_preconfirmed(0);
    assert_eq!((newest(&chain), chain.preconfirmed_sizes()), (None, (0, 0, 0)));
    // The confirmed block is the one that was pre-confirmed, however it came: those above it stay.
    let executed = {
        let chain = begin(&case);
        complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap()
    };
    let header = alloy_rlp::encode(&executed.header);
    let chain = both();
    complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap();
    assert_eq!((newest(&chain), slot(&chain, load, 3)), (Some((2, 2)), 21));
    let chain = both();
    chain.apply(&header, &executed.diff.encode()).unwrap();
    assert_eq!((newest(&chain), slot(&chain, load, 3)), (Some((2, 2)), 21));
    assert!(matches!(chain.promote(&case.blocks[1]), Ok(Promotion::Promoted(_))));
    // One with other changes is another one.
    let chain = both();
    let mut diff = executed.diff.clone();
    diff.slots.pop();
    chain.apply(&header, &diff.encode()).unwrap();
    assert_eq!(newest(&chain), None);
    // One with another hash is promoted, but nothing stands on it.
    let chain = both();
    let mut other = read_block(&case.blocks[0]);
    other.header.state_root = B256::repeat_byte(1);
    let view = View::open_preconfirmed(Arc::clone(&chain)).unwrap();
    assert!(matches!(chain.promote(&alloy_rlp::encode(&other)), Ok(Promotion::Promoted(_))));
    assert_eq!((newest(&chain), chain.head_view().unwrap().hash()), (None, other.header.hash_slow()));
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(3)), Read::Value(U256::from(21)));
    // The head is taken back or replaced.
    let chain = both();
    assert!(matches!(chain.promote(&case.blocks[0]), Ok(Promotion::Promoted(_))));
    assert_eq!(newest(&chain), Some((2, 2)));
    chain.revert_to(1).unwrap();
    assert_eq!(newest(&chain), Some((2, 2)), "the head is the same");
    let view = View::open_preconfirmed(Arc::clone(&chain)).unwrap();
    chain.revert_to(0).unwrap();
    assert_eq!(newest(&chain), None);
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(3)), Read::Outdated);
    let chain = both();
    let view = View::open_preconfirmed(Arc::clone(&chain)).unwrap();
    chain.open(&header).unwrap();
    assert_eq!(newest(&chain), None);
    assert_eq!(view.account(CONTRACT), Read::Outdated);
}

#[test]
fn a_view_is_outdated_when_hot_state_leaves_its_base() {
    let (case, messages) = two_blocks();
    let small = ChainOptions { hot: HotLimits { window: 2, ..options().hot }, ..options() };
    let chain = open(&case.spec, small, &case.parent);
    feed(&chain, &case, &messages[0]);
    feed(&chain, &case, &messages[1]);
    let view = Arc::new(View::open_preconfirmed(Arc::clone(&chain)).unwrap());
    assert!(matches!(chain.promote(&case.blocks[0]), Ok(Promotion::Promoted(_))));
    assert!(matches!(view.slot(CONTRACT, B256::with_last_byte(1)), Read::Value(_)));
    assert!(matches!(chain.promote(&case.blocks[1]), Ok(Promotion::Promoted(_))));
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(1)), Read::Outdated);
    assert_eq!(call(&view, &support::request(CONTRACT), &Lane::Inline(1_000)), CallResult::Outdated);
}

#[test]
fn no_more_blocks_are_kept_than_allowed() {
    let bodies = (0..PRECONFIRMED_DEPTH as u64 + 1)
        .map(|at| vec![deposit(Address::with_last_byte(0xa0), TxKind::Call(Address::ZERO), 1, at & 1, Vec::new())])
        .collect();
    let case = build(&random_genesis(true), true, bodies);
    let chain = begin(&case);
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let flashblock = parse(&message(&block, &block.header, "p", 0, 0, 1));
        let result = extend(&chain, &*case.load, &flashblock);
        if at < PRECONFIRMED_DEPTH {
            result.unwrap();
            continue;
        }
        assert!(matches!(result, Err(Error::Unavailable(_))));
        assert!(matches!(chain.promote(&case.blocks[0]), Ok(Promotion::Promoted(_))));
        extend(&chain, &*case.load, &flashblock).unwrap();
    }
    assert_eq!(chain.preconfirmed_sizes().0, PRECONFIRMED_DEPTH);
}

#[test]
fn ethereum_has_no_flashblocks() {
    let (_, messages) = two_blocks();
    let chain = support::small(Fork::Prague, &json!({})).chain;
    assert!(matches!(chain.extend_preconfirmed(&parse(&messages[0][0])), Err(Error::Unsupported(_))));
    assert!(View::open_preconfirmed(chain).is_none());
}

/// Hot state that holds one entry a shard: a piece gets all it needs round by round, each key once.
#[test]
fn pieces_are_complete_although_their_keys_evict_each_other() {
    let fixtures = Fixture::all();
    let cramped = ChainOptions { hot: HotLimits { window: 4, entries: 1, code_bytes: 1 }, ..options() };
    for case in op_sepolia(&fixtures) {
        let oracle = open(&case.spec, options(), &case.parent);
        let chain = open(&case.spec, cramped, &case.parent);
        let block = read_block(&case.blocks[0]);
        let count = block.body.transactions.len();
        let (mut rounds, mut before) = (Vec::new(), 0);
        for (index, count) in [1, count / 2, count].into_iter().enumerate() {
            let so_far = seal(&oracle, &*case.load, &cut(&block, count));
            let flashblock = parse(&message(&block, &so_far.header, "p", index as u64, before, count));
            let (piece, lacked) = extend_counted(&chain, &*case.load, &flashblock).unwrap();
            assert_eq!(piece.outcome.header, so_far.header);
            rounds.push(lacked);
            before = count;
        }
        println!("{}: keys a round {rounds:?}", case.name);
        let Promotion::Promoted(_) = chain.promote(&case.blocks[0]).unwrap() else { panic!("it is the same") };
    }
}

// --- What it costs -------------------------------------------------------------------------------------------------

fn sign(random: &mut Random, tx: &TxEip1559) -> (OpTxEnvelope, Address) {
    loop {
        let (r, mut s) = (U256::from_be_bytes(random.array::<32>()), U256::from_be_bytes(random.array::<32>()));
        s >>= 1;
        let signed = OpTxEnvelope::Eip1559(tx.clone().into_signed(Signature::new(r, s, random.once_in(2))));
        if let Ok(sender) = signed.recover_signer() {
            return (signed, sender);
        }
    }
}

/// Writes slots 1 to the number in its input.
const WRITES: [u8; 16] = hex!("6000355b808055600190038060035700");

/// A pre-confirmed block that changed this many slots.
fn with_slots(count: u64) -> (Case<'static>, Arc<Chain>) {
    let writer = address!("00000000000000000000000000000000000ba5ed");
    let alloc = json!({
        CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(STORE) },
        writer.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(WRITES) },
    });
    let input = B256::from(U256::from(count)).to_vec();
    let mut tx = TxDeposit { to: TxKind::Call(writer), input: input.into(), ..Default::default() };
    tx.gas_limit = 500_000_000;
    let text = genesis(Fork::Isthmus, &alloc).replace("0x5f5e100", "0x3b9aca00");
    let case = build(&text, true, vec![vec![OpTxEnvelope::Deposit(tx.seal_slow())]]);
    let chain = begin(&case);
    let block = read_block(&case.blocks[0]);
    extend(&chain, &*case.load, &parse(&message(&block, &block.header, "p", 0, 0, 1))).unwrap();
    assert_eq!(chain.preconfirmed_sizes().2 as u64, count, "slots written");
    (case, chain)
}

#[test]
fn a_call_costs_the_same_on_a_large_overlay() {
    let chains = [with_slots(10), with_slots(10_000)];
    let input = [B256::with_last_byte(5), B256::with_last_byte(9)].concat();
    let request = CallRequest { data: input.into(), ..support::request(CONTRACT) };
    let views = chains.each_ref().map(|(case, chain)| {
        let view = Arc::new(View::open_preconfirmed(Arc::clone(chain)).unwrap());
        assert!(matches!(answer(&view, &*case.load, &request), Some(CallResult::Success(_))));
        view
    });
    let mut best = [f64::MAX; 2];
    for _ in 0..40 {
        for (view, best) in views.iter().zip(&mut best) {
            let start = Instant::now();
            for _ in 0..500 {
                call(view, &request, &Lane::Inline(1_000));
            }
            *best = best.min(start.elapsed().as_secs_f64() / 500.0);
        }
    }
    let ratio = best[1] / best[0];
    println!("a call with 10 slots {:.2} us, with 10,000 {:.2} us: {ratio:.2}", best[0] * 1e6, best[1] * 1e6);
    assert!(ratio < 1.5, "a call costs {ratio} times as much");
}

#[test]
fn extending_costs_what_is_new() {
    for (before, new) in [(0, 20), (0, 200), (200, 20), (400, 20)] {
        let mut random = Random::from_seed(7);
        let mut senders = Vec::new();
        let transfers: Vec<OpTxEnvelope> = (0..before + new)
            .map(|_| {
                let tx = TxEip1559 {
                    chain_id: 7,
                    gas_limit: 21_000,
                    max_fee_per_gas: 10,
                    max_priority_fee_per_gas: 1,
                    to: TxKind::Call(Address::from(random.array::<20>())),
                    value: U256::ONE,
                    ..Default::default()
                };
                let (tx, sender) = sign(&mut random, &tx);
                senders.push(sender);
                tx
            })
            .collect();
        let alloc: Value = senders
            .iter()
            .map(|sender| (sender.to_string(), json!({ "balance": "0xde0b6b3a7640000" })))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let first = deposit(Address::ZERO, TxKind::Call(Address::ZERO), 1, 0, Vec::new());
        let body: Vec<OpTxEnvelope> = [first].into_iter().chain(transfers).collect();
        let case = build(&genesis(Fork::Isthmus, &alloc), true, vec![body]);
        let block = read_block(&case.blocks[0]);
        let oracle = begin(&case);
        let start = seal(&oracle, &*case.load, &cut(&block, 1 + before));
        let first = parse(&message(&block, &start.header, "p", 0, 0, 1 + before));
        let second = parse(&message(&block, &block.header, "p", 1, 1 + before, 1 + before + new));
        let chain = begin(&case);
        let mut best = f64::MAX;
        for round in 0..6 {
            extend(&chain, &*case.load, &first).unwrap();
            let start = Instant::now();
            extend(&chain, &*case.load, &second).unwrap();
            if round > 0 {
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        println!("{new} transfers on a block of {before}: {:.2} ms", best * 1e3);
    }
}

//! Calls on small chains: results, overrides, limits, lanes, and an EVM that is used again.

use crate::support::{
    CONTRACT, Fork, Random, STEPS, Small, pool_lane, request, run, small, with_code, with_options, word,
};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use chain_query_evm::{CallRequest, CallResult, Chain, Diff, Lane, View, call};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FORKS: [Fork; 5] = [Fork::Byzantium, Fork::London, Fork::Prague, Fork::Osaka, Fork::Isthmus];
const INLINE: Lane = Lane::Inline(STEPS);
const OTHER: Address = address!("00000000000000000000000000000000000c0de1");
const SENDER: Address = address!("000000000000000000000000000000000005e4de");

/// `PUSH1` for zero, as PUSH0 is younger than some forks here: return the word on the stack.
const RETURN_WORD: &str = "60005260206000f3";

fn code(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

fn returns(expression: &str) -> Vec<u8> {
    code(&format!("{expression}{RETURN_WORD}"))
}

fn view_of(codes: &[(Address, &[u8])]) -> Arc<View> {
    let alloc: serde_json::Map<_, _> = codes
        .iter()
        .map(|(address, code)| {
            (address.to_string(), json!({ "balance": "0x5", "nonce": "0x7", "code": hex::encode_prefixed(code),
                "storage": { word(1).to_string(): word(11).to_string(), word(2).to_string(): word(22).to_string() } }))
        })
        .collect();
    small(Fork::Prague, &alloc.into()).view()
}

fn success(value: u64) -> CallResult {
    CallResult::Success(word(value))
}

#[test]
fn results_on_every_fork() {
    for fork in FORKS {
        let ends = [
            ("602a", RETURN_WORD, success(0x2a)),
            ("", "00", CallResult::Success(Bytes::new())),
            ("60016000526020", "6000fd", CallResult::Revert(word(1))),
            ("", "fe", CallResult::Halt("invalid opcode: INVALID".into())),
            ("", "0c", CallResult::Halt("invalid opcode: not defined".into())),
            ("6003", "56", CallResult::Halt("invalid jump destination".into())),
            ("", "50", CallResult::Halt("stack underflow".into())),
            ("", "5b600056", CallResult::Halt("out of gas".into())),
        ];
        for (start, end, result) in ends {
            let view = with_code(fork, &code(&format!("{start}{end}")));
            let request = CallRequest { gas: 100_000, ..request(CONTRACT) };
            assert_eq!(run(&view, &request, &Lane::Inline(u64::MAX)), result, "{start}{end} on {fork:?}");
            assert_eq!(run(&view, &request, &pool_lane(Duration::from_secs(60))), result, "{start}{end} pooled");
        }
    }
}

#[test]
fn what_is_wrong_with_a_creation_is_found_in_geths_order() {
    let too_large = "61c001";
    let places = [
        ("6000", "max initcode size exceeded"),
        ("641fffff3fdf", "max initcode size exceeded"),
        ("641fffff3fe0", "gas uint64 overflow"),
        ("68010000000000000000", "gas uint64 overflow"),
    ];
    for (offset, words) in places {
        for create in ["6000f0", "6000f5"] {
            // The salt of CREATE2 lies below; CREATE does not look at it.
            let view = with_code(Fork::Prague, &code(&format!("6000{too_large}{offset}{create}")));
            let result = run(&view, &CallRequest { gas: 100_000, ..request(CONTRACT) }, &INLINE);
            assert_eq!(result, CallResult::Halt(words.into()), "{create} at {offset}");
        }
    }
}

#[test]
fn a_message_that_cannot_start_says_why() {
    let view = with_code(Fork::Prague, &[]);
    let poor = with_options(request(CONTRACT), &json!({ "value": "0x1" }));
    let CallResult::Invalid(text) = run(&view, &poor, &INLINE) else { panic!("it has no funds") };
    assert!(text.contains("insufficient funds for gas * price + value"), "{text}");
    let short = CallRequest { gas: 20_999, ..request(CONTRACT) };
    let CallResult::Invalid(text) = run(&view, &short, &INLINE) else { panic!("it has too little gas") };
    assert_eq!(text, "err: intrinsic gas too low: have 20999, want 21000 (supplied gas 20999)");
}

#[test]
fn overrides_replace_what_they_name() {
    // Balance, nonce by creating, and two slots, each read by its own contract.
    let balance = returns("3031");
    let slot = |index: u8| returns(&format!("60{index:02x}54"));
    let view = view_of(&[(CONTRACT, &balance), (OTHER, &slot(1))]);
    let run_with = |to: Address, over: serde_json::Value| {
        run(&view, &with_options(request(to), &json!({ "stateOverrides": over })), &INLINE)
    };
    let one = |to: Address, fields: serde_json::Value| run_with(to, json!({ to.to_string(): fields }));
    assert_eq!(run(&view, &request(CONTRACT), &INLINE), success(5));
    assert_eq!(one(CONTRACT, json!({ "balance": "0x63" })), success(0x63));
    assert_eq!(one(OTHER, json!({})), success(11));

    let word = |value| word(value).to_string();
    assert_eq!(one(OTHER, json!({ "stateDiff": { word(1): word(111) } })), success(111));
    assert_eq!(one(OTHER, json!({ "stateDiff": { word(2): word(222) } })), success(11), "others stay");
    assert_eq!(one(OTHER, json!({ "state": { word(2): word(222) } })), success(0), "others are gone");
    assert_eq!(one(OTHER, json!({ "state": { word(1): word(222) } })), success(222));
    assert_eq!(one(OTHER, json!({ "state": {} })), success(0));

    let code = hex::encode_prefixed(slot(2));
    assert_eq!(one(OTHER, json!({ "code": code })), success(22), "storage stays with the account");
    assert_eq!(one(OTHER, json!({ "code": "0x" })), CallResult::Success(Bytes::new()));
    let nobody = address!("00000000000000000000000000000000000aaaaa");
    assert_eq!(one(nobody, json!({ "code": code, "stateDiff": { word(2): word(9) } })), success(9));

    // A creation tells the nonce by the address: CREATE(0, 0, 0).
    let creates = hex::encode_prefixed(returns("600060006000f0"));
    let CallResult::Success(made) = one(OTHER, json!({ "code": creates, "nonce": "0x2a" })) else {
        panic!("created")
    };
    assert_eq!(Address::from_word(B256::from_slice(&made)), OTHER.create(0x2a));
}

#[test]
fn an_overridden_precompile_is_none_any_more() {
    // STATICCALL identity (4) with 32 bytes of memory, return the word it wrote at 32.
    let caller = code("602a600052 60206020 60206000 6004 5a fa 50 602051 600052 60206000f3");
    for fork in [Fork::Prague, Fork::Isthmus] {
        let view = with_code(fork, &caller);
        let plain = request(CONTRACT);
        let over = json!({ "stateOverrides": {
            "0x0000000000000000000000000000000000000004": { "code": hex::encode_prefixed(returns("6007")) } } });
        let hidden = with_options(plain.clone(), &over);
        for _ in 0..2 {
            assert_eq!(run(&view, &plain, &INLINE), success(0x2a));
            assert_eq!(run(&view, &hidden, &INLINE), success(7));
        }
        let empty =
            json!({ "stateOverrides": { "0x0000000000000000000000000000000000000004": { "balance": "0x1" } } });
        assert_eq!(run(&view, &with_options(plain, &empty), &INLINE), success(0), "an account without code");
    }
}

#[test]
fn pretended_code_that_looks_like_a_delegation_is_code() {
    let view = with_code(Fork::Prague, &[]);
    for text in ["0xef01", "0xef0100", "0xef0101aa", &format!("0xef0100{}", "11".repeat(21))] {
        let over = json!({ "stateOverrides": { CONTRACT.to_string(): { "code": text } } });
        let result = run(&view, &with_options(request(CONTRACT), &over), &INLINE);
        assert_eq!(result, CallResult::Halt("invalid opcode: not defined".into()), "{text}");
    }
    let target = format!("0xef0100{}", hex::encode(OTHER));
    let over = json!({ "stateOverrides": {
        CONTRACT.to_string(): { "code": target }, OTHER.to_string(): { "code": hex::encode_prefixed(returns("6007")) } } });
    assert_eq!(run(&view, &with_options(request(CONTRACT), &over), &INLINE), success(7));
}

/// Code that loops `count` times and returns the gas left.
fn loops(count: u32) -> Vec<u8> {
    code(&format!("63{count:08x} 5b 6001 90 03 80 6005 57 5a {RETURN_WORD}"))
}

#[test]
fn lanes_give_the_same_result_down_to_the_gas_left() {
    for fork in FORKS {
        let view = with_code(fork, &loops(30_000));
        assert_eq!(run(&view, &request(CONTRACT), &INLINE), CallResult::Budget);
        let CallResult::Success(gas) = run(&view, &request(CONTRACT), &pool_lane(Duration::from_secs(60))) else {
            panic!("it ends")
        };
        assert_eq!(CallResult::Success(gas), run(&view, &request(CONTRACT), &Lane::Inline(u64::MAX)));
        let short = with_code(fork, &loops(1_000));
        let inline = run(&short, &request(CONTRACT), &INLINE);
        assert!(matches!(inline, CallResult::Success(_)), "a thousand fit: {inline:?}");
        assert_eq!(inline, run(&short, &request(CONTRACT), &pool_lane(Duration::from_secs(60))));
    }
}

#[test]
fn a_precompile_costs_the_same_gas_in_every_lane() {
    // Success, then failure (a curve point that is none), each with all gas; the gas left after each is returned.
    let calls =
        "6000 6000 6040 6000 6002 5a fa 50 5a 6080 52  6001 6000 52 6000 6000 6080 6000 6006 61ffff fa 5a 60a0 52
        60c0 52 60606080f3"
            .replace(char::is_whitespace, "");
    for fork in FORKS {
        let view = with_code(fork, &code(&calls));
        let pooled = run(&view, &request(CONTRACT), &pool_lane(Duration::from_secs(60)));
        assert!(matches!(pooled, CallResult::Success(_)), "{pooled:?}");
        // Budgets from too small to ample: each stops the call or leaves its result as it is.
        let (mut stopped, mut done) = (0, 0);
        for budget in [0, 1, 64, 65, 128, 129, 130, 140, 200, 300, 500, 1_000, 5_000, STEPS] {
            match run(&view, &request(CONTRACT), &Lane::Inline(budget)) {
                CallResult::Budget => stopped += 1,
                result => {
                    done += 1;
                    assert_eq!(result, pooled, "budget {budget} on {fork:?}");
                }
            }
        }
        assert!(stopped > 0 && done > 0, "both happen on {fork:?}: {stopped} {done}");
    }
}

#[test]
fn a_precompile_called_directly_is_limited_too() {
    let rounds = [0x7f, 0xff, 0xff, 0xff];
    let data = [&rounds[..], &[0; 208], &[1]].concat();
    let blake = address!("0000000000000000000000000000000000000009");
    let view = with_code(Fork::Prague, &[]);
    let request = CallRequest { data: data.into(), gas: 3_000_000_000, ..request(blake) };
    let start = Instant::now();
    assert_eq!(run(&view, &request, &INLINE), CallResult::Budget);
    assert!(start.elapsed() < Duration::from_secs(2), "two milliards of rounds take half a minute");
}

#[test]
fn long_code_of_a_caller_does_not_run_inline() {
    let view = with_code(Fork::Prague, &[]);
    let long = hex::encode_prefixed([[0x5f, 0x50].repeat(30_000), returns("6007")].concat());
    let over = json!({ "stateOverrides": { CONTRACT.to_string(): { "code": long } } });
    let request = with_options(request(CONTRACT), &over);
    assert_eq!(run(&view, &request, &INLINE), CallResult::Budget);
    assert_eq!(run(&view, &request, &pool_lane(Duration::from_secs(60))), success(7));

    let create = CallRequest { to: None, data: [0x60, 0, 0x50].repeat(20_000).into(), ..request };
    let create = CallRequest { options: None, ..create };
    let old = with_code(Fork::London, &[]);
    assert_eq!(run(&old, &create, &INLINE), CallResult::Budget);
    assert_eq!(run(&old, &create, &pool_lane(Duration::from_secs(60))), CallResult::Success(Bytes::new()));
}

#[test]
fn endless_code_is_stopped() {
    let forever = code("5b 6000 56");
    // Calls itself twice with all gas, without any JUMPDEST.
    let fan_out = code("6000 6000 6000 6000 30 5a fa 50 6000 6000 6000 6000 30 5a fa 50");
    let creates = code("38 6000 6000 39 38 6000 6000 f0 50 38 6000 6000 f0 50");
    let hashes = code("5b 61ffff 6000 20 50 6000 56");
    for (name, endless) in [("loop", forever), ("fan-out", fan_out), ("creates", creates), ("hashes", hashes)] {
        for fork in [Fork::London, Fork::Osaka, Fork::Isthmus] {
            let view = with_code(fork, &endless);
            let request = CallRequest { gas: 1 << 50, data: endless.clone().into(), ..request(CONTRACT) };
            assert_eq!(run(&view, &request, &INLINE), CallResult::Budget, "{name} on {fork:?}");
            let start = Instant::now();
            let pooled = run(&view, &request, &pool_lane(Duration::from_millis(30)));
            assert_eq!(pooled, CallResult::Timeout, "{name} on {fork:?}");
            assert!(start.elapsed() < Duration::from_secs(5), "{name} took {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_cancelled_call_stops() {
    let view = with_code(Fork::Prague, &code("5b600056"));
    let endless = CallRequest { gas: 1 << 50, ..request(CONTRACT) };
    let _ = run(&view, &endless, &INLINE);
    let cancel = Arc::new(AtomicBool::new(false));
    let lane = Lane::Pool { deadline: Instant::now() + Duration::from_secs(60), cancel: Arc::clone(&cancel) };
    std::thread::scope(|scope| {
        let running = scope.spawn(|| call(&view, &endless, &lane));
        std::thread::yield_now();
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(running.join().unwrap(), CallResult::Cancelled);
    });
    // Cancelled while it waited: it does not begin.
    assert_eq!(call(&view, &endless, &lane), CallResult::Cancelled);
}

#[test]
fn a_run_that_guesses_does_not_use_up_the_time_limit() {
    // Loops for ever while slot 0 is zero; in truth it is one.
    let chain = small(
        Fork::Prague,
        &json!({ CONTRACT.to_string(): {
        "balance": "0x0", "code": hex::encode_prefixed(code("5b 6000 54 15 6000 57 602a 6000 52 6020 6000 f3")),
        "storage": { word(0).to_string(): word(1).to_string() } } }),
    );
    let header = alloy_rlp::encode(&chain.outcome.header);
    chain.chain.open(&header).unwrap();
    let view = Arc::new(chain.chain.view(&header).unwrap());
    let request = CallRequest { gas: 1 << 50, ..request(CONTRACT) };
    let lane = pool_lane(Duration::from_secs(600));
    for _ in 0..8 {
        match call(&view, &request, &lane) {
            CallResult::Missing(missing) => {
                let loaded: Vec<Vec<u8>> = missing.keys.iter().map(|key| load(&chain, key)).collect();
                view.provide(&missing, &loaded.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            }
            result => return assert_eq!(result, success(0x2a)),
        }
    }
    panic!("eight rounds suffice");
}

/// One value of a genesis state.
fn load(chain: &Small, key: &chain_query_evm::Key) -> Vec<u8> {
    use chain_query_evm::Key;
    let diff = &chain.outcome.diff;
    match key {
        Key::Account(address) => diff
            .accounts
            .iter()
            .find_map(|(found, account)| (found == address).then_some(alloy_rlp::encode(account.as_ref()?)).into())
            .flatten()
            .unwrap_or_default(),
        Key::Slot(address, slot) => diff
            .slots
            .iter()
            .find(|(owner, found, _)| owner == address && found == slot)
            .map_or_else(Vec::new, |(_, _, value)| value.to_be_bytes_trimmed_vec()),
        Key::Code(hash) => {
            diff.codes.iter().find(|(found, _)| found == hash).map_or_else(Vec::new, |(_, code)| code.to_vec())
        }
        Key::BlockHash(_) => vec![0; 32],
    }
}

#[test]
fn the_evm_is_right_again_after_anything() {
    // One thread, all forks and ends of calls in random order: each answers as it did alone.
    let mut random = Random::from_env();
    let counter = returns("6000 54 6001 01 80 6000 55");
    let ends =
        [code("5b600056"), code("fe"), code("60016000526020 6000fd"), counter, loops(100), code("3d6000 fd")];
    let mut cases = Vec::new();
    for fork in FORKS {
        for code in &ends {
            let view = with_code(fork, code);
            let plain = CallRequest { gas: 1_000_000, ..request(CONTRACT) };
            let over = json!({ "stateOverrides": {
                "0x0000000000000000000000000000000000000002": { "balance": "0x1" },
                CONTRACT.to_string(): { "stateDiff": { word(0).to_string(): word(41).to_string() } } } });
            for (request, lane) in [
                (plain.clone(), INLINE),
                (plain.clone(), Lane::Inline(3)),
                (CallRequest { gas: 1, ..plain.clone() }, INLINE),
                (with_options(plain.clone(), &json!({ "value": "0x1" })), INLINE),
                (with_options(plain, &over), INLINE),
            ] {
                let alone = {
                    let (view, request, lane) = (Arc::clone(&view), request.clone(), lane.clone());
                    std::thread::spawn(move || run(&view, &request, &lane)).join().unwrap()
                };
                cases.push((Arc::clone(&view), request, lane, alone));
            }
        }
    }
    for _ in 0..3_000 {
        let (view, request, lane, alone) = &cases[random.below(cases.len() as u64) as usize];
        assert_eq!(&run(view, request, lane), alone, "{request:?} {lane:?}");
    }
}

/// A block after `parent` that sets slot 0 of `address`, without executing anything.
fn next(chain: &Chain, parent: &Header, address: Address, value: u64, salt: u8) -> Header {
    let header = Header {
        number: parent.number + 1,
        parent_hash: parent.hash_slow(),
        extra_data: vec![salt].into(),
        ..parent.clone()
    };
    let diff = Diff { slots: vec![(address, B256::ZERO, U256::from(value))], ..Default::default() };
    chain.apply(&alloy_rlp::encode(&header), &diff.encode()).unwrap();
    header
}

#[test]
fn each_view_keeps_its_state_and_leaves_with_its_block() {
    let chain = small(
        Fork::Prague,
        &json!({ CONTRACT.to_string(): {
        "balance": "0x0", "code": hex::encode_prefixed(returns("6000 54")) } }),
    );
    let first = next(&chain.chain, &chain.outcome.header, CONTRACT, 1, 0);
    let second = next(&chain.chain, &first, CONTRACT, 2, 0);
    let open = |header: &Header| Arc::new(chain.chain.view(&alloy_rlp::encode(header)).unwrap());
    let (one, two) = (open(&first), open(&second));
    for _ in 0..3 {
        assert_eq!(run(&chain.view(), &request(CONTRACT), &INLINE), success(0));
        assert_eq!(run(&one, &request(CONTRACT), &INLINE), success(1));
        assert_eq!(run(&two, &request(CONTRACT), &INLINE), success(2));
    }
    chain.chain.revert_to(first.number).unwrap();
    let fork = open(&next(&chain.chain, &first, CONTRACT, 3, 1));
    assert_eq!(call(&two, &request(CONTRACT), &INLINE), CallResult::Outdated);
    assert_eq!(run(&one, &request(CONTRACT), &INLINE), success(1), "it is below the revert");
    assert_eq!(run(&fork, &request(CONTRACT), &INLINE), success(3));
}

#[test]
fn a_block_hash_is_of_the_chain_the_view_is_on() {
    let chain = small(
        Fork::Prague,
        &json!({ CONTRACT.to_string(): {
        "balance": "0x0", "code": hex::encode_prefixed(returns("6000 35 40")) } }),
    );
    let first = next(&chain.chain, &chain.outcome.header, CONTRACT, 1, 0);
    let second = next(&chain.chain, &first, CONTRACT, 2, 0);
    let view = Arc::new(chain.chain.view(&alloy_rlp::encode(&second)).unwrap());
    let hash_of = |number: u64| run(&view, &CallRequest { data: word(number), ..request(CONTRACT) }, &INLINE);
    let found = |hash: B256| CallResult::Success(Bytes::copy_from_slice(hash.as_slice()));
    assert_eq!(hash_of(0), found(chain.outcome.hash));
    assert_eq!(hash_of(1), found(first.hash_slow()));
    assert_eq!(hash_of(2), success(0), "a block does not know its own hash");
    assert_eq!(hash_of(3), success(0));
}

#[test]
fn an_op_call_needs_no_funds_for_l1_data() {
    let l1_block = address!("4200000000000000000000000000000000000015");
    let fees = word(1_000_000_000_000);
    let chain = small(
        Fork::Isthmus,
        &json!({
            CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(returns("602a")) },
            l1_block.to_string(): { "balance": "0x0", "storage": {
                word(1).to_string(): fees.to_string(), word(7).to_string(): fees.to_string(),
                word(3).to_string(): word(u64::MAX).to_string() } },
        }),
    );
    let call = CallRequest { from: SENDER, data: vec![0xff; 1_000].into(), ..request(CONTRACT) };
    assert_eq!(run(&chain.view(), &call, &INLINE), success(0x2a));
    // Also with a value it has, and not with one it has not.
    let over =
        |value: &str| json!({ "value": value, "stateOverrides": { SENDER.to_string(): { "balance": "0x1" } } });
    assert_eq!(run(&chain.view(), &with_options(call.clone(), &over("0x1")), &INLINE), success(0x2a));
    let refused = run(&chain.view(), &with_options(call, &over("0x2")), &INLINE);
    let CallResult::Invalid(text) = refused else { panic!("{refused:?}") };
    assert!(
        text.contains("insufficient funds for gas * price + value") && text.contains("have 1 want 2"),
        "{text}"
    );
}

#[test]
fn l1_attributes_are_those_of_the_view() {
    // Two forks of one number: slot 1 of the L1 block is its base fee, and the second view must see its own.
    let l1_block = address!("4200000000000000000000000000000000000015");
    let reader = returns(&format!("6000600060006000 73{} 5afa 50 602a", hex::encode(l1_block)));
    let chain = small(
        Fork::Isthmus,
        &json!({
            CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(reader) },
            l1_block.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(returns("6000 54")) },
        }),
    );
    for salt in 0..4 {
        chain.chain.revert_to(0).unwrap();
        let header = next(&chain.chain, &chain.outcome.header, l1_block, 100 + u64::from(salt), salt);
        let view = Arc::new(chain.chain.view(&alloy_rlp::encode(&header)).unwrap());
        assert_eq!(run(&view, &request(l1_block), &INLINE), success(100 + u64::from(salt)));
        assert_eq!(run(&view, &request(CONTRACT), &INLINE), success(0x2a));
    }
}

#[test]
fn random_options_are_read_or_refused() {
    let mut random = Random::from_env();
    let valid = json!({ "gasPrice": "0x1", "value": "0x2", "accessList": [], "stateOverrides": {
        CONTRACT.to_string(): { "balance": "0x1", "code": "0x60", "stateDiff": { word(1).to_string(): word(2).to_string() } } },
        "blockOverrides": { "number": "0x5", "time": "0x6" } })
    .to_string();
    for _ in 0..20_000 {
        let mut bytes = valid.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = b" \"{}[]:,0x1fz"[random.below(13) as usize];
        }
        let _ = chain_query_evm::CallOptions::parse(&String::from_utf8(bytes).unwrap());
    }
}

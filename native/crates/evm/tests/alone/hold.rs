//! How long one inline call can hold a serving thread, for the worst code found.

use crate::alone;
use crate::support::{CONTRACT, Fork, GAS, STEPS, pool_lane, request, run, with_code};
use alloy_primitives::{U256, hex};
use chain_query_evm::{CallResult, Lane};
use std::time::{Duration, Instant};

/// Code that fills the size limit with `body` after `setup`, and does it over and over.
fn repeat(setup: &str, body: &str) -> Vec<u8> {
    let (setup, body) = (hex::decode(setup).unwrap(), hex::decode(body).unwrap());
    let mut code = setup;
    let start = code.len();
    code.push(0x5b);
    while code.len() + body.len() + 5 < 24_576 {
        code.extend_from_slice(&body);
    }
    code.extend_from_slice(&[0x61, (start >> 8) as u8, start as u8, 0x56]);
    code
}

fn push32(value: U256) -> String {
    format!("7f{}", hex::encode(value.to_be_bytes::<32>()))
}

/// Calls a precompile with `input` bytes of memory, over and over.
fn calls(setup: &str, address: u16, input: u32) -> Vec<u8> {
    // PUSH0 PUSH0 PUSH4 input PUSH0 PUSH2 address GAS STATICCALL POP
    repeat(setup, &format!("5f5f63{input:08x}5f61{address:04x}5afa50"))
}

/// The same with no more gas than this for each.
fn calls_with(setup: &str, address: u16, input: u32, gas: u32) -> Vec<u8> {
    repeat(setup, &format!("5f5f63{input:08x}5f61{address:04x}63{gas:08x}fa50"))
}

/// Stores `data` in memory from offset 0 on.
fn store(data: &[u8]) -> String {
    data.chunks(32).enumerate().fold(String::new(), |code, (index, chunk)| {
        let mut padded = [0; 32];
        padded[..chunk.len()].copy_from_slice(chunk);
        code + &format!("{}61{:04x}52", push32(U256::from_be_bytes(padded)), index * 32)
    })
}

fn modexp(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for part in [base, exponent, modulus] {
        data.extend_from_slice(&U256::from(part.len()).to_be_bytes::<32>());
    }
    [&data, base, exponent, modulus].concat()
}

fn worst_cases() -> Vec<(String, Fork, Vec<u8>)> {
    let big = push32(U256::MAX - U256::from(12345));
    let odd = push32((U256::MAX >> 1) - U256::from(7));
    let mut cases = Vec::new();
    let mut add = |name: &str, fork: Fork, code: Vec<u8>| cases.push((name.to_string(), fork, code));
    add("jumpdest", Fork::Osaka, repeat("", "5b"));
    add("push-pop", Fork::Osaka, repeat("", "5f50"));
    add("dup-add", Fork::Osaka, repeat(&big, "8001"));
    add("mul", Fork::Osaka, repeat(&format!("{big}{odd}"), "81810250"));
    add("div", Fork::Osaka, repeat(&format!("{odd}{big}"), "81810450"));
    add("sdiv", Fork::Osaka, repeat(&format!("{odd}{big}"), "81810550"));
    add("mod", Fork::Osaka, repeat(&format!("{odd}{big}"), "81810650"));
    add("addmod", Fork::Osaka, repeat(&format!("{odd}{big}"), "8181810850"));
    add("mulmod", Fork::Osaka, repeat(&format!("{odd}{big}"), "8181810950"));
    add("exp", Fork::Osaka, repeat(&format!("{big}{odd}"), "81810a50"));
    add("keccak 32 bytes", Fork::Osaka, repeat("", "60205f2050"));
    add("keccak 128 bytes", Fork::Osaka, repeat("", "60805f2050"));
    add("keccak 100 kB", Fork::Osaka, repeat("", "620186a05f2050"));
    add("mload", Fork::Osaka, repeat("", "5f5150"));
    add("mstore", Fork::Osaka, repeat("", "5f5f52"));
    add("mcopy 1 kB", Fork::Osaka, repeat("", "6104005f60205e"));
    add("mcopy 64 kB", Fork::Osaka, repeat("", "620100005f60205e"));
    add("mcopy 1 MB", Fork::Osaka, repeat("", "620fffff5f60205e"));
    add("codecopy 24 kB", Fork::Osaka, repeat("", "6160005f5f39"));
    add("extcodecopy 24 kB", Fork::Osaka, repeat("", "6160005f5f303c"));
    add("calldatacopy 24 kB", Fork::Osaka, repeat("", "6160005f5f37"));
    add("log 1 kB", Fork::Osaka, repeat("", "6104005fa0"));
    add("sload warm", Fork::Osaka, repeat("", "5f5450"));
    add("sload cold", Fork::Osaka, repeat("5f", "805450600101"));
    add("sstore warm", Fork::Osaka, repeat("", "5a5f55"));
    add("tload", Fork::Osaka, repeat("", "5f5c50"));
    add("tstore new", Fork::Osaka, repeat("5f", "80805d600101"));
    add("balance warm", Fork::Osaka, repeat("", "303150"));
    add("extcodehash warm", Fork::Osaka, repeat("", "303f50"));
    add("selfbalance", Fork::Osaka, repeat("", "4750"));
    add("blockhash", Fork::Osaka, repeat("", "5f4050"));
    add("call empty account", Fork::Osaka, repeat("", "5f5f5f5f61ffff5afa50"));
    add("call self", Fork::Osaka, repeat("", "5f5f5f5f305afa50"));
    add("call self with little gas", Fork::Osaka, repeat("", "5f5f5f5f3061fffffa50"));
    add("create empty", Fork::Osaka, repeat("", "5f5f5ff050"));
    add("create 48 kB", Fork::Osaka, repeat("", "61c0005f5ff050"));
    add("create2 48 kB", Fork::Osaka, repeat("5f", "6001018061c0005f5ff550"));
    let recover = hex::decode("456e9aea5e197a1f1af7a3e85a3212fa4049a3ba34c2289b4c860fc0b0c64ef3000000000000000000000000000000000000000000000000000000000000001c9242685bf161793cc25603c231bc2f568eb630ea16aa137d2664ac80388256084f8ae3bd7535248d0bd448298cc2e2071e56992d0774dc340c368ae950852ada").unwrap();
    add("ecrecover", Fork::Osaka, calls(&store(&recover), 1, 128));
    add("sha256 64 kB", Fork::Osaka, calls("", 2, 65_536));
    add("ripemd 64 kB", Fork::Osaka, calls("", 3, 65_536));
    add("identity 64 kB", Fork::Osaka, calls("", 4, 65_536));
    let (ones, odd_bytes) = ([0xff; 256], {
        let mut m = [0xff; 256];
        m[255] = 0xfd;
        m
    });
    for fork in [Fork::London, Fork::Osaka] {
        let sizes = [(32, 32), (64, 64), (192, 32), (200, 200), (256, 256), (256, 32), (32, 256), (8, 256)];
        for (size, exponent) in sizes {
            let data = modexp(&ones[..size], &ones[..exponent], &odd_bytes[256 - size..]);
            add(&format!("modexp {size} bytes to {exponent} {fork:?}"), fork, {
                let code = calls(&store(&data), 5, data.len() as u32);
                if fork == Fork::London { no_push0(&code) } else { code }
            });
            let mut even = data.clone();
            *even.last_mut().unwrap() = 0;
            add(&format!("modexp even {size} bytes to {exponent} {fork:?}"), fork, {
                let code = calls(&store(&even), 5, even.len() as u32);
                if fork == Fork::London { no_push0(&code) } else { code }
            });
        }
    }
    // One call with an exponent of 16 kB: lengths, base, head of the exponent, modulus, then the call with all gas.
    let steps = [
        "60205f52",
        "614000602052",
        "6020604052",
        "5f19606052",
        "5f19608052",
        "60031961408052",
        "5f5f6140a05f60055afa50",
    ];
    let huge = hex::decode(steps.concat()).unwrap();
    add("modexp one call", Fork::Prague, huge);
    add("bn add", Fork::Osaka, calls("", 6, 128));
    let g1 = [[0; 31].as_slice(), &[1], &[0; 31], &[2]].concat();
    let mul = [g1.as_slice(), &[0xff; 32]].concat();
    add("bn mul", Fork::Osaka, calls(&store(&mul), 7, 96));
    let g2 = hex::decode("198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa").unwrap();
    let pair = [g1.as_slice(), &g2].concat();
    add("bn pairing 1", Fork::Osaka, calls(&store(&pair), 8, 192));
    add("bn pairing 20", Fork::Osaka, calls(&store(&pair.repeat(20)), 8, 3840));
    for rounds in [1u32, 1000, 100_000] {
        let blake = [rounds.to_be_bytes().as_slice(), &[7; 208], &[1]].concat();
        add(&format!("blake2f {rounds} rounds"), Fork::Osaka, calls(&store(&blake), 9, 213));
    }
    let blake = [20_000_000u32.to_be_bytes().as_slice(), &[7; 208], &[1]].concat();
    add("blake2f 20M rounds", Fork::Osaka, calls(&store(&blake), 9, 213));
    add("point evaluation", Fork::Osaka, calls("", 10, 192));
    let infinity = format!("c0{}", "00".repeat(47));
    let hash = "010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014";
    // A false proof costs as much as a true one, and all of the gas it was given.
    let no_proof = hex::decode(format!("{hash}{:064x}{:064x}{infinity}{infinity}", 3, 1)).unwrap();
    add("point evaluation that fails", Fork::Osaka, calls_with(&store(&no_proof), 10, 192, 50_000));
    let off_curve = [&pair.repeat(20), g1[..63].as_ref(), &[3], &g2].concat();
    let gas = 45_000 + 21 * 34_000;
    add("bn pairing that fails", Fork::Osaka, calls_with(&store(&off_curve), 8, off_curve.len() as u32, gas));
    add("bls g1 add", Fork::Osaka, calls("", 0x0b, 256));
    for (name, address, each, counts) in [
        ("bls g1 msm", 0x0c_u16, 160, [1usize, 32]),
        ("bls g2 msm", 0x0e, 288, [1, 32]),
        ("bls pairing", 0x0f, 384, [1, 16]),
    ] {
        for count in counts {
            let data = bls_input(address, each, count);
            add(&format!("{name} {count}"), Fork::Osaka, calls(&store(&data), address, data.len() as u32));
        }
    }
    let mut fp = [0; 128];
    fp[127] = 9;
    fp[63] = 5;
    add("bls map fp", Fork::Osaka, calls(&store(&fp[..64]), 0x10, 64));
    add("bls map fp2", Fork::Osaka, calls(&store(&fp), 0x11, 128));
    add("p256 verify", Fork::Osaka, calls(&store(&p256()), 0x100, 160));
    cases
}

/// PUSH0 did not exist yet: PUSH1 0 in its place, outside of what pushes carry.
fn no_push0(code: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let wide = if (0x60..=0x7f).contains(&code[at]) { usize::from(code[at]) - 0x5f } else { 0 };
        if code[at] == 0x5f {
            out.extend_from_slice(&[0x60, 0]);
        } else {
            out.extend_from_slice(&code[at..code.len().min(at + 1 + wide)]);
        }
        at += 1 + wide;
    }
    out
}

fn bls_input(address: u16, each: usize, count: usize) -> Vec<u8> {
    let g1 = "0000000000000000000000000000000017f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb0000000000000000000000000000000008b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1";
    let g2 = "00000000000000000000000000000000024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb80000000000000000000000000000000013e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e000000000000000000000000000000000ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801000000000000000000000000000000000606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be";
    let scalar = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000";
    let one = match address {
        0x0c => format!("{g1}{scalar}"),
        0x0e => format!("{g2}{scalar}"),
        _ => format!("{g1}{g2}"),
    };
    let one = hex::decode(one).unwrap();
    assert_eq!(one.len(), each);
    one.repeat(count)
}

fn p256() -> Vec<u8> {
    hex::decode("4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4da73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d604aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff37618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e").unwrap()
}

/// What one inline call takes once all of its state is there: the best of three, as others share the machine.
fn hold(fork: Fork, code: &[u8]) -> (Duration, CallResult) {
    let view = with_code(fork, code);
    let inline = Lane::Inline(STEPS);
    let _ = run(&view, &request(CONTRACT), &inline);
    let timed = || {
        let start = Instant::now();
        let result = run(&view, &request(CONTRACT), &inline);
        (start.elapsed(), result)
    };
    [timed(), timed(), timed()].into_iter().min_by_key(|(held, _)| *held).unwrap()
}

/// Also what all of the gas takes, which is what the weights of the meter follow from.
#[test]
#[ignore = "a measurement"]
fn measure() {
    alone(|| {
        for (name, fork, code) in worst_cases() {
            let (held, _) = hold(fork, &code);
            let start = Instant::now();
            let _ = run(&with_code(fork, &code), &request(CONTRACT), &pool_lane(Duration::from_secs(10)));
            let all = start.elapsed().as_secs_f64();
            println!(
                "{name:40} inline {:8.2} ms, all gas {:8.2} ms, {:6.2} ns for one",
                held.as_secs_f64() * 1e3,
                all * 1e3,
                all * 1e9 / GAS as f64
            );
        }
    });
}

#[test]
fn no_code_holds_a_serving_thread_for_long() {
    alone(|| {
        let mut worst = (Duration::ZERO, String::new());
        for (name, fork, code) in worst_cases() {
            let (held, result) = hold(fork, &code);
            let ended = matches!(result, CallResult::Budget | CallResult::Halt(_) | CallResult::Success(_));
            assert!(ended, "{name}: {result:?}");
            if held > worst.0 {
                worst = (held, name);
            }
        }
        println!("worst: {:?} by {}", worst.0, worst.1);
        // A debug build or a slow machine takes longer; without a limit it is more than half a second.
        let limit = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 150 });
        assert!(worst.0 < limit, "{} takes {:?}", worst.1, worst.0);
    });
}

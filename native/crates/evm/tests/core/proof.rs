//! Proofs as geth and anvil gave them, and lies in each part of them.

use crate::support::Random;
use alloy_primitives::{Address, B256, Bytes, U256};
use chain_query_evm::{Account, Error, check_proof};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Recorded {
    blocks: Vec<Value>,
    proofs: Vec<Proof>,
}

#[derive(Deserialize, Clone)]
struct Proof {
    address: Address,
    slots: Vec<B256>,
    proof: Value,
}

fn recorded(name: &str) -> (B256, Vec<Proof>) {
    let recorded: Recorded = crate::support::recorded(name);
    let head = recorded.blocks.last().unwrap();
    (head["block"]["stateRoot"].as_str().unwrap().parse().unwrap(), recorded.proofs)
}

fn check(root: B256, proof: &Proof) -> Result<Vec<Vec<u8>>, Error> {
    check_proof(root, proof.address, &proof.slots, &proof.proof.to_string())
}

/// What the node says, in the form it is stored in.
fn said(proof: &Proof) -> Vec<Vec<u8>> {
    let number = |value: &Value| value.as_str().unwrap().parse::<U256>().unwrap();
    let account = Account {
        nonce: number(&proof.proof["nonce"]).to(),
        balance: number(&proof.proof["balance"]),
        code_hash: proof.proof["codeHash"].as_str().unwrap().parse().unwrap(),
    };
    let exists = account.nonce > 0 || !account.balance.is_zero();
    let slots = proof.proof["storageProof"].as_array().unwrap();
    let slots = slots.iter().map(|slot| number(&slot["value"]).to_be_bytes_trimmed_vec());
    std::iter::once(if exists { alloy_rlp::encode(account) } else { Vec::new() }).chain(slots).collect()
}

#[test]
fn what_nodes_prove_holds() {
    let (mut absent, mut zero, mut values) = (0, 0, 0);
    for name in ["geth", "anvil"] {
        let (root, proofs) = recorded(name);
        for proof in &proofs {
            let checked = check(root, proof).unwrap();
            assert_eq!(checked, said(proof), "{name} {}", proof.address);
            absent += usize::from(checked[0].is_empty());
            zero += checked[1..].iter().filter(|value| value.is_empty()).count();
            values += checked[1..].iter().filter(|value| !value.is_empty()).count();
        }
    }
    assert!(absent >= 2 && zero >= 4 && values >= 8, "{absent} {zero} {values}");
}

#[test]
fn slots_may_be_written_as_quantities() {
    let (root, mut proofs) = recorded("geth");
    for slot in proofs[0].proof["storageProof"].as_array_mut().unwrap() {
        let key: U256 = slot["key"].as_str().unwrap().parse().unwrap();
        slot["key"] = format!("0x{key:x}").into();
    }
    assert_eq!(check(root, &proofs[0]).unwrap(), said(&proofs[0]));
}

#[test]
fn a_proof_of_something_else_is_refused() {
    let (root, proofs) = recorded("geth");
    let refused = |root, proof: &Proof| matches!(check(root, proof), Err(Error::InvalidProof(_)));
    for proof in &proofs {
        assert!(refused(B256::with_last_byte(1), proof));
        let other = Proof { address: Address::with_last_byte(0x99), ..proof.clone() };
        assert!(refused(root, &other), "{}", proof.address);
        let more = Proof { slots: [proof.slots.as_slice(), &[B256::ZERO]].concat(), ..proof.clone() };
        assert!(refused(root, &more));
        if let [first, .., last] = proof.slots.as_slice() {
            let mut slots = proof.slots.clone();
            slots[0] = *last;
            slots[proof.slots.len() - 1] = *first;
            assert!(refused(root, &Proof { slots, ..proof.clone() }));
        }
    }
    // A slot of one account is not a slot of another.
    let mut mixed = proofs[1].clone();
    mixed.slots = proofs[0].slots.clone();
    mixed.proof["storageProof"] = proofs[0].proof["storageProof"].clone();
    assert!(refused(root, &mixed));
    mixed.proof["storageHash"] = proofs[0].proof["storageHash"].clone();
    assert!(refused(root, &mixed));
    for text in ["", "null", "{}", "[]", r#"{"nonce":"0x0"}"#] {
        assert!(matches!(check_proof(root, Address::ZERO, &[], text), Err(Error::Malformed(_))), "{text}");
    }
}

#[test]
fn a_lie_in_any_value_or_node_is_refused() {
    let mut random = Random::from_env();
    let mut refused = 0;
    for name in ["geth", "anvil"] {
        let (root, proofs) = recorded(name);
        for proof in proofs.iter().cycle().take(proofs.len() * 300) {
            let mut lied = proof.clone();
            let (field, bytes) = damage(&mut random, &mut lied.proof);
            if lied.proof == proof.proof {
                continue;
            }
            let result = check(root, &lied);
            assert!(
                matches!(result, Err(Error::InvalidProof(_) | Error::Malformed(_))),
                "{name} {} {field} {bytes}: {result:?}",
                proof.address
            );
            refused += 1;
        }
    }
    assert!(refused > 1_500, "{refused}");
}

/// Changes one value, or one byte of one node, or drops a node.
fn damage(random: &mut Random, proof: &mut Value) -> (String, Value) {
    let slots = proof["storageProof"].as_array().unwrap().len() as u64;
    let (at, list) = match random.below(2 + slots) {
        0 => {
            let field = ["nonce", "balance", "codeHash", "storageHash"][random.below(4) as usize];
            let value = &mut proof[field];
            *value = if field.ends_with("Hash") {
                B256::from(random.array()).to_string().into()
            } else {
                let was: U256 = value.as_str().unwrap().parse().unwrap();
                format!("0x{:x}", was.wrapping_add(U256::from(1 + random.below(9)))).into()
            };
            return (field.into(), value.clone());
        }
        1 => ("account".into(), &mut proof["accountProof"]),
        slot => {
            let slot = &mut proof["storageProof"][slot as usize - 2];
            if random.once_in(3) {
                let was: U256 = slot["value"].as_str().unwrap().parse().unwrap();
                slot["value"] = format!("0x{:x}", was ^ (U256::ONE << random.below(256))).into();
                return ("value".into(), slot["value"].clone());
            }
            ("slot".into(), &mut slot["proof"])
        }
    };
    let nodes = list.as_array_mut().unwrap();
    if nodes.is_empty() {
        return (at, Value::Null);
    }
    let node = random.below(nodes.len() as u64) as usize;
    // The one node of an empty trie, which anvil writes and geth leaves out.
    let of_empty = nodes[node] == "0x80";
    if random.once_in(5) && !of_empty {
        return (at, nodes.remove(node));
    }
    let mut bytes = nodes[node].as_str().unwrap().parse::<Bytes>().unwrap().to_vec();
    let byte = random.below(bytes.len() as u64) as usize;
    bytes[byte] ^= 1 << random.below(8);
    nodes[node] = Bytes::from(bytes).to_string().into();
    (at, nodes[node].clone())
}

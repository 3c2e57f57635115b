#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use crate::random::Random;

fn key(random: &mut Random) -> Key {
    match random.below(4) {
        0 => Key::Account(Address::from(random.array())),
        1 => Key::Slot(Address::from(random.array()), B256::from(random.array())),
        2 => Key::Code(B256::from(random.array())),
        _ => Key::BlockHash(random.next()),
    }
}

#[test]
fn texts_are_read_as_they_were_written() {
    let mut random = Random::from_env();
    for _ in 0..1_000 {
        let keys = (0..random.below(20)).map(|_| key(&mut random)).collect();
        let missing = Missing { as_of: random.next(), generation: random.next(), keys };
        assert_eq!(Missing::decode(&missing.encode()).unwrap(), missing);
    }
}

#[test]
fn damaged_texts_are_refused() {
    let mut random = Random::from_env();
    let alphabet: Vec<char> = "0123456789abcdefshc\u{e9}\u{1f600} zA".chars().collect();
    for _ in 0..20_000 {
        let keys = (0..random.below(3)).map(|_| key(&mut random)).collect();
        let text = Missing { as_of: 1, generation: 2, keys }.encode();
        let mut text: Vec<char> = text.chars().collect();
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len() as u64) as usize;
            match random.below(3) {
                0 => text.truncate(at.max(1)),
                1 => text.insert(at, alphabet[random.below(alphabet.len() as u64) as usize]),
                _ => text[at] = alphabet[random.below(alphabet.len() as u64) as usize],
            }
        }
        // Some changes give another valid text; none may panic.
        let text: String = text.into_iter().collect();
        if let Ok(missing) = Missing::decode(&text) {
            assert_eq!(missing.encode(), text.to_lowercase());
        }
    }
    assert!(Missing::decode("").is_err() && Missing::decode(&"0".repeat(31)).is_err());
}

#[test]
fn a_set_keeps_each_key_once_in_order() {
    let mut set = MissingSet::default();
    let (one, two) = (Key::BlockHash(1), Key::BlockHash(2));
    for key in [two, one, two, one] {
        set.add(key);
    }
    assert_eq!(set.take(), [two, one]);
    assert!(set.is_empty());
    set.add(one);
    assert_eq!(set.take(), [one]);
}

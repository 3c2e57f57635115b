#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use crate::random::Random;

#[test]
fn values_are_read_as_they_were_written() {
    let mut random = Random::from_env();
    for _ in 0..1_000 {
        let (number, length) = (random.next(), random.below(50) as usize);
        let bytes = random.bytes(length);
        let mut out = Writer::default();
        out.u8(7);
        out.u32(number as u32);
        out.u64(number);
        out.bytes(&bytes);
        out.raw(&bytes);
        let mut input = Reader::new("test", &out.0);
        assert_eq!(input.array::<1>().unwrap(), [7]);
        assert_eq!(input.u32().unwrap(), number as u32);
        assert_eq!(u64::from_le_bytes(input.array().unwrap()), number);
        assert_eq!(input.bytes().unwrap(), bytes);
        assert_eq!(input.take(length).unwrap(), bytes);
        input.end().unwrap();
        assert!(input.u32().is_err() && input.take(1).is_err());
    }
}

#[test]
fn nothing_is_read_past_the_end() {
    let long = [0xff, 0xff, 0xff, 0xff, 1, 2, 3];
    let mut input = Reader::new("test", &long);
    assert_eq!(input.bytes(), Err(Error::Malformed("test: it ends early".into())));
    let mut input = Reader::new("test", &long[..3]);
    assert!(input.u32().is_err());
    assert_eq!(input.end(), Err(Error::Malformed("test: it has bytes left over".into())));
}

//! Contracts that run as native code of a chain's own node: no public rules describe them, so that nothing here can
//! execute them.

use crate::base::error::{Error, malformed};
use alloy_primitives::Address;

/// The addresses of the native contracts of a chain.
#[derive(Debug, Clone, Default)]
pub(crate) struct NativeContracts(Vec<Pattern>);

/// Addresses that are `value` in each bit that `mask` has.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    value: [u8; 20],
    mask: [u8; 20],
}

impl NativeContracts {
    /// Reads patterns: 40 hex digits after `0x`, with `?` for a digit that does not matter.
    pub(crate) fn parse(patterns: &[String]) -> Result<Self, Error> {
        patterns.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether code at this address is native.
    #[inline]
    pub(crate) fn contains(&self, address: &Address) -> bool {
        self.0.iter().any(|pattern| pattern.matches(address))
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || malformed("native contract", format!("{text:?} is not 0x and 40 digits, or ? for any"));
        let digits = text.strip_prefix("0x").ok_or_else(wrong)?;
        let (mut value, mut mask) = ([0; 20], [0; 20]);
        if digits.len() != 2 * value.len() {
            return Err(wrong());
        }
        for (at, digit) in digits.chars().enumerate() {
            let shift = if at % 2 == 0 { 4 } else { 0 };
            if digit != '?' {
                let digit = digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(wrong)?;
                value[at / 2] |= digit << shift;
                mask[at / 2] |= 0xf << shift;
            }
        }
        Ok(Self { value, mask })
    }

    fn matches(&self, address: &Address) -> bool {
        address.iter().zip(self.value.iter().zip(&self.mask)).all(|(byte, (value, mask))| byte & mask == *value)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use alloy_primitives::address;

    #[test]
    fn patterns_match_the_digits_that_they_name() {
        let base = NativeContracts::parse(&[
            "0xB20f000000000000000000000000000000000000".into(),
            "0xb20000000000000000000?".to_owned() + &"?".repeat(18),
        ]);
        let base = base.unwrap();
        assert!(base.contains(&address!("b20f000000000000000000000000000000000000")));
        assert!(!base.contains(&address!("b20f000000000000000000000000000000000001")));
        assert!(base.contains(&address!("b200000000000000000001112233445566778899")));
        assert!(!base.contains(&address!("b200000000000000000011112233445566778899")));
        assert!(!base.contains(&address!("b300000000000000000001112233445566778899")));
        assert!(!NativeContracts::default().contains(&Address::ZERO));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in
            ["", "0x", "0x12", "b20f000000000000000000000000000000000000", &format!("0x{}", "x".repeat(40))]
        {
            assert!(NativeContracts::parse(&[text.to_owned()]).is_err(), "{text}");
        }
        assert!(NativeContracts::parse(&[format!("0x{}", "é".repeat(20))]).is_err());
    }
}

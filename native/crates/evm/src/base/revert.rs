//! Reasons of reverts, in words.

use alloy_primitives::{U256, hex};

const ERROR: [u8; 4] = hex!("08c379a0");
const PANIC: [u8; 4] = hex!("4e487b71");

/// The text of `Error(string)` or `Panic(uint256)`, as geth decodes it; nothing for any other.
pub(crate) fn reason(data: &[u8]) -> Option<String> {
    let (selector, body) = data.split_first_chunk::<4>()?;
    match *selector {
        ERROR => {
            let start: usize = word(body, 0)?.try_into().ok()?;
            let length: usize = word(body, start)?.try_into().ok()?;
            let start = start.checked_add(32)?;
            let text = body.get(start..start.checked_add(length)?)?;
            Some(String::from_utf8_lossy(text).into_owned())
        }
        PANIC => Some(panic(word(body, 0)?)),
        _ => None,
    }
}

fn word(body: &[u8], start: usize) -> Option<U256> {
    body.get(start..start.checked_add(32)?).map(U256::from_be_slice)
}

fn panic(code: U256) -> String {
    match code.saturating_to::<u64>() {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return format!("unknown panic code: {code:#x}"),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::reason;
    use alloy_primitives::hex;

    #[test]
    fn words_are_found_and_nothing_is_read_past_the_end() {
        let text = [&hex!("08c379a0")[..], &word(32), &word(4), b"oops"].concat();
        assert_eq!(reason(&text).as_deref(), Some("oops"));
        assert_eq!(reason(&text[..text.len() - 1]), None);
        assert_eq!(reason(&[&hex!("08c379a0")[..], &[0xff; 64]].concat()), None);
        let panic = [&hex!("4e487b71")[..], &word(0x12)].concat();
        assert_eq!(reason(&panic).as_deref(), Some("division or modulo by zero"));
        let unknown = [&hex!("4e487b71")[..], &word(0x99)].concat();
        assert_eq!(reason(&unknown).as_deref(), Some("unknown panic code: 0x99"));
        assert_eq!(reason(&hex!("08c379a0")), None);
        assert_eq!(reason(&[]), None);
    }

    fn word(value: u8) -> [u8; 32] {
        let mut word = [0; 32];
        word[31] = value;
        word
    }
}

//! The milliseconds of a block's time, on chains with several blocks a second (Base since Denim): the second transaction
//! of each block is a deposit that says them.

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, TxKind, U256, address};
use alloy_rlp::Header as RlpHeader;
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};

const SENDER: Address = address!("0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001");
const BASE_TIME: Address = address!("0x4200000000000000000000000000000000000030");
/// `setTimestampMillisPart(uint16)`.
const SELECTOR: [u8; 4] = [0x86, 0xbd, 0xf3, 0x94];
const GAS: u64 = 1_000_000;
/// Milliseconds between two blocks.
const STEP: u16 = 200;

/// The time of a block (RLP) in milliseconds; `None` where no such deposit says it.
pub(crate) fn timestamp_ms(timestamp: u64, block: &[u8]) -> Option<u64> {
    let part = millisecond_part(&second_transaction(block)?)?;
    timestamp.checked_mul(1_000)?.checked_add(u64::from(part))
}

/// A block is a list of its header, the list of its transactions, and more.
fn second_transaction(mut block: &[u8]) -> Option<TxDeposit> {
    let mut fields = RlpHeader::decode_bytes(&mut block, true).ok()?;
    skip(&mut fields)?;
    let mut transactions = RlpHeader::decode_bytes(&mut fields, true).ok()?;
    skip(&mut transactions)?;
    // A typed transaction is a string; one of the oldest kind is a list, and no deposit.
    let mut typed = RlpHeader::decode_bytes(&mut transactions, false).ok()?;
    match OpTxEnvelope::decode_2718(&mut typed).ok()? {
        OpTxEnvelope::Deposit(deposit) => Some(deposit.into_inner()),
        _ => None,
    }
}

fn skip(bytes: &mut &[u8]) -> Option<()> {
    let header = RlpHeader::decode(bytes).ok()?;
    *bytes = bytes.get(header.payload_length..)?;
    Some(())
}

fn millisecond_part(deposit: &TxDeposit) -> Option<u16> {
    let (selector, word) = deposit.input.split_first_chunk::<4>()?;
    let part: u16 = U256::try_from_be_slice(<&[u8; 32]>::try_from(word).ok()?)?.try_into().ok()?;
    let is_base_time = deposit.from == SENDER
        && deposit.to == TxKind::Call(BASE_TIME)
        && deposit.gas_limit == GAS
        && deposit.mint == 0
        && deposit.value.is_zero()
        && *selector == SELECTOR;
    (is_base_time && part < 1_000 && part.is_multiple_of(STEP)).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{Block, BlockBody, Header, Sealable};
    use alloy_primitives::Bytes;

    fn base_time(part: u64) -> TxDeposit {
        let input = [&SELECTOR[..], &U256::from(part).to_be_bytes::<32>()].concat();
        TxDeposit {
            from: SENDER,
            to: TxKind::Call(BASE_TIME),
            gas_limit: GAS,
            input: input.into(),
            ..Default::default()
        }
    }

    fn block_of(deposits: Vec<TxDeposit>) -> Vec<u8> {
        let transactions = deposits.into_iter().map(|each| OpTxEnvelope::Deposit(each.seal_slow())).collect();
        alloy_rlp::encode(Block {
            header: Header::default(),
            body: BlockBody { transactions, ..Default::default() },
        })
    }

    fn read(second: TxDeposit) -> Option<u64> {
        timestamp_ms(42, &block_of(vec![TxDeposit::default(), second]))
    }

    #[test]
    fn the_second_transaction_says_the_milliseconds() {
        // As Base's specification has it.
        assert_eq!(read(base_time(200)), Some(0xa4d8));
        for part in [0, 200, 400, 600, 800] {
            assert_eq!(read(base_time(part)), Some(42_000 + part));
        }
    }

    #[test]
    fn anything_else_says_nothing() {
        for part in [1, 100, 999, 1_000, 65_536 + 200] {
            assert_eq!(read(base_time(part)), None);
        }
        let is = base_time(200);
        for other in [
            TxDeposit { from: BASE_TIME, ..is.clone() },
            TxDeposit { to: TxKind::Call(SENDER), ..is.clone() },
            TxDeposit { to: TxKind::Create, ..is.clone() },
            TxDeposit { gas_limit: GAS + 1, ..is.clone() },
            TxDeposit { mint: 1, ..is.clone() },
            TxDeposit { value: U256::ONE, ..is.clone() },
            TxDeposit { input: is.input.slice(..35), ..is.clone() },
            TxDeposit { input: [&is.input[..], &[0]].concat().into(), ..is.clone() },
            TxDeposit { input: Bytes::new(), ..is.clone() },
        ] {
            assert_eq!(read(other), None);
        }
        for deposits in [vec![], vec![is.clone()], vec![is, TxDeposit::default()]] {
            assert_eq!(timestamp_ms(42, &block_of(deposits)), None);
        }
        for bytes in [&[][..], &[0xc0], &[0xff; 9]] {
            assert_eq!(timestamp_ms(42, bytes), None);
        }
        let whole = block_of(vec![TxDeposit::default(), base_time(0)]);
        assert_eq!(timestamp_ms(u64::MAX, &whole), None);
        assert_eq!(timestamp_ms(42, &whole[..whole.len() - 8]), None);
    }

    #[test]
    fn a_deposit_of_the_real_chain_is_read() {
        let mut deposit = &alloy_primitives::hex!(
            "7ef877a0002c6109309955fa0a804192573fbb620035638bfc135b9190bc5f3dd964498a94deaddeaddeaddeaddeaddeaddeaddeaddead0001"
            "9442000000000000000000000000000000000000308080830f424080a486bdf394"
            "0000000000000000000000000000000000000000000000000000000000000000"
        )[..];
        let read = match OpTxEnvelope::decode_2718(&mut deposit) {
            Ok(OpTxEnvelope::Deposit(deposit)) => millisecond_part(&deposit),
            _ => None,
        };
        assert_eq!(read, Some(0));
    }
}

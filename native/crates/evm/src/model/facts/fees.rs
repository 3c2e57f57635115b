//! What a block's header says of fees, and of those of the next block.

use crate::base::error::Error;
use crate::model::header::read_header;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::Header;
use alloy_eips::eip1559::{BaseFeeParams, INITIAL_BASE_FEE, calc_next_block_base_fee};
use alloy_hardforks::EthereumHardforks;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::Address;
use op_alloy_consensus::{decode_holocene_extra_data, decode_jovian_extra_data};

/// Fees of one block and, as far as it decides them, of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fees {
    pub beneficiary: Address,
    pub gas_used: u64,
    pub gas_limit: u64,
    /// `None` before London.
    pub base_fee: Option<u64>,
    pub next_base_fee: Option<u64>,
    /// `None` where there are no blobs.
    pub blobs: Option<BlobFees>,
}

/// The same of blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobFees {
    pub gas_used: u64,
    /// 0 where a block takes none.
    pub max_gas: u64,
    pub fee: u128,
    /// By the parameters of this block, as nobody knows the time of the next one.
    pub next_fee: u128,
}

/// Reads the fees of a block, given whole or by its header alone (RLP).
pub fn fees_of(spec: &ChainSpec, block: &[u8]) -> Result<Fees, Error> {
    let header = read_header(block)?;
    Ok(Fees {
        beneficiary: header.beneficiary,
        gas_used: header.gas_used,
        gas_limit: header.gas_limit,
        base_fee: header.base_fee_per_gas,
        next_base_fee: next_base_fee(spec, &header),
        blobs: blob_fees(spec, &header),
    })
}

fn next_base_fee(spec: &ChainSpec, header: &Header) -> Option<u64> {
    let Some(base_fee) = header.base_fee_per_gas else {
        let begins = spec.is_london_active_at_block(header.number.saturating_add(1));
        return begins.then_some(INITIAL_BASE_FEE);
    };
    let (params, metered, least) = match spec.stack {
        Stack::Ethereum => (BaseFeeParams::ethereum(), header.gas_used, 0),
        Stack::Op => op_params(spec, header),
    };
    Some(calc_next_block_base_fee(metered, header.gas_limit, base_fee, params).max(least))
}

/// The parameters of an OP-stack block for the next one, the gas that counts, and the least base fee.
fn op_params(spec: &ChainSpec, header: &Header) -> (BaseFeeParams, u64, u64) {
    let of = |(elasticity, denominator): (u32, u32)| {
        BaseFeeParams::new(u128::from(denominator), u128::from(elasticity))
    };
    if spec.is_jovian_active_at_timestamp(header.timestamp)
        && let Ok((elasticity, denominator, least)) = decode_jovian_extra_data(&header.extra_data)
    {
        // What the data of its transactions takes counts like gas.
        let metered = header.gas_used.max(header.blob_gas_used.unwrap_or_default());
        return (of((elasticity, denominator)), metered, least);
    }
    if spec.is_holocene_active_at_timestamp(header.timestamp)
        && let Ok(params) = decode_holocene_extra_data(&header.extra_data)
    {
        return (of(params), header.gas_used, 0);
    }
    let canyon = spec.is_canyon_active_at_timestamp(header.timestamp);
    (of(spec.op_base_fee.at(canyon)), header.gas_used, 0)
}

fn blob_fees(spec: &ChainSpec, header: &Header) -> Option<BlobFees> {
    let excess = header.excess_blob_gas?;
    let gas_used = header.blob_gas_used.unwrap_or_default();
    // OP-stack chains have the fields and no blobs: a fee of 1 for nothing.
    let Some(params) = spec.blob_params_at(header.timestamp) else {
        return Some(BlobFees { gas_used, max_gas: 0, fee: 1, next_fee: 1 });
    };
    let next = header.next_block_excess_blob_gas(params).unwrap_or_default();
    Some(BlobFees {
        gas_used,
        max_gas: params.max_blob_gas_per_block(),
        fee: params.calc_blob_fee(excess),
        next_fee: params.calc_blob_fee(next),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use alloy_primitives::{B256, Bytes, hex};

    fn spec(text: &str) -> ChainSpec {
        ChainSpec::parse(text).unwrap()
    }

    fn fees(spec: &ChainSpec, header: &Header) -> Fees {
        fees_of(spec, &alloy_rlp::encode(header)).unwrap()
    }

    fn header() -> Header {
        Header {
            number: 7,
            timestamp: 100,
            gas_limit: 60_000_000,
            gas_used: 20_000_000,
            base_fee_per_gas: Some(1_000_000_000),
            ..Header::default()
        }
    }

    /// With the fields that a header has from Cancun on.
    fn full() -> Header {
        Header { withdrawals_root: Some(B256::ZERO), excess_blob_gas: Some(0), ..header() }
    }

    #[test]
    fn london_begins_with_its_first_fee() {
        let spec = spec(r#"{"chainId":1,"londonBlock":8}"#);
        let before = Header { base_fee_per_gas: None, ..header() };
        assert_eq!(fees(&spec, &before).next_base_fee, Some(1_000_000_000));
        assert_eq!(fees(&spec, &Header { number: 6, ..before }).next_base_fee, None);
    }

    #[test]
    fn op_chains_have_parameters_of_their_own() {
        let config = |forks: &str| {
            spec(&format!(
                r#"{{"chainId":1,"londonBlock":0,"bedrockBlock":0,{forks}
                "optimism":{{"eip1559Elasticity":6,"eip1559Denominator":50,"eip1559DenominatorCanyon":250}}}}"#
            ))
        };
        // A target of 10,000,000 is exceeded by as much: a fiftieth, or a 250th.
        assert_eq!(fees(&config(""), &header()).next_base_fee, Some(1_020_000_000));
        assert_eq!(fees(&config(r#""canyonTime":0,"#), &header()).next_base_fee, Some(1_004_000_000));
        let holocene = Header { extra_data: Bytes::from(hex!("000000000a00000002")), ..header() };
        let forks = r#""canyonTime":0,"holoceneTime":0,"#;
        // A target of 30,000,000 is missed by a third of it.
        assert_eq!(fees(&config(forks), &holocene).next_base_fee, Some(966_666_667));
        let forks = r#""canyonTime":0,"holoceneTime":0,"jovianTime":0,"#;
        let extra_data = Bytes::from(hex!("010000000a00000002000000003b9aca00"));
        let jovian = Header { extra_data, blob_gas_used: Some(60_000_000), ..full() };
        assert_eq!(fees(&config(forks), &jovian).next_base_fee, Some(1_100_000_000));
        assert_eq!(
            fees(&config(forks), &Header { blob_gas_used: Some(0), ..jovian }).next_base_fee,
            Some(1_000_000_000)
        );
    }

    #[test]
    fn blobs_have_the_fees_of_their_fork() {
        let spec = spec(
            r#"{"chainId":1,"londonBlock":0,"shanghaiTime":0,"terminalTotalDifficulty":0,"cancunTime":0,"pragueTime":200}"#,
        );
        let blobs = |timestamp| {
            let excess_blob_gas = Some(50_000_000);
            fees(&spec, &Header { timestamp, excess_blob_gas, blob_gas_used: Some(131_072), ..full() }).blobs
        };
        let (cancun, prague) = (blobs(100).unwrap(), blobs(200).unwrap());
        assert_eq!((cancun.max_gas, prague.max_gas), (6 * 131_072, 9 * 131_072));
        assert!(cancun.fee > prague.fee && prague.fee > prague.next_fee);
        assert_eq!(fees(&spec, &header()).blobs, None);
    }
}

//! Block headers and what they say of fees; transactions on their way to a pool.

use crate::chain::NativeChain;
use crate::errors::{Result, error};
use chain_query_evm as core;
use napi_derive::napi;

/// What a block header says.
#[napi(object)]
pub struct NativeHeader {
    pub number: f64,
    pub hash: String,
    pub state_root: String,
}

/// Reads the header of a block (RLP, the whole block or only its header).
#[napi(catch_unwind)]
pub fn read_header(block: &[u8]) -> Result<NativeHeader> {
    let header = core::read_header(block).map_err(error)?;
    Ok(NativeHeader {
        number: header.number as f64,
        hash: header.hash_slow().to_string(),
        state_root: header.state_root.to_string(),
    })
}

/// Fees of a block and of the next one: quantities in wei.
#[napi(object)]
pub struct NativeFees {
    pub beneficiary: String,
    pub gas_used: f64,
    pub gas_limit: f64,
    pub base_fee: Option<String>,
    pub next_base_fee: Option<String>,
    pub blobs: Option<NativeBlobFees>,
}

#[napi(object)]
pub struct NativeBlobFees {
    pub gas_used: f64,
    pub max_gas: f64,
    pub fee: String,
    pub next_fee: String,
}

/// What a signed transaction says.
#[napi(object)]
pub struct NativeRawTransaction {
    pub hash: String,
    pub from: String,
    pub nonce: f64,
}

#[napi]
impl NativeChain {
    /// The fees of a block (RLP, the whole block or only its header).
    #[napi(catch_unwind)]
    pub fn fees(&self, block: &[u8]) -> Result<NativeFees> {
        let fees = core::fees_of(self.inner.spec(), block).map_err(error)?;
        let quantity = |fee: u64| format!("{fee:#x}");
        Ok(NativeFees {
            beneficiary: format!("{:#x}", fees.beneficiary),
            gas_used: fees.gas_used as f64,
            gas_limit: fees.gas_limit as f64,
            base_fee: fees.base_fee.map(quantity),
            next_base_fee: fees.next_base_fee.map(quantity),
            blobs: fees.blobs.map(|blobs| NativeBlobFees {
                gas_used: blobs.gas_used as f64,
                max_gas: blobs.max_gas as f64,
                fee: format!("{:#x}", blobs.fee),
                next_fee: format!("{:#x}", blobs.next_fee),
            }),
        })
    }

    /// Whether it is a chain of the OP stack.
    #[napi(getter)]
    pub fn is_op_stack(&self) -> bool {
        self.inner.spec().stack == core::Stack::Op
    }

    /// Reads a signed transaction; one that no pool of this chain would take is refused in the words of geth.
    #[napi(catch_unwind)]
    pub fn read_raw_transaction(&self, bytes: &[u8]) -> Result<NativeRawTransaction> {
        let read = core::read_raw_transaction(self.inner.spec(), bytes).map_err(error)?;
        Ok(NativeRawTransaction {
            hash: read.hash.to_string(),
            from: format!("{:#x}", read.from),
            nonce: read.nonce as f64,
        })
    }
}

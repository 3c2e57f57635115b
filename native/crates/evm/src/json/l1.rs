//! What the first transaction of an OP-stack block tells the L2 about L1, as the state that executing it leaves.
//!
//! By hand: op-alloy-protocol reads the same calldata, but pulls in the RPC types for it, and what it gives would still
//! have to be made into what op-revm reads from state. Put as state, both ways end in the same code.

use alloy_primitives::{Address, B256, U256};
use op_revm::constants::{
    BASE_FEE_SCALAR_OFFSET, BLOB_BASE_FEE_SCALAR_OFFSET, DA_FOOTPRINT_GAS_SCALAR_OFFSET,
    ECOTONE_L1_BLOB_BASE_FEE_SLOT, ECOTONE_L1_FEE_SCALARS_SLOT, L1_BASE_FEE_SLOT, L1_BLOCK_CONTRACT,
    L1_OVERHEAD_SLOT, L1_SCALAR_SLOT, OPERATOR_FEE_CONSTANT_OFFSET, OPERATOR_FEE_SCALAR_OFFSET,
    OPERATOR_FEE_SCALARS_SLOT,
};
use revm::Database;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use std::convert::Infallible;

const BEDROCK: [u8; 4] = [0x01, 0x5d, 0x8e, 0xb9];
const ECOTONE: [u8; 4] = [0x44, 0x0a, 0x5e, 0x20];
const ISTHMUS: [u8; 4] = [0x09, 0x89, 0x99, 0xbe];
const JOVIAN: [u8; 4] = [0x3d, 0xb6, 0xbe, 0x2b];

/// Storage of the L1 attributes contract, as far as fees depend on it.
#[derive(Debug, Default)]
pub(super) struct L1Attributes {
    slots: Vec<(U256, U256)>,
}

impl L1Attributes {
    /// Reads the calldata of an L1 attributes deposit; `None` if it is none.
    pub(super) fn parse(input: &[u8]) -> Option<Self> {
        let (selector, fields) = input.split_first_chunk::<4>()?;
        let word = |at: usize| fields.get(at..at + 32).and_then(U256::try_from_be_slice);
        let mut slots = Vec::new();
        if *selector == BEDROCK {
            // Eight words: number, time, base fee, hash, sequence number, batcher, overhead, scalar.
            slots.push((L1_BASE_FEE_SLOT, word(64)?));
            slots.push((L1_OVERHEAD_SLOT, word(192)?));
            slots.push((L1_SCALAR_SLOT, word(224)?));
            return Some(Self { slots });
        }
        if ![ECOTONE, ISTHMUS, JOVIAN].contains(selector) {
            return None;
        }
        // Packed: two scalars of 4 bytes; sequence number, time and number of 8; base fee and blob base fee of 32;
        // hash and batcher of 32.
        slots.push((L1_BASE_FEE_SLOT, word(32)?));
        slots.push((ECOTONE_L1_BLOB_BASE_FEE_SLOT, word(64)?));
        let scalars =
            [(BASE_FEE_SCALAR_OFFSET, fields.get(..4)?), (BLOB_BASE_FEE_SCALAR_OFFSET, fields.get(4..8)?)];
        slots.push((ECOTONE_L1_FEE_SCALARS_SLOT, pack(&scalars)));
        let mut operator = Vec::new();
        if *selector != ECOTONE {
            operator.push((OPERATOR_FEE_SCALAR_OFFSET, fields.get(160..164)?));
            operator.push((OPERATOR_FEE_CONSTANT_OFFSET, fields.get(164..172)?));
        }
        if *selector == JOVIAN {
            operator.push((DA_FOOTPRINT_GAS_SCALAR_OFFSET, fields.get(172..174)?));
        }
        slots.push((OPERATOR_FEE_SCALARS_SLOT, pack(&operator)));
        Some(Self { slots })
    }
}

/// A slot with these bytes at these places.
fn pack(parts: &[(usize, &[u8])]) -> U256 {
    let mut word = B256::ZERO;
    for (at, bytes) in parts {
        for (place, byte) in word.iter_mut().skip(*at).zip(*bytes) {
            *place = *byte;
        }
    }
    word.into()
}

impl Database for L1Attributes {
    type Error = Infallible;

    fn basic(&mut self, _: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(None)
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
        Ok(Bytecode::default())
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Infallible> {
        let found = self.slots.iter().find(|(key, _)| address == L1_BLOCK_CONTRACT && *key == slot);
        Ok(found.map_or(U256::ZERO, |(_, value)| *value))
    }

    fn block_hash(&mut self, _: u64) -> Result<B256, Infallible> {
        Ok(B256::ZERO)
    }
}

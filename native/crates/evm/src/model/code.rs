//! Contract code.

use alloy_primitives::Bytes;
use revm::bytecode::Bytecode;

/// Code as the EVM runs it. What only begins like a delegation (EIP-7702) is code, if none that gets far.
pub(crate) fn bytecode(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}

//! CREATE and CREATE2 with what is wrong with them found in geth's order: the size of memory before that of the code.
//! revm looks at the code first. Both halt with the same effect, but in other words.

use revm::interpreter::instructions::contract;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Host, InstructionContext, InstructionResult};
use revm::primitives::U256;

/// The largest memory that geth has a price for.
const MAX_MEMORY: u64 = 0x1F_FFFF_FFE0;

/// Creates a contract, unless its code would lie where no memory can be.
pub(crate) fn create<const IS_CREATE2: bool, H: Host>(context: InstructionContext<'_, H, EthInterpreter>) {
    let arguments = if IS_CREATE2 { 4 } else { 3 };
    if is_beyond_memory(context.interpreter.stack.data(), arguments) {
        context.interpreter.halt(InstructionResult::InvalidOperandOOG);
    } else {
        contract::create::<_, IS_CREATE2, _>(context);
    }
}

/// Whether the code of a creation reaches beyond any memory. The value is on top of the stack, then its place, then its
/// length; with too few arguments something else is wrong.
fn is_beyond_memory(stack: &[U256], arguments: usize) -> bool {
    match stack {
        [.., length, offset, _] if stack.len() >= arguments => {
            !length.is_zero() && offset.saturating_add(*length) > U256::from(MAX_MEMORY)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(offset: U256, length: U256) -> bool {
        is_beyond_memory(&[length, offset, U256::ZERO], 3)
    }

    #[test]
    fn memory_ends_where_geth_has_no_price() {
        let end = U256::from(MAX_MEMORY);
        assert!(!beyond(U256::ZERO, end));
        assert!(beyond(U256::from(1), end));
        assert!(beyond(U256::MAX, U256::from(1)));
        assert!(beyond(U256::from(u64::MAX), U256::from(u64::MAX)));
        assert!(!beyond(U256::MAX, U256::ZERO), "nothing lies nowhere");
    }

    #[test]
    fn too_few_arguments_are_not_judged() {
        let stack = [U256::MAX, U256::MAX, U256::ZERO];
        assert!(is_beyond_memory(&stack, 3));
        assert!(!is_beyond_memory(&stack, 4));
        assert!(!is_beyond_memory(&stack[1..], 3));
    }
}

//! What went wrong in a frame, in geth's words.

use crate::evm::vm::halt_text;
use revm::bytecode::opcode::OpCode;
use revm::context_interface::result::HaltReason;
use revm::interpreter::interpreter_types::{Jumps, LoopControl};
use revm::interpreter::{InstructionResult, Interpreter, InterpreterAction, SuccessOrHalt};

/// The opcode that runs, as far as its failure is told by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) opcode: u8,
    pub(super) stack_len: usize,
}

impl Running {
    pub(super) fn of(interpreter: &Interpreter) -> Self {
        Self { opcode: interpreter.bytecode.opcode(), stack_len: interpreter.stack.len() }
    }

    /// Its name; what has none is written as a number.
    pub(super) fn name(&self) -> String {
        let Self { opcode, .. } = self;
        OpCode::new(*opcode)
            .map_or_else(|| format!("opcode {opcode:#x} not defined"), |known| known.as_str().to_owned())
    }

    /// What geth finds wrong with an opcode before it runs; nothing where it fails later.
    pub(super) fn refusal(&self, result: InstructionResult) -> Option<String> {
        use InstructionResult as R;
        let len = self.stack_len;
        let underflow = || {
            let wanted = OpCode::new(self.opcode).map_or(0, |opcode| opcode.inputs());
            format!("stack underflow ({len} <=> {wanted})")
        };
        Some(match result {
            R::OutOfGas | R::MemoryOOG | R::MemoryLimitOOG | R::ReentrancySentryOOG => "out of gas".into(),
            R::InvalidOperandOOG => "gas uint64 overflow".into(),
            R::StackUnderflow => underflow(),
            R::StackOverflow if len >= 1023 => format!("stack limit reached {len} (1023)"),
            // revm says overflow also where DUP or SWAP reach below the stack.
            R::StackOverflow => underflow(),
            _ => return None,
        })
    }

    /// How it ended its frame, if it failed.
    pub(super) fn failure(&self, result: InstructionResult) -> Option<String> {
        use InstructionResult as R;
        match result {
            R::OpcodeNotFound | R::NotActivated => Some(format!("invalid opcode: {}", self.name())),
            _ => self.refusal(result).or_else(|| failure(result)),
        }
    }
}

/// How a frame ended that failed without an opcode.
pub(super) fn failure(result: InstructionResult) -> Option<String> {
    if result.is_ok() {
        return None;
    }
    if result == InstructionResult::Revert {
        return Some("execution reverted".into());
    }
    Some(match SuccessOrHalt::<HaltReason>::from(result) {
        SuccessOrHalt::Halt(reason) => halt_text(&reason),
        _ if result == InstructionResult::OutOfFunds => halt_text(&HaltReason::OutOfFunds),
        _ if result == InstructionResult::CallTooDeep => halt_text(&HaltReason::CallTooDeep),
        _ => format!("{result:?}"),
    })
}

/// How an interpreter has just ended, if it has.
pub(super) fn ended(interpreter: &mut Interpreter) -> Option<InstructionResult> {
    match interpreter.bytecode.action() {
        Some(InterpreterAction::Return(result)) => Some(result.result),
        _ => None,
    }
}

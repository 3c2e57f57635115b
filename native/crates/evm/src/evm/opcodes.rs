//! The instructions that count what they do.

use crate::evm::create;
use crate::evm::meter::{CALL_STEPS, Metered};
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{contract, control, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Instruction, InstructionContext, InstructionResult};
use revm::primitives::hardfork::SpecId;

type Step<'a, H> = InstructionContext<'a, H, EthInterpreter>;

#[inline]
fn count<H: Metered>(context: &mut Step<'_, H>, steps: u64) -> bool {
    let (depth, gas) = (context.host.depth(), context.interpreter.gas.remaining());
    if context.host.meter().count(steps, depth, gas) {
        return true;
    }
    context.host.fail();
    context.interpreter.halt(InstructionResult::FatalExternalError);
    false
}

fn jumpdest<H: Metered>(mut context: Step<'_, H>) {
    count(&mut context, 1);
}

/// The length of the memory that an opcode names: the second on the stack, after where it begins.
fn length<H: Metered>(context: &Step<'_, H>) -> u64 {
    context.interpreter.stack.data().iter().rev().nth(1).map_or(0, |len| len.saturating_to::<u64>())
}

fn keccak256<H: Metered>(mut context: Step<'_, H>) {
    // One step for each 128 bytes hashed; a length that does not fit runs out of gas anyway.
    let steps = 1 + (length(&context) >> 7).min(1 << 20);
    if count(&mut context, steps) {
        system::keccak256(context);
    }
}

macro_rules! counted_outputs {
    ($($name:ident = $inner:expr),+ $(,)?) => {
        $(fn $name<H: Metered>(mut context: Step<'_, H>) {
            // One step for each word: it is copied, and what a call returns becomes text on the thread that serves.
            let steps = 1 + (length(&context) >> 5).min(1 << 20);
            if count(&mut context, steps) {
                $inner(context);
            }
        })+
    };
}

counted_outputs! {
    ret = control::ret,
    revert = control::revert,
}

macro_rules! counted_calls {
    ($($name:ident = $inner:expr),+ $(,)?) => {
        $(fn $name<H: Metered>(mut context: Step<'_, H>) {
            if count(&mut context, CALL_STEPS) {
                $inner(Step { interpreter: &mut *context.interpreter, host: &mut *context.host });
                let (depth, gas) = (context.host.depth(), context.interpreter.gas.remaining());
                context.host.meter().hold(depth, gas);
            }
        })+
    };
}

counted_calls! {
    call = contract::call,
    call_code = contract::call_code,
    delegate_call = contract::delegate_call,
    static_call = contract::static_call,
    create = create::create::<false, _>,
    create2 = create::create::<true, _>,
}

/// Opcodes and the fork that brought them.
const NEW_OPCODES: [(u8, SpecId); 24] = [
    (opcode::DELEGATECALL, SpecId::HOMESTEAD),
    (opcode::RETURNDATASIZE, SpecId::BYZANTIUM),
    (opcode::RETURNDATACOPY, SpecId::BYZANTIUM),
    (opcode::STATICCALL, SpecId::BYZANTIUM),
    (opcode::REVERT, SpecId::BYZANTIUM),
    (opcode::SHL, SpecId::PETERSBURG),
    (opcode::SHR, SpecId::PETERSBURG),
    (opcode::SAR, SpecId::PETERSBURG),
    (opcode::EXTCODEHASH, SpecId::PETERSBURG),
    (opcode::CREATE2, SpecId::PETERSBURG),
    (opcode::CHAINID, SpecId::ISTANBUL),
    (opcode::SELFBALANCE, SpecId::ISTANBUL),
    (opcode::BASEFEE, SpecId::LONDON),
    (opcode::PUSH0, SpecId::SHANGHAI),
    (opcode::TLOAD, SpecId::CANCUN),
    (opcode::TSTORE, SpecId::CANCUN),
    (opcode::MCOPY, SpecId::CANCUN),
    (opcode::BLOBHASH, SpecId::CANCUN),
    (opcode::BLOBBASEFEE, SpecId::CANCUN),
    (opcode::CLZ, SpecId::OSAKA),
    (opcode::DUPN, SpecId::AMSTERDAM),
    (opcode::SWAPN, SpecId::AMSTERDAM),
    (opcode::EXCHANGE, SpecId::AMSTERDAM),
    (opcode::SLOTNUM, SpecId::AMSTERDAM),
];

/// Puts the counting instructions into a table; gas costs stay those of the fork. Opcodes that the fork does not
/// know become unknown: revm would charge for them first, and so call some of them out of gas.
pub(crate) fn install<H: Metered>(instructions: &mut EthInstructions<EthInterpreter, H>, fork: SpecId) {
    let table = &mut instructions.instruction_table;
    let mut set = |code: u8, step: fn(Step<'_, H>)| {
        let slot = &mut table[usize::from(code)];
        *slot = Instruction::new(step, slot.static_gas());
    };
    set(opcode::JUMPDEST, jumpdest);
    set(opcode::KECCAK256, keccak256);
    set(opcode::RETURN, ret);
    set(opcode::REVERT, revert);
    set(opcode::CALL, call);
    set(opcode::CALLCODE, call_code);
    set(opcode::DELEGATECALL, delegate_call);
    set(opcode::STATICCALL, static_call);
    set(opcode::CREATE, create);
    set(opcode::CREATE2, create2);
    for (code, since) in NEW_OPCODES {
        if !fork.is_enabled_in(since) {
            table[usize::from(code)] = Instruction::unknown();
        }
    }
}

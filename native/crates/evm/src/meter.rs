//! Limits on how long a call runs. Counting gas would change what GAS, the 63/64 rule and try/catch see, so work is
//! counted where code can loop or fan out: at JUMPDEST, at calls and creates, and by the length of what is hashed.

use crate::db::ViewDb;
use alloy_evm::eth::EthEvmContext;
use alloy_op_evm::OpEvmContext;
use revm::bytecode::opcode;
use revm::context_interface::context::ContextError;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{contract, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Host, Instruction, InstructionContext, InstructionResult};
use revm::primitives::hardfork::SpecId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Set by whoever no longer wants an answer.
pub type CancelFlag = Arc<AtomicBool>;

/// Steps between two looks at the clock.
const STRIDE: u64 = 4096;
/// What a call costs in steps: entering a frame, or running a precompile.
const CALL_STEPS: u64 = 64;

/// Why a run was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It used up its steps and belongs in the pool.
    Budget,
    Deadline,
    Cancelled,
}

/// Counts the steps of one run down.
#[derive(Debug)]
pub(crate) struct Meter {
    left: u64,
    limit: Limit,
    pub(crate) stopped: Option<Stop>,
}

#[derive(Debug)]
enum Limit {
    None,
    Steps,
    Clock { deadline: Instant, cancel: CancelFlag },
}

impl Meter {
    pub(crate) const fn unlimited() -> Self {
        Self { left: u64::MAX, limit: Limit::None, stopped: None }
    }

    pub(crate) const fn steps(budget: u64) -> Self {
        Self { left: budget, limit: Limit::Steps, stopped: None }
    }

    pub(crate) const fn clock(deadline: Instant, cancel: CancelFlag) -> Self {
        Self { left: STRIDE, limit: Limit::Clock { deadline, cancel }, stopped: None }
    }

    /// Counts `steps`; false when the run must stop.
    #[inline]
    fn tick(&mut self, steps: u64) -> bool {
        if self.left >= steps {
            self.left -= steps;
            return true;
        }
        self.refill()
    }

    #[cold]
    fn refill(&mut self) -> bool {
        self.stopped = match &self.limit {
            Limit::None => None,
            Limit::Steps => Some(Stop::Budget),
            Limit::Clock { cancel, .. } if cancel.load(Ordering::Relaxed) => Some(Stop::Cancelled),
            Limit::Clock { deadline, .. } if Instant::now() >= *deadline => Some(Stop::Deadline),
            Limit::Clock { .. } => None,
        };
        self.left = STRIDE;
        self.stopped.is_none()
    }
}

/// A host whose database carries the meter.
pub(crate) trait Metered: Host {
    fn meter(&mut self) -> &mut Meter;
    fn fail(&mut self);
}

macro_rules! metered {
    ($context:ty) => {
        impl Metered for $context {
            #[inline]
            fn meter(&mut self) -> &mut Meter {
                &mut self.journaled_state.database.meter
            }

            fn fail(&mut self) {
                self.error = Err(ContextError::Custom("stopped by the meter".into()));
            }
        }
    };
}

metered!(EthEvmContext<ViewDb>);
metered!(OpEvmContext<ViewDb>);

type Step<'a, H> = InstructionContext<'a, H, EthInterpreter>;

#[inline]
fn count<H: Metered>(context: &mut Step<'_, H>, steps: u64) -> bool {
    if context.host.meter().tick(steps) {
        return true;
    }
    context.host.fail();
    context.interpreter.halt(InstructionResult::FatalExternalError);
    false
}

fn jumpdest<H: Metered>(mut context: Step<'_, H>) {
    count(&mut context, 1);
}

fn keccak256<H: Metered>(mut context: Step<'_, H>) {
    // One step for each 128 bytes hashed; a length that does not fit runs out of gas anyway.
    let words = context.interpreter.stack.data().iter().rev().nth(1).map_or(0, |len| len.saturating_to::<u64>());
    if count(&mut context, 1 + (words >> 7).min(1 << 20)) {
        system::keccak256(context);
    }
}

macro_rules! counted_calls {
    ($($name:ident = $inner:expr),+ $(,)?) => {
        $(fn $name<H: Metered>(mut context: Step<'_, H>) {
            if count(&mut context, CALL_STEPS) {
                $inner(context);
            }
        })+
    };
}

counted_calls! {
    call = contract::call,
    call_code = contract::call_code,
    delegate_call = contract::delegate_call,
    static_call = contract::static_call,
    create = contract::create::<_, false, _>,
    create2 = contract::create::<_, true, _>,
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

//! The struct logger: each opcode as geth's `debug_trace*` gives it by default. It writes JSON as it goes, so that what it takes is known.

use super::fault::{Running, ended};
use crate::evm::meter::Metered;
use alloy_primitives::map::AddressMap;
use alloy_primitives::{B256, Bytes, U256, hex};
use revm::bytecode::opcode;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LegacyBytecode, LoopControl, MemoryTr, ReturnData};
use revm::interpreter::{FrameInput, Interpreter, InterpreterAction};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is logged of each opcode.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LogOptions {
    enable_memory: bool,
    disable_stack: bool,
    disable_storage: bool,
    enable_return_data: bool,
    /// Bytes of logs after which no more are written; nothing ends them when zero.
    limit: u64,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct StructLogger {
    options: LogOptions,
    logs: String,
    /// How many there are.
    count: usize,
    storage: AddressMap<BTreeMap<B256, B256>>,
    /// What each frame is refunded so far, by its depth.
    refunds: Vec<i64>,
    step: Option<Step>,
}

/// An opcode that runs.
#[derive(Debug)]
struct Step {
    pc: usize,
    running: Running,
    gas: u64,
    depth: usize,
    /// The slot of an SLOAD or SSTORE.
    slot: Option<U256>,
    written: Option<U256>,
    /// Fields that must be taken before it runs: stack, return data and memory.
    fields: String,
}

impl StructLogger {
    pub(crate) fn new(options: LogOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(crate) const fn size(&self) -> usize {
        self.logs.len()
    }

    /// The whole trace.
    pub(crate) fn finish(&self, gas: u64, failed: bool, output: &Bytes) -> String {
        let logs = &self.logs;
        format!(r#"{{"gas":{gas},"failed":{failed},"returnValue":"{output}","structLogs":[{logs}]}}"#)
    }

    pub(crate) fn step<C: Metered>(&mut self, interpreter: &mut Interpreter, context: &C) {
        let depth = context.depth();
        self.refunds.resize(depth + 1, 0);
        // Commas do not count. Without code there is no opcode either.
        let written = self.logs.len().saturating_sub(self.count.saturating_sub(1)) as u64;
        if (self.options.limit > 0 && written > self.options.limit) || interpreter.bytecode.bytecode_len() == 0 {
            return;
        }
        let running = Running::of(interpreter);
        let opcode = running.opcode;
        let stack = interpreter.stack.data();
        let touches = matches!(opcode, opcode::SLOAD | opcode::SSTORE) && !self.options.disable_storage;
        let from_top = |place: usize| stack.iter().rev().nth(place).copied();
        let slot = touches.then(|| from_top(0)).flatten();
        let written = (touches && opcode == opcode::SSTORE).then(|| from_top(1)).flatten();
        self.step = Some(Step {
            pc: interpreter.bytecode.pc(),
            running,
            gas: interpreter.gas.remaining(),
            depth,
            slot,
            written,
            fields: self.fields(interpreter),
        });
    }

    fn fields(&self, interpreter: &Interpreter) -> String {
        let mut fields = String::new();
        if !self.options.disable_stack {
            let words = interpreter.stack.data().iter().map(|word| format!("\"{word:#x}\""));
            let _ = write!(fields, ",\"stack\":[{}]", words.collect::<Vec<_>>().join(","));
        }
        let returned = interpreter.return_data.buffer();
        if self.options.enable_return_data && !returned.is_empty() {
            let _ = write!(fields, ",\"returnData\":\"{returned}\"");
        }
        let size = interpreter.memory.size();
        if self.options.enable_memory && size > 0 {
            let memory = interpreter.memory.slice(0..size);
            let words = memory.chunks(32).map(|word| format!("\"0x{}\"", hex::encode(word)));
            let _ = write!(fields, ",\"memory\":[{}]", words.collect::<Vec<_>>().join(","));
        }
        fields
    }

    pub(crate) fn step_end(&mut self, interpreter: &mut Interpreter) {
        let Some(step) = self.step.take() else {
            return;
        };
        let spent = step.gas.saturating_sub(interpreter.gas.remaining());
        let cost = match interpreter.bytecode.action() {
            // What a creation hands on is not part of its cost.
            Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => {
                spent.saturating_sub(inputs.gas_limit())
            }
            _ => spent,
        };
        let error = ended(interpreter).and_then(|result| step.running.refusal(result));
        // What an opcode gives back is known when its gas is.
        self.refunds[step.depth] = interpreter.gas.refunded();
        let storage = self.storage_after(interpreter, &step, error.is_some());
        self.write(&step, cost, error, storage);
    }

    /// What is known of the storage of the contract once a slot of it was read or written.
    fn storage_after(&mut self, interpreter: &Interpreter, step: &Step, failed: bool) -> Option<String> {
        let slot = step.slot?;
        let read = || interpreter.stack.data().last().copied().filter(|_| !failed);
        let value = if step.running.opcode == opcode::SSTORE { step.written? } else { read()? };
        let known = self.storage.entry(interpreter.input.target_address()).or_default();
        known.insert(slot.into(), value.into());
        let entries = known.iter().map(|(slot, value)| format!("\"{slot}\":\"{value}\""));
        Some(entries.collect::<Vec<_>>().join(","))
    }

    fn write(&mut self, step: &Step, cost: u64, error: Option<String>, storage: Option<String>) {
        let logs = &mut self.logs;
        if !logs.is_empty() {
            logs.push(',');
        }
        self.count += 1;
        let Step { pc, gas, depth, fields, .. } = step;
        let name = step.running.name();
        let refund: i64 = self.refunds.iter().sum();
        let _ = write!(logs, r#"{{"pc":{pc},"op":"{name}","gas":{gas},"gasCost":{cost},"depth":{depth}"#);
        if let Some(error) = error {
            let _ = write!(logs, ",\"error\":\"{error}\"");
        }
        logs.push_str(fields);
        if let Some(storage) = storage {
            let _ = write!(logs, ",\"storage\":{{{storage}}}");
        }
        if refund > 0 {
            let _ = write!(logs, ",\"refund\":{refund}");
        }
        logs.push('}');
    }
}

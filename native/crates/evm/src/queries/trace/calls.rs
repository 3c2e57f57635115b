//! The call tracer: each frame with what it was given and what came of it.

use super::fault::{Running, ended, failure};
use crate::base::revert;
use alloy_primitives::{Address, Bytes, Log, U256};
use revm::bytecode::opcode;
use revm::context_interface::{ContextTr, CreateScheme};
use revm::inspector::JournalExt;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
    InterpreterResult,
};
use serde::Deserialize;
use std::fmt::Write;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CallOptions {
    only_top_call: bool,
    with_log: bool,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct CallTracer {
    options: CallOptions,
    /// Those that run, the outermost first.
    open: Vec<Frame>,
    /// Frames that run, those that are not traced included.
    depth: usize,
    running: Option<Running>,
    /// Why the frame that has just ended failed, where its opcode told.
    fault: Option<String>,
    /// Whom a self-destruction pays, and how much.
    heir: Option<(Address, U256)>,
}

#[derive(Debug, Default)]
struct Frame {
    kind: &'static str,
    from: Address,
    to: Option<Address>,
    value: Option<U256>,
    gas: u64,
    used: u64,
    input: Bytes,
    output: Bytes,
    error: Option<String>,
    reason: Option<String>,
    calls: Vec<Self>,
    /// Each with the number of calls before it.
    logs: Vec<(Log, usize)>,
}

impl CallTracer {
    pub(super) fn new(options: CallOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(super) fn step<C>(&mut self, interpreter: &Interpreter, context: &C)
    where
        C: ContextTr<Journal: JournalExt>,
    {
        let running = Running::of(interpreter);
        self.running = Some(running);
        self.heir = None;
        if running.opcode == opcode::SELFDESTRUCT
            && let Some(heir) = interpreter.stack.data().last()
        {
            let account = context.journal().evm_state().get(&interpreter.input.target_address());
            let balance = account.map_or(U256::ZERO, |account| account.info.balance);
            self.heir = Some((Address::from_word((*heir).into()), balance));
        }
    }

    pub(super) fn step_end(&mut self, interpreter: &mut Interpreter) {
        let Some(result) = ended(interpreter) else {
            return;
        };
        self.fault = self.running.and_then(|running| running.failure(result));
        if let (InstructionResult::SelfDestruct, Some((to, value)), false) =
            (result, self.heir, self.options.only_top_call)
            && let Some(frame) = self.open.last_mut()
        {
            let from = interpreter.input.target_address();
            frame.calls.push(Frame {
                kind: "SELFDESTRUCT",
                from,
                to: Some(to),
                value: Some(value),
                ..Frame::default()
            });
        }
    }

    pub(super) fn log(&mut self, log: Log) {
        if !self.options.with_log || (self.options.only_top_call && self.depth > 1) {
            return;
        }
        if let Some(frame) = self.open.last_mut() {
            let calls = frame.calls.len();
            frame.logs.push((log, calls));
        }
    }

    pub(super) fn call<C: ContextTr>(&mut self, context: &C, inputs: &CallInputs) {
        let (kind, from, value) = match inputs.scheme {
            CallScheme::Call => ("CALL", inputs.caller, Some(inputs.value.get())),
            CallScheme::CallCode => ("CALLCODE", inputs.caller, Some(inputs.value.get())),
            CallScheme::DelegateCall => ("DELEGATECALL", inputs.target_address, Some(inputs.value.get())),
            CallScheme::StaticCall => ("STATICCALL", inputs.caller, None),
        };
        self.begin(|| Frame {
            kind,
            from,
            to: Some(inputs.bytecode_address),
            value,
            gas: inputs.gas_limit,
            input: inputs.input.bytes(context),
            ..Frame::default()
        });
    }

    pub(super) fn create(&mut self, inputs: &CreateInputs) {
        self.begin(|| Frame {
            kind: if matches!(inputs.scheme(), CreateScheme::Create2 { .. }) { "CREATE2" } else { "CREATE" },
            from: inputs.caller(),
            value: Some(inputs.value()),
            gas: inputs.gas_limit(),
            input: inputs.init_code().clone(),
            ..Frame::default()
        });
    }

    fn begin(&mut self, frame: impl FnOnce() -> Frame) {
        self.fault = None;
        if self.depth == 0 || !self.options.only_top_call {
            self.open.push(frame());
        }
        self.depth += 1;
    }

    pub(super) fn call_end(&mut self, outcome: &CallOutcome) {
        self.end(&outcome.result, None);
    }

    pub(super) fn create_end(&mut self, outcome: &CreateOutcome) {
        self.end(&outcome.result, outcome.address);
    }

    fn end(&mut self, result: &InterpreterResult, created: Option<Address>) {
        self.depth = self.depth.saturating_sub(1);
        let fault = self.fault.take();
        if self.depth > 0 && self.options.only_top_call {
            return;
        }
        let Some(frame) = self.open.last_mut() else {
            return;
        };
        let how = result.result;
        frame.to = frame.to.or(created.filter(|_| how.is_ok()));
        // What failed otherwise than by a revert has used all it was given.
        frame.used = if how.is_ok_or_revert() { result.gas.total_gas_spent() } else { frame.gas };
        frame.error = if how.is_ok() { None } else { fault.or_else(|| failure(how)) };
        if how.is_ok() || how == InstructionResult::Revert {
            frame.output = result.output.clone();
        }
        if how == InstructionResult::Revert {
            frame.reason = revert::reason(&frame.output);
        }
        if self.depth > 0
            && let Some(frame) = self.open.pop()
            && let Some(parent) = self.open.last_mut()
        {
            parent.calls.push(frame);
        }
    }

    /// The whole trace.
    pub(super) fn finish(&mut self, gas_limit: u64, used: u64) -> Result<String, String> {
        let Some(mut top) = self.open.pop() else {
            return Err("no call was made".into());
        };
        top.gas = gas_limit;
        top.used = used;
        let mut text = String::new();
        top.write(&mut text, false);
        Ok(text)
    }
}

impl Frame {
    /// Logs of what was undone are left out.
    fn write(&self, text: &mut String, is_undone: bool) {
        let is_undone = is_undone || self.error.is_some();
        let Self { kind, from, gas, used, input, .. } = self;
        let _ = write!(
            text,
            r#"{{"from":"{from:#x}","gas":"{gas:#x}","gasUsed":"{used:#x}","input":"{input}","type":"{kind}""#
        );
        if let Some(to) = self.to {
            let _ = write!(text, r#","to":"{to:#x}""#);
        }
        if !self.output.is_empty() {
            let _ = write!(text, r#","output":"{}""#, self.output);
        }
        for (name, words) in [("error", &self.error), ("revertReason", &self.reason)] {
            if let Some(words) = words.as_ref().filter(|words| !words.is_empty()) {
                let _ = write!(text, r#","{name}":{}"#, serde_json::Value::from(words.as_str()));
            }
        }
        if let Some(value) = self.value {
            let _ = write!(text, r#","value":"{value:#x}""#);
        }
        if !self.calls.is_empty() {
            text.push_str(r#","calls":["#);
            for (index, call) in self.calls.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                call.write(text, is_undone);
            }
            text.push(']');
        }
        if !self.logs.is_empty() && !is_undone {
            let logs = self.logs.iter().map(|(log, position)| {
                let topics = log.topics().iter().map(|topic| format!("\"{topic}\"")).collect::<Vec<_>>().join(",");
                let (address, data) = (log.address, &log.data.data);
                format!(r#"{{"address":"{address:#x}","topics":[{topics}],"data":"{data}","position":"{position:#x}"}}"#)
            });
            let _ = write!(text, r#","logs":[{}]"#, logs.collect::<Vec<_>>().join(","));
        }
        text.push('}');
    }
}

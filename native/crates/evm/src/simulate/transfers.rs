//! Transfers of ether as logs (ERC-7528): what a wallet shows of a call.

use alloy_primitives::{Address, B256, Log, LogData, U256, address, b256};
use revm::Inspector;
use revm::context_interface::ContextTr;
use revm::inspector::JournalExt;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome};

const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
const ETHER: Address = address!("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// Gathers the logs of a transaction, transfers among them. What is reverted leaves none.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// Whether transfers are asked for.
    on: bool,
    /// Each with its index in the block.
    logs: Vec<(usize, Log)>,
    /// Of the block so far. Those that were reverted count, too: so it is in the vectors of execution-apis.
    count: usize,
    /// How many there were when each open frame began.
    frames: Vec<usize>,
}

impl Transfers {
    pub(super) fn new(on: bool) -> Self {
        Self { on, ..Self::default() }
    }

    /// The logs of the transaction that ended, and begins anew.
    pub(super) fn take(&mut self) -> Vec<(usize, Log)> {
        self.frames.clear();
        std::mem::take(&mut self.logs)
    }

    fn enter(&mut self, transfer: Option<(Address, Address, U256)>) {
        if !self.on {
            return;
        }
        self.frames.push(self.logs.len());
        if let Some((from, to, value)) = transfer {
            self.add(from, to, value);
        }
    }

    fn leave(&mut self, succeeded: bool) {
        if let Some(before) = self.frames.pop()
            && !succeeded
        {
            self.logs.truncate(before);
        }
    }

    fn add(&mut self, from: Address, to: Address, value: U256) {
        if !self.on || value.is_zero() {
            return;
        }
        let topics = vec![TRANSFER, from.into_word(), to.into_word()];
        let data = LogData::new_unchecked(topics, value.to_be_bytes::<32>().into());
        self.push(Log { address: ETHER, data });
    }

    fn push(&mut self, log: Log) {
        self.logs.push((self.count, log));
        self.count += 1;
    }
}

impl<C: ContextTr<Journal: JournalExt>> Inspector<C> for Transfers {
    fn log(&mut self, _: &mut C, log: Log) {
        if self.on {
            self.push(log);
        }
    }

    fn call(&mut self, _: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        // CALLCODE moves nothing: its sender is its target.
        let value = inputs.transfer_value().filter(|_| inputs.scheme.is_call());
        self.enter(value.map(|value| (inputs.caller, inputs.target_address, value)));
        None
    }

    fn call_end(&mut self, _: &mut C, _: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(outcome.result.result.is_ok());
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        if self.on {
            let caller = inputs.caller();
            // The sender of a creation was loaded to be charged for it.
            let nonce = context.journal().evm_state().get(&caller).map_or(0, |account| account.info.nonce);
            let created = inputs.created_address(nonce);
            self.enter(Some((caller, created, inputs.value())));
        }
        None
    }

    fn create_end(&mut self, _: &mut C, _: &CreateInputs, outcome: &mut CreateOutcome) {
        // Who has no nonce left creates nothing, and is not told that it failed.
        self.leave(outcome.result.result.is_ok() && outcome.address.is_some());
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.add(contract, target, value);
    }
}

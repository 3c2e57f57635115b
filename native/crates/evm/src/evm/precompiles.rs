//! The precompiles that count what they do, and where native contracts are found out: like precompiles, they have no code to run.

use crate::evm::meter::{Metered, PRECOMPILE_GAS_PER_STEP, Stop, TakenFrame};
use alloy_evm::precompiles::PrecompilesMap;
use alloy_primitives::Address;
use revm::context_interface::{Cfg, ContextTr};
use revm::handler::PrecompileProvider;
use revm::interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult};

/// Precompiles that count. One gets no more gas than the steps or the time left are worth: if that is too little, the run
/// is stopped, and if it suffices, the answer is the same as with all of the gas.
#[derive(Debug)]
pub(crate) struct MeteredPrecompiles {
    active: PrecompilesMap,
    /// Precompiles that an override took away; their addresses stay warm.
    hidden: Vec<Address>,
    /// Where an override moved some to: addresses that are as cold as any other.
    moved: Vec<Address>,
}

impl MeteredPrecompiles {
    /// All of `active` but those at `hidden` addresses.
    pub(crate) fn without(mut active: PrecompilesMap, hidden: &[Address]) -> Self {
        let mut gone = Vec::new();
        for address in hidden {
            active.apply_precompile(address, |precompile| {
                gone.extend(precompile.map(|_| *address));
                None
            });
        }
        Self { active, hidden: gone, moved: Vec::new() }
    }

    /// Whether there is one at an address.
    pub(crate) fn has(&self, address: &Address) -> bool {
        self.active.get(address).is_some()
    }

    /// Takes a precompile away, and has it at another address if there is one; false where none is.
    pub(crate) fn displace(&mut self, address: &Address, to: Option<&Address>) -> bool {
        let mut taken = None;
        self.active.apply_precompile(address, |precompile| {
            taken = precompile;
            None
        });
        let Some(precompile) = taken else {
            return false;
        };
        self.hidden.push(*address);
        if let Some(to) = to {
            self.moved.push(*to);
            self.active.apply_precompile(to, |_| Some(precompile));
        }
        true
    }
}

impl<C> PrecompileProvider<C> for MeteredPrecompiles
where
    C: ContextTr + Metered,
    PrecompilesMap: PrecompileProvider<C, Output = InterpreterResult>,
{
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: <C::Cfg as Cfg>::Spec) -> bool {
        PrecompileProvider::<C>::set_spec(&mut self.active, spec)
    }

    fn run(&mut self, context: &mut C, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        if let Some(frame) = context.meter().taken {
            return Ok(Some(taken(frame)));
        }
        if context.is_native(&inputs.bytecode_address) {
            context.meter().stopped = Some(Stop::Native(inputs.bytecode_address));
            return Err("it enters a native contract".into());
        }
        if !PrecompileProvider::<C>::contains(&self.active, &inputs.bytecode_address) {
            return Ok(None);
        }
        let short = context.meter().precompile_gas().filter(|(limit, _)| *limit < inputs.gas_limit);
        let Some((limit, stop)) = short else {
            let result = self.active.run(context, inputs)?;
            return charge(context, inputs.gas_limit, result);
        };
        let result = self.active.run(context, &CallInputs { gas_limit: limit, ..inputs.clone() })?;
        if result.as_ref().is_some_and(|result| result.result == InstructionResult::PrecompileOOG) {
            context.meter().stopped = Some(stop);
            return Err("stopped by the meter".into());
        }
        let mut result = charge(context, limit, result)?;
        if let Some(InterpreterResult { result, gas, .. }) = &mut result {
            let unused = if result.is_ok_or_revert() { inputs.gas_limit - limit } else { 0 };
            gas.tracker_mut().set_limit(inputs.gas_limit);
            gas.set_remaining(gas.remaining() + unused);
        }
        Ok(result)
    }

    fn warm_addresses(&self) -> Box<impl Iterator<Item = Address>> {
        let active = PrecompileProvider::<C>::warm_addresses(&self.active);
        let active = active.filter(|address| !self.moved.contains(address));
        Box::new(active.chain(self.hidden.iter().copied()).collect::<Vec<_>>().into_iter())
    }

    fn contains(&self, address: &Address) -> bool {
        PrecompileProvider::<C>::contains(&self.active, address)
    }
}

/// The end of a frame that is not run.
fn taken(TakenFrame { succeeded, gas_left }: TakenFrame) -> InterpreterResult {
    let result = if succeeded { InstructionResult::Stop } else { InstructionResult::Revert };
    InterpreterResult { result, output: Default::default(), gas: Gas::new(gas_left) }
}

fn charge<H: Metered>(
    host: &mut H,
    limit: u64,
    result: Option<InterpreterResult>,
) -> Result<Option<InterpreterResult>, String> {
    let used = match &result {
        Some(result) if result.result.is_ok_or_revert() => limit - result.gas.remaining(),
        // Its gas is compared with what it costs before anything is computed.
        Some(result) if result.result == InstructionResult::PrecompileOOG => 0,
        // It may have failed at the very end, as a proof that does not hold does.
        Some(_) => limit,
        None => 0,
    };
    if host.meter().tick(used / PRECOMPILE_GAS_PER_STEP) { Ok(result) } else { Err("stopped by the meter".into()) }
}

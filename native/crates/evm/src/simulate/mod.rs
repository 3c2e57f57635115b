//! Blocks that nobody built: calls run one after another on the state after a block, as if they were the transactions of those after it.

mod block;
mod chain;
mod cost;
mod ended;
mod message;
mod overrides;
mod refusal;
mod render;
mod request;
mod run;
mod transfers;

pub use request::SimulationRequest;
pub use run::{Simulation, simulate};

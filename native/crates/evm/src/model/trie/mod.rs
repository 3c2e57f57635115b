//! Tries of complete states: their nodes are shared, so that a state that differs by a few keys costs a few paths.

pub(crate) mod kept;
mod node;
pub(crate) mod proof;
pub(crate) mod state;

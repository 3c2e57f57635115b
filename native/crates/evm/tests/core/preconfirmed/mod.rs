//! Flashblocks: blocks cut at random points must give, piece by piece, what executing the block so far from its start
//! gives; and the sealed block, taken over without executing it, what executing it gives. Blocks are real ones of OP
//! Sepolia and op-geth, and random ones.

pub(crate) mod case;
mod compare;
mod cost;
mod forms;
mod hostile;
pub(crate) mod made;
mod promotion;
pub(crate) mod real;
mod refused;
mod told;
mod versions;
mod whole;

//! What is asked about blocks and runs in the pool.

pub mod traced;

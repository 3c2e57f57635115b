//! The core's tests, in one program: each program is linked with the whole EVM, which takes longer than most of them run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod call;
mod conformance;
mod json;
mod karst;
mod limits;
mod native;
mod op_sepolia;
mod preconfirmed;
mod proof;
mod queries;
mod simulate;
mod spec;
mod working;

#[path = "../support/mod.rs"]
mod support;

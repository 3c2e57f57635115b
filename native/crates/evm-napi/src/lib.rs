//! The addon: casts between JavaScript and the core, and nothing else. Strings go in and come out because they
//! cross faster than buffers; every function turns a panic into an exception.

pub mod answer;
pub mod call;
pub mod chain;
pub mod errors;
pub mod execution;
pub mod header;
pub mod memory;
pub mod pooled;
pub mod preconfirmed;
pub mod provide;
pub mod queries;
pub mod simulation;
pub mod streams;
pub mod upstream;
pub mod view;

//! State held in memory: recent blocks, what was loaded, what is pre-confirmed, and views of it.

pub(crate) mod core;
pub(crate) mod history;
pub(crate) mod hot;
pub(crate) mod loaded;
pub(crate) mod overlay;
pub(crate) mod senders;
pub(crate) mod versions;
pub(crate) mod view;

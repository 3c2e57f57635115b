//! Pre-confirmed blocks: what flashblocks said so far, on top of the head of hot state.
//!
//! Each flashblock is executed on the state after the one before it. What it changed is put on top of the parts of the
//! overlay, which readers see as one new state in one step. They hold the state they began with. Nothing here reaches hot
//! state before the sealed block is there.

mod changes;
mod extend;
mod flashblock;
mod layers;
mod piece;
mod place;
mod promote;
mod roots;
mod run;
mod told;

pub(crate) use extend::Ahead;
pub use extend::PRECONFIRMED_DEPTH;
pub use flashblock::{Flashblock, FlashblockBase, FlashblockDiff};
pub use piece::{Extension, Piece, Preconfirmation};
pub use promote::{Difference, Promoted, Promotion, SealedRoots};
pub use told::ToldFlashblock;

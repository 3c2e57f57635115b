//! Where a flashblock goes: the same for one that is executed and for one that another process executed.

use crate::ahead::layers::{Layer, Layers};
use crate::base::error::Error;
use crate::model::claim::contradiction;
use crate::state::hot::HotBlock;
use alloy_consensus::Header;

/// Which flashblock of which block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) payload_id: &'a str,
    pub(super) index: u64,
}

impl Place<'_> {
    pub(super) fn refuse<T>(self, why: &str) -> Result<T, Error> {
        Err(Error::InvalidBlock(format!("flashblock {}: {why}", self.index)))
    }
}

impl Layers {
    /// Has the blocks stand on the head. Refused if they stand on another one.
    pub(super) fn base_on(&mut self, head: &HotBlock) -> Result<(), Error> {
        if self.blocks.is_empty() {
            (self.base_number, self.base_hash) = (head.header.number, head.hash);
        } else if !self.stand_on(head) {
            return Err(Error::Unavailable("the head moved".into()));
        }
        Ok(())
    }

    /// The block that a flashblock goes on with, which is not the first of its block.
    pub(super) fn to_go_on(&self, place: Place<'_>) -> Result<&Layer, Error> {
        match self.blocks.last() {
            Some(top) if top.payload_id == place.payload_id && top.index.checked_add(1) == Some(place.index) => {
                Ok(top)
            }
            Some(top) => place.refuse(&format!(
                "it does not follow flashblock {} of block {}, payload {}",
                top.index, top.header.number, top.payload_id
            )),
            None => place.refuse("the first of its block is not there"),
        }
    }

    /// How many blocks stay below the one with this header, whose first flashblock has come.
    pub(super) fn to_stand_on(
        &self,
        place: Place<'_>,
        header: &Header,
        head: &HotBlock,
        depth: usize,
    ) -> Result<usize, Error> {
        let keep = self.blocks.iter().take_while(|block| block.header.number < header.number).count();
        let parent = keep.checked_sub(1).map(|index| &self.blocks[index]);
        let (below, hash) = parent.map_or((&head.header, Some(head.hash)), |parent| (&parent.header, parent.hash));
        // A block whose hash its builder does not say is what the next one calls it, until it is sealed.
        if let Some(hash) = hash.filter(|hash| header.parent_hash != *hash) {
            let (number, parent) = (header.number, header.parent_hash);
            return place
                .refuse(&format!("block {number} on {parent} does not follow block {} {hash}", below.number));
        }
        if let Some(why) = contradiction(header, below) {
            return place.refuse(&format!("block {}: {why}", header.number));
        }
        if keep >= depth {
            return Err(Error::Unavailable(format!("no more than {depth} blocks are pre-confirmed at once")));
        }
        Ok(keep)
    }
}

//! The parameters of the block-mapped layer (thesis of Mylavarapu 2008, chapters 1 and 5).

use crate::{PolicyInfo, choice, params};

choice! {
    /// Which free block is used next.
    pub enum FreeOrder {
        /// The one that has been free longest.
        Fifo = "fifo",
        /// The one erased last.
        Lifo = "lifo",
        /// The lowest number.
        Lowest = "lowest",
    }
}

params! {
    /// Parameters of NFTL.
    pub struct Nftl {
        /// Percentage of free blocks below which a collection starts.
        start: u32 = 10,
        /// Percentage of free blocks at which it stops.
        stop: u32 = 20,
        /// Difference of erase counts beyond which a block is moved for the sake of even wear; 0:
        /// never.
        gap: u32 = 15,
        /// Which erased block is taken next: the one that waited longest, the one erased last, or the lowest
        /// number. The thesis does not say.
        free: FreeOrder = FreeOrder::Fifo,
    }
}

/// The catalogue entry.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "nftl",
    aliases: &[],
    source: "Ban 1995; Mylavarapu 2008, chapter 1",
    summary: "primary and replacement blocks, folded into one when full or when space is short",
    params: Nftl::info,
};

//! How an NFTL is set up.

use thermocline_policy::{choice, dead::Reclaim, nftl::FreeOrder};

choice! {
    /// Which pair is folded when blocks run out; the lowest virtual block among equals.
    #[derive(Default)]
    pub enum Choice {
        /// The pair with most dead pages.
        #[default]
        Greedy = "greedy",
        /// The pair with the greatest age · (1 − u) / 2u, where u is the live share of its programmed
        /// pages and the age counts from its last write.
        CostBenefit = "cost-benefit",
    }
}

/// How an [`Nftl`](super::Nftl) is set up.
#[derive(Clone, Debug)]
pub struct Config {
    /// Logical pages it exports: at most those of two blocks fewer than the chip's usable ones.
    pub logical_pages: u32,
    /// Which pair is folded.
    pub choice: Choice,
    /// Garbage is collected when fewer than this percentage of the blocks are free (the thesis' 10).
    pub start_percent: u32,
    /// Collection ends at this percentage (20), not less than the other, or when no pair is left.
    pub stop_percent: u32,
    /// The greatest difference of erase counts before data are moved; `None` for no static wear
    /// levelling.
    pub wear_gap: Option<u32>,
    /// Which erased block is taken next.
    pub free_order: FreeOrder,
    /// In idle time pairs with at least this number of dead pages are folded (the thesis' d_Th); none
    /// if 0.
    pub idle_dead_pages: u32,
    /// While a smaller percentage of the blocks is free, all pairs are folded in idle time, those with
    /// most dead pages first: a collection is near that would fold them anyway. 0: never.
    pub idle_short_percent: u32,
    /// Whether and when blocks of nothing but dead data are erased ahead of collection.
    pub reclaim: Option<Reclaim>,
}

impl Config {
    /// The thesis' baseline: greedy, collection from 10 to 20 %, a wear gap of 15, and nothing ahead
    /// of collection.
    #[must_use]
    pub const fn new(logical_pages: u32) -> Self {
        Self {
            logical_pages,
            choice: Choice::Greedy,
            start_percent: 10,
            stop_percent: 20,
            wear_gap: Some(15),
            free_order: FreeOrder::Fifo,
            idle_dead_pages: 0,
            idle_short_percent: 0,
            reclaim: None,
        }
    }

    /// Whether collections leave blocks of nothing but dead data to reclamation.
    pub(super) fn leaves_dead_blocks(&self) -> bool {
        self.reclaim.as_ref().is_some_and(|reclaim| !reclaim.collect)
    }
}

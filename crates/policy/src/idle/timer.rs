//! The idle timer: cleaning begins when no request has arrived for a while.
//!
//! The preemptible form of SLAC. It does not predict, so a burst after an isolated gap waits for at
//! most one step.

use alloc::boxed::Box;

use super::{Idle, IdleEntry, Leisure};
use crate::{PolicyInfo, Ticks, params, params::within};

params! {
    /// Parameters of the idle timer.
    pub struct Timer {
        /// Silence after which cleaning begins.
        after: Ticks = Ticks(20_000_000),
        /// Page-mapped: free blocks in each bank that are enough; auto: one more than the high
        /// watermark, and a sixteenth of the spare space.
        free: Option<u32> = None,
        /// NFTL: dead pages that make a pair of blocks worth folding; auto: the pages of a block.
        dead: Option<u32> = None,
        /// NFTL: percentage of free blocks below which any pair is folded, those with most dead pages
        /// first: a collection is near that would fold them anyway; 0: never.
        short: u32 = 0,
    }
}

impl Idle for Timer {
    fn arrived(&mut self, _time: u64) {}

    fn leisure(&self, _step: u64) -> Leisure {
        Leisure { after: self.after.0, steps: u64::MAX, yields: true }
    }

    fn enough_free(&self) -> Option<u32> {
        self.free
    }

    fn least_dead(&self) -> Option<u32> {
        self.dead
    }

    fn short_percent(&self) -> u32 {
        self.short
    }
}

pub(super) const ENTRY: IdleEntry = IdleEntry {
    info: PolicyInfo {
        name: "timer",
        aliases: &["idle-timer"],
        source: "Golding et al. 1995, Idleness is not sloth; the preemptible form of SLAC",
        summary: "cleans block after block once the device was idle for a while, until a request comes",
        params: Timer::info,
    },
    build: |args| {
        let timer = Timer::read(args)?;
        within("short", timer.short, 0..=100)?;
        Ok(Box::new(timer))
    },
};

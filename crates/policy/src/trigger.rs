//! When cleaning starts and stops.

use core::fmt;

use crate::choice;

choice! {
    /// The condition that starts cleaning.
    #[derive(Default)]
    pub enum Trigger {
        /// A write needs a block, and fewer than the low watermark are free.
        #[default]
        Lazy = "lazy",
        /// A write has left no more than the reserve; cleaning follows it directly (striping paper,
        /// §5).
        Eager = "eager",
        /// A write needs a block, and a victim has enough garbage: a full block of it at the high
        /// watermark, any at the low one (Kawaguchi, Nishioka, Motoda 1995: the gradually falling
        /// threshold).
        Falling = "falling",
    }
}

impl Trigger {
    /// The minimum number of garbage pages that makes a block of `pages` pages worth cleaning while
    /// `free` blocks are free.
    #[must_use]
    pub fn least_garbage(self, marks: &Watermarks, free: u32, pages: u32) -> u32 {
        if self != Self::Falling || free < marks.low {
            return 1;
        }
        // One step above the low watermark nearly any garbage suffices; one below the high one the
        // block must be nearly all garbage.
        let steps = u64::from((marks.high - marks.low).max(1));
        let above = u64::from(free - marks.low + 1);
        (u64::from(pages) * above).div_ceil(steps).min(u64::from(pages)).max(1) as u32
    }
}

/// How much cleaning a host write waits for.
///
/// Problem. A victim is cleaned completely before a write, so that write waits for all its
/// survivors. Idea. Each host page pays for the space it takes: after it, enough survivors are
/// moved to keep the number of free pages constant. Consequence. A victim stays partly cleaned
/// between writes, and pages that die in it meanwhile are not moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Victims are cleaned completely, when a write needs a block.
    #[default]
    Off,
    /// Each host page pays enough to keep the number of free pages constant.
    Paced,
    /// Like `Paced`, with at most this number of survivors moved after a host page. If it is too
    /// low for the utilisation of the device, writes wait for complete victims again.
    Most(u32),
}

impl Pacing {
    /// The values accepted by [`parse`](Self::parse).
    pub const EXPECTED: &'static str = "off | paced | N";

    /// Parses `off`, `paced`, or a number of survivors.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self::Off),
            "paced" => Some(Self::Paced),
            _ => text.parse().ok().filter(|most| *most > 0).map(Self::Most),
        }
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Paced => f.write_str("paced"),
            Self::Most(most) => write!(f, "{most}"),
        }
    }
}

/// Low and high watermarks of the free list (CAT paper, Table 7).
///
/// Host writes never take the last `reserve` free blocks, because survivors need them. Cleaning
/// starts when a write needs a block and fewer than `low` are free, and stops at `high`. The
/// default, `low = high = reserve + 1`, cleans only when a write needs a block and stops as soon as
/// it can get one. More hysteresis contradicts the published tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Free blocks reserved for cleaning.
    pub reserve: u32,
    /// Cleaning starts below this number of free blocks.
    pub low: u32,
    /// Cleaning stops at this number of free blocks.
    pub high: u32,
}

impl Watermarks {
    /// Cleans only when out of space, with `reserve` blocks for cleaning.
    #[must_use]
    pub const fn lazy(reserve: u32) -> Self {
        Self { reserve, low: reserve + 1, high: reserve + 1 }
    }
}

impl Default for Watermarks {
    fn default() -> Self {
        Self::lazy(2)
    }
}

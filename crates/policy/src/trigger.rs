//! When cleaning starts and when it stops.

use core::fmt;

use crate::choice;

choice! {
    /// What makes cleaning start.
    #[derive(Default)]
    pub enum Trigger {
        /// A write needs a block and fewer than the low watermark are free.
        #[default]
        Lazy = "lazy",
        /// A write has left the reserve or less: directly after it (striping paper, §5).
        Eager = "eager",
        /// A write needs a block, and a victim has garbage enough: all garbage at the high
        /// watermark, any at the low one (Kawaguchi, Nishioka, Motoda 1995: the gradually falling
        /// threshold).
        Falling = "falling",
    }
}

impl Trigger {
    /// The least pages of garbage that make a block of `pages` pages worth cleaning while `free`
    /// blocks are free.
    #[must_use]
    pub fn least_garbage(self, marks: &Watermarks, free: u32, pages: u32) -> u32 {
        if self != Self::Falling || free < marks.low {
            return 1;
        }
        // One step above the low watermark nearly anything goes, one below the high one only
        // nearly pure garbage.
        let steps = u64::from((marks.high - marks.low).max(1));
        let above = u64::from(free - marks.low + 1);
        (u64::from(pages) * above).div_ceil(steps).min(u64::from(pages)).max(1) as u32
    }
}

/// How much of its cleaning a write waits for.
///
/// Problem. A victim is cleaned whole before a write, and that write waits for all its survivors. Idea.
/// Each page of the host pays for what it takes: so many survivors are moved after it that the free
/// pages are as many as before. Consequence. A victim stays partly cleaned between writes, and what
/// dies in it meanwhile is not moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Victims are cleaned whole, when a write needs a block.
    #[default]
    Off,
    /// Each page of the host pays what keeps the free pages as many as they are.
    Paced,
    /// The same, with at most so many survivors moved after a page of the host. Too few for how full
    /// the device is, and writes have to wait for whole victims again.
    Most(u32),
}

impl Pacing {
    /// What [`parse`](Self::parse) takes.
    pub const EXPECTED: &'static str = "off | paced | N";

    /// `off`, `paced`, or a number of survivors.
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

/// Low and high watermarks on the free list (CAT paper, Table 7).
///
/// The user path never takes the last `reserve` free blocks: survivors need them. Cleaning starts
/// when a write needs a block and fewer than `low` are free, and stops at `high`. The default,
/// `low = high = reserve + 1`, cleans only when a write needs a block and stops as soon as it can
/// be given one; more hysteresis contradicts the published tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Free blocks kept for the cleaner.
    pub reserve: u32,
    /// Cleaning starts below this number of free blocks.
    pub low: u32,
    /// Cleaning stops at this number of free blocks.
    pub high: u32,
}

impl Watermarks {
    /// Cleans only when out of space, with `reserve` blocks for the cleaner.
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

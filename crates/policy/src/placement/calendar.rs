//! The calendar: it knows when each page will die, and pages of one window of time share blocks.
//!
//! A window is a stretch of page writes, such as the 40,000th to the 42,000th. Once it is over, all
//! pages that were to die in it are dead, and their blocks are erased without a copy. The oracle's
//! classes are relative to the time of writing: a block of theirs holds pages that die over the
//! width of a class and the time in which the block fills.
//!
//! Pages that died in a window of width w wait for the window's end, w/2 page writes on average.
//! The free pages of its open block wait to be written, B/2wh on average, where h is the share of
//! page writes whose life has that length, and B the pages of a block. The sum is least at
//! w = √(B/h). Pages that live long, of which few are written, have wider windows. Where the spare
//! space does not suffice for so many open blocks, all windows are widened by the same factor.
//!
//! docs/oracle.md proves how many spare blocks are enough for no copy at all
//! ([`Calendar::spare_blocks`]).

use alloc::vec::Vec;

use super::{
    Registered,
    foresight::{Clairvoyant, Division},
};
use crate::{Args, Context, Future, ParamError, PolicyInfo, params, params::ParamValue};

/// The most open blocks; by the spare space if not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most(pub Option<u8>);

impl ParamValue for Most {
    const EXPECTED: &'static str = "a whole number from 2 to 250, or auto";
    fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self(None)),
            _ => text.parse().ok().filter(|most| (2..=250).contains(most)).map(|n| Self(Some(n))),
        }
    }
    fn show(&self) -> alloc::string::String {
        self.0.map_or_else(|| "auto".into(), |most| u32::from(most).show())
    }
}

params! {
    /// Parameters of [`Calendar`].
    pub struct CalendarParams {
        /// The most open blocks of each bank; auto: three of four spare blocks.
        streams: Most = Most(None),
    }
}

/// The pages whose remaining life lies in one range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Class {
    /// The shortest remaining life.
    from: u32,
    /// The length from which the next class begins.
    until: u32,
    /// Page writes in a window.
    width: u32,
    /// The stream of the first window.
    first: u8,
    /// Windows that are open at a time; the streams take turns.
    windows: u8,
}

/// Assigns every page the stream of the window in which it dies.
pub type Calendar = Clairvoyant<Windows>;

/// Windows of time.
#[derive(Clone, Debug)]
pub struct Windows {
    classes: Vec<Class>,
}

impl Calendar {
    /// Spare blocks, beside the reserve, with which nothing is copied: on a device of one bank that
    /// was empty, with blocks of `pages` pages, without trims. The proof is in docs/oracle.md.
    #[must_use]
    pub fn spare_blocks(&self, pages: u32) -> u32 {
        let of = |class: &Class| {
            let living = class.until.div_ceil(class.width) + 1;
            class.width.div_ceil(pages) + 2 * living + u32::from(class.windows)
        };
        self.division.classes.iter().map(of).sum::<u32>() + 3
    }
}

impl Division for Windows {
    /// One more than the windows, for pages that do not die.
    fn streams(&self) -> u8 {
        streams(&self.classes) as u8
    }

    #[inline(always)]
    fn stream(&self, dies: u32, left: u32) -> u8 {
        if dies == Future::NEVER {
            return self.streams() - 1;
        }
        let at = self.classes.partition_point(|class| class.from <= left);
        let Some(class) = self.classes.get(at.saturating_sub(1)) else { return 0 };
        class.first + (dies / class.width % u32::from(class.windows)) as u8
    }
}

impl Registered for Calendar {
    const SEES_FUTURE: bool = true;
    const INFO: PolicyInfo = PolicyInfo {
        name: "calendar",
        aliases: &[],
        source: "docs/oracle.md",
        summary: "knows when each page will be overwritten or trimmed; pages that die in the same \
                  window of time share blocks; cannot be built",
        params: CalendarParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let most = CalendarParams::read(args)?.streams.0;
        let lives = context.future.as_ref().map_or_else(Lives::default, |f| Lives::of(&f.written));
        // Each bank has its own open blocks, and gets its share of the pages.
        let block = f64::from(context.pages_per_block) * f64::from(context.banks.max(1));
        let most = most.map_or_else(|| affordable(context), u32::from);
        Ok(Self::new(Windows { classes: classes(&lives, block, most) }, context))
    }
}

/// Open blocks that the spare space of a bank allows: the rest holds what has died in the windows.
fn affordable(context: &Context) -> u32 {
    let banks = context.banks.max(1);
    let blocks = context.blocks.saturating_sub(context.system_blocks) / banks;
    let full = context.logical_pages.div_ceil(banks).div_ceil(context.pages_per_block.max(1));
    let spare = blocks.saturating_sub(full).saturating_sub(context.reserve);
    (spare * 3 / 4).clamp(2, 250)
}

/// Two ranges of lives an octave.
const RANGES: usize = 64;

/// How many page writes live how long.
struct Lives {
    all: u64,
    /// By range of lengths; without those that never die.
    of: [u64; RANGES],
}

impl Default for Lives {
    fn default() -> Self {
        Self { all: 0, of: [0; RANGES] }
    }
}

impl Lives {
    fn of(written: &[u32]) -> Self {
        let mut lives = Self { all: written.len() as u64, ..Self::default() };
        for &life in written.iter().filter(|&&life| life != Future::NEVER) {
            let octave = life.max(1).ilog2();
            let upper = octave > 0 && life >> (octave - 1) & 1 == 1;
            lives.of[2 * octave as usize + usize::from(upper)] += 1;
        }
        lives
    }
}

/// The shortest life of a range.
fn begin(range: usize) -> f64 {
    let octave = (1_u64 << (range / 2)) as f64;
    if range.is_multiple_of(2) { octave } else { 1.5 * octave }
}

fn streams(classes: &[Class]) -> u32 {
    classes.iter().map(|class| u32::from(class.windows)).sum::<u32>() + 1
}

/// The windows of the best width, or the narrowest that take at most so many open blocks.
fn classes(lives: &Lives, block: f64, most: u32) -> Vec<Class> {
    let mut stretch = 1.0;
    loop {
        if let Some(classes) = stretched(lives, block, most, stretch) {
            return classes;
        }
        // At the latest, windows wider than any life make one class of one window.
        stretch *= 1.15;
    }
}

/// The windows with `stretch` times the best width, if they take at most `most` open blocks.
fn stretched(lives: &Lives, block: f64, most: u32, stretch: f64) -> Option<Vec<Class>> {
    let width = |pages: u64, length: f64| {
        stretch * libm::sqrt(block * length * lives.all as f64 / pages as f64)
    };
    let mut classes: Vec<Class> = Vec::new();
    let mut end = 0;
    while let Some(first) = (end..RANGES).find(|&range| lives.of[range] > 0) {
        // Ranges without lives belong to the class above: what survives a copy keeps its window.
        let from = if classes.is_empty() { 0 } else { begin(end) as u32 };
        end = first;
        let (mut pages, mut length, mut window) = (0, 0.0, f64::INFINITY);
        // A class takes further ranges until it is longer than a window, and while the next would
        // have windows about as wide.
        while end < RANGES {
            let next = width(lives.of[end].max(1), begin(end + 1) - begin(end));
            let alike = next < 1.5 * window && window < 1.5 * next;
            if window < length && (lives.of[end] == 0 || !alike) {
                break;
            }
            pages += lives.of[end];
            end += 1;
            length = begin(end) - begin(first);
            window = width(pages, length);
        }
        let until = begin(end).min(f64::from(u32::MAX));
        let (width, windows) = match 1.5 * window > length {
            true => (until, 1.0),
            false => {
                let width = libm::floor(window).max(1.0);
                (width, libm::ceil(length / width) + 1.0)
            }
        };
        let taken = streams(&classes);
        if f64::from(taken) + windows > f64::from(most) {
            return None;
        }
        classes.push(Class {
            from,
            until: until as u32,
            width: width as u32,
            first: (taken - 1) as u8,
            windows: windows as u8,
        });
    }
    Some(classes)
}

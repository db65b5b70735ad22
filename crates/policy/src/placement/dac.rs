//! Dynamic data clustering: a page moves up a region when the host updates it and down a region
//! when it is cleaned, so pages of similar update frequency gather in the same blocks (DAC paper,
//! Figures 1 and 2).
//!
//! A page's region is the stream of its block, so no per-page state is needed. An updated page
//! rises from the region of its old copy, and all survivors of a block sink together.
//!
//! With a threshold, only pages that are young in their region rise, and only pages that are old in
//! it sink. Then each page needs its region and the time it entered it; both share one word.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Answer, Cleaning, Found, HostWrite, Placement, Registered, Streams, Survivors};
use crate::{Args, Context, ParamError, PolicyInfo, Ticks, choice, params, params::within};

/// The coldest region, which takes new data. Region and stream are the same number.
const BOTTOM: u8 = 0;
/// The region of a page without data, or of data written as read-only.
const NOWHERE: u8 = 31;
const MOST_REGIONS: u32 = 16;

choice! {
    /// Which moves the threshold restricts.
    pub enum HoldsBack {
        /// Old pages do not rise, and young pages do not sink.
        Both = "both",
        /// Young pages do not sink; every updated page rises.
        Sinking = "sinking",
    }
}

params! {
    /// Parameters of [`Dac`].
    pub struct DacParams {
        /// Regions, from 1 (no clustering) to 16; each has an open block of its own.
        regions: u32 = 4,
        /// Time in its region up to which an updated page rises, and after which a cleaned one
        /// sinks; none: always.
        threshold: Option<Ticks> = None,
        /// What the threshold holds back: rising and sinking, or sinking alone.
        holds: HoldsBack = HoldsBack::Both,
    }
}

/// Sends a page to the region given by its updates and cleanings.
#[derive(Clone, Debug)]
pub struct Dac {
    top: u8,
    pages: Pages,
    /// The region chosen for the page being written. Cleaning that makes room for it may move its
    /// old copy, which must not change the choice.
    decided: u8,
    /// The survivor asked about last, and its previous word.
    came: (Lpn, Word),
}

/// Per-page state.
#[derive(Clone, Debug)]
enum Pages {
    /// None; only the region below that of the victim.
    Nothing { below: u8 },
    /// The region of each page and the time it entered it.
    Stamped {
        words: Vec<Word>,
        threshold: u64,
        /// Age in its region up to which an updated page rises.
        rises: u64,
    },
}

/// A region in the upper bits, a time in the others. Times wrap around; in nanoseconds, ages up to
/// 18 years are correct.
#[derive(Clone, Copy, Debug)]
struct Word(u64);

impl Word {
    const TIME_BITS: u32 = 59;
    const TIME: u64 = (1 << Self::TIME_BITS) - 1;

    #[inline(always)]
    fn new(region: u8, since: u64) -> Self {
        Self(u64::from(region) << Self::TIME_BITS | since & Self::TIME)
    }

    #[inline(always)]
    const fn region(self) -> u8 {
        (self.0 >> Self::TIME_BITS) as u8
    }

    #[inline(always)]
    const fn age(self, now: u64) -> u64 {
        now.wrapping_sub(self.0) & Self::TIME
    }
}

impl Dac {
    fn new(logical_pages: u32, regions: u8, threshold: Option<Ticks>, holds: HoldsBack) -> Self {
        let count = logical_pages as usize;
        let pages = match threshold {
            None => Pages::Nothing { below: BOTTOM },
            Some(threshold) => {
                let rises = if holds == HoldsBack::Both { threshold.0 } else { u64::MAX };
                let words = vec![Word::new(NOWHERE, 0); count];
                Pages::Stamped { words, threshold: threshold.0, rises }
            }
        };
        Self { top: regions - 1, pages, decided: NOWHERE, came: (Lpn::NONE, Word::new(NOWHERE, 0)) }
    }

    #[inline(always)]
    fn set(&mut self, lpn: Lpn, region: u8, now: u64) {
        if let Pages::Stamped { words, .. } = &mut self.pages {
            words[lpn.index()] = Word::new(region, now);
        }
    }
}

impl Streams for Dac {
    fn streams(&self) -> u8 {
        self.top + 1
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream > self.top / 2
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        if let Pages::Nothing { below } = &mut self.pages {
            *below = victim.stream.saturating_sub(1);
        }
    }
}

impl Placement for Dac {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        let (region, young) = match &self.pages {
            // Data written as read-only are in an additional stream.
            Pages::Nothing { .. } => {
                let region = write.old().map_or(NOWHERE, |old| old.stream);
                (if region <= self.top { region } else { NOWHERE }, true)
            }
            Pages::Stamped { words, rises, .. } => {
                let word = words[write.lpn().index()];
                (word.region(), word.age(write.now()) < *rises)
            }
        };
        self.decided = match region {
            NOWHERE => BOTTOM,
            region if young => (region + 1).min(self.top),
            region => region,
        };
        self.decided
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, now: u64) {
        self.set(lpn, BOTTOM, now);
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, now: u64) {
        // The region of a page written as read-only is not read. If the page is updated later, it
        // counts as new.
        let region = core::mem::replace(&mut self.decided, NOWHERE);
        self.set(lpn, region, now);
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        self.set(lpn, NOWHERE, 0);
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), lpn: Lpn, now: u64) -> u8 {
        match &mut self.pages {
            Pages::Nothing { below } => *below,
            Pages::Stamped { words, threshold, .. } => {
                let word = &mut words[lpn.index()];
                let region = word.region();
                self.came = (lpn, *word);
                // A page that stays in its region keeps its time.
                if region == BOTTOM || word.age(now) <= *threshold && region != NOWHERE {
                    return region;
                }
                *word = Word::new(below(region), now);
                word.region()
            }
        }
    }

    /// With a threshold, singly, because [`spilt`](Self::spilt) needs the previous word of the
    /// page.
    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        match self.pages {
            Pages::Nothing { below } => Answer::Together(below),
            Pages::Stamped { .. } => Answer::OneByOne,
        }
    }

    /// A page's region is the stream of its block. A page that returns to its old region keeps its
    /// time.
    fn spilt(&mut self, (): &mut (), lpn: Lpn, stream: u8, now: u64) {
        if let Pages::Stamped { words, .. } = &mut self.pages {
            let (page, came) = self.came;
            let is_back = page == lpn && stream == came.region();
            words[lpn.index()] = if is_back { came } else { Word::new(stream, now) };
        }
    }

    /// A page's region is the stream of its block.
    fn restore(&mut self, (): &mut (), found: &Found) {
        let region = if found.stream <= self.top { found.stream } else { BOTTOM };
        self.set(found.lpn, region, found.time);
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        if let Pages::Stamped { words, .. } = &self.pages {
            prefetch(words, lpn.index());
        }
    }
}

/// The region below. A page without a region starts at the bottom.
#[inline(always)]
const fn below(region: u8) -> u8 {
    if region == NOWHERE { BOTTOM } else { region.saturating_sub(1) }
}

impl Registered for Dac {
    const INFO: PolicyInfo = PolicyInfo {
        name: "dac",
        aliases: &[],
        source: "DAC paper, Figures 1 and 2",
        summary: "pages rise a region when updated and sink one when cleaned; follows a change at once",
        params: DacParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = DacParams::read(args)?;
        let regions = within("regions", p.regions, 1..=MOST_REGIONS)? as u8;
        Ok(Self::new(context.logical_pages, regions, p.threshold, p.holds))
    }
}

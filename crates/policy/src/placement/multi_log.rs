//! Multi-log: a log for each class of update frequency, with spare space allocated by marginal gain
//! (Stoica and Ailamaki, VLDB 2013).
//!
//! A page has a level, 0 the hottest, and each level has a log. A page that the host writes after
//! `d` page writes, where the pages of its level are expected to last `e`, moves one level up with
//! probability `(e − d)/e`, if that is positive. A page that survives its block moves one level
//! down. With `n` valid pages in the level and a share `g` of garbage in its victims, `e = n · (1 −
//! g)/2`.
//!
//! The victim is the oldest block of the level that loses least by it. A level of `n` valid pages
//! on `α·n` physical ones has a write amplification of `A(α) = α/(α + W(−α·e^{−α}))`, where W is
//! Lambert's function (Desnoyers 2012); it solves `A = 1/(1 − e^{−α/A})`. Taking a block from the
//! level costs `−A′(α)/n` for each host write to it. Writes to a level are counted, and the counts
//! are halved whenever as many pages were written as there are.
//!
//! Our readings:
//! * there are as many levels as `levels` says. A level colder than all used ones is opened by its
//!   first survivors, once the coldest used level has a block in this bank;
//! * a block with only garbage at the head of any log comes first, because it costs nothing. Blocks
//!   without garbage at the head of the log to be cleaned move to its end, at most eight of them.
//!   Then the next log whose oldest block has garbage is cleaned. If there is none, the victim
//!   policy chooses;
//! * read-only data form one more log. Its oldest block is cleaned when half of it is garbage.
//!
//! Cost: 4 bytes a page, 8 from the 2²⁷th page write on, and 12 bytes a block; a victim takes a few
//! steps for each level.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_flash::{BlockId, Lpn};

use super::{
    Answer, Choice, Cleaning, Entry, HostWrite, OwnVictims, Placement, Registered, Streams,
    Survivors, contract::in_a_word, logs::Logs,
};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo, params, params::within};

/// Maximum number of levels.
const MOST: usize = 16;
/// Weight of one victim in the moving mean of its level's garbage.
const FADING: f64 = 1.0 / 16.0;

params! {
    /// Parameters of [`MultiLog`].
    pub struct MultiLogParams {
        /// Levels, 1 to 16, each with a log of its own; auto: one for 32 blocks of a bank, 2 to 6.
        levels: Option<u32> = None,
    }
}

/// A log for each level of update frequency; see the module.
#[derive(Clone, Debug)]
pub struct MultiLog {
    logical_pages: u64,
    levels: [Level; MOST],
    count: u8,
    /// The coldest level used so far.
    coldest: u8,
    pages_per_block: u32,
    banks: u32,
    logs: Logs,
    writes: u64,
    /// The time at which write counts are halved next.
    halved_at: u64,
    /// The level of the page being written; `None` if it is read-only.
    to: Option<u8>,
    /// The bank of the current victim.
    bank: u32,
    rng: Xoshiro256PlusPlus,
}

/// State of a page, from the lowest bits to the highest: whether it counts among the valid pages of
/// its level, the level, and the last host write.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page(u64);

in_a_word!(Page: Growing);

impl Page {
    /// One bit, plus the bits for [`MOST`] levels.
    const BITS: u32 = 1 + MOST.ilog2();

    #[inline(always)]
    const fn new(written: u64, level: u8, counts: bool) -> Self {
        Self(written << Self::BITS | (level as u64) << 1 | counts as u64)
    }

    #[inline(always)]
    const fn written(self) -> u64 {
        self.0 >> Self::BITS
    }

    #[inline(always)]
    const fn level(self) -> u8 {
        (self.0 >> 1) as u8 & (MOST - 1) as u8
    }

    #[inline(always)]
    const fn counts(self) -> bool {
        self.0 & 1 != 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Pages of this level that hold data.
    valid: u64,
    /// Share of garbage in recent victims.
    garbage: f64,
    /// Recent host page writes.
    writes: u64,
}

/// The negated derivative of the write amplification of a first-in-first-out log with respect to
/// physical over valid pages: the gain of additional space.
///
/// With `x = α/A`, `A = 1/(1 − e^{−x})` and `α = x·A`: Newton's method finds `x`, and `−dA/dα = (A
/// − 1)/(1 − x·(A − 1))`.
#[must_use]
pub fn gain(alpha: f64) -> f64 {
    if alpha <= 1.0 {
        return f64::INFINITY;
    }
    // x/(1 − e^{−x}) increases from 1 at 0, is convex, and is at least x and 1 + x/2, so steps from
    // above stay above.
    let mut x = alpha.min(2.0 * (alpha - 1.0));
    for _ in 0..60 {
        let e = -libm::expm1(-x);
        let value = x / e - alpha;
        let slope = (e - x * (1.0 - e)) / (e * e);
        let next = x - value / slope;
        if !(next < x && next > 0.0) {
            break;
        }
        x = next;
    }
    let a = -1.0 / libm::expm1(-x);
    (a - 1.0) / (1.0 - x * (a - 1.0))
}

impl MultiLog {
    /// A page stops being a valid page of its level.
    #[inline(always)]
    fn leaves(&mut self, page: Page) {
        self.levels[usize::from(page.level())].valid -= u64::from(page.counts());
    }

    /// Moves a number of equal survivors a level down.
    #[inline(always)]
    fn moved_run(&mut self, (page, pages): (Page, u64)) {
        let to = (page.level() + 1).min(self.count - 1);
        self.levels[usize::from(page.level())].valid -= pages;
        self.levels[usize::from(to)].valid += pages;
    }

    /// Moves a page to a level.
    #[inline(always)]
    fn moved(&mut self, page: Page, to: u8) {
        self.leaves(page);
        self.levels[usize::from(to)].valid += 1;
    }
}

impl Level {
    /// The cost of losing a block of this many physical pages.
    fn loss(&self, physical: f64) -> f64 {
        let Self { valid, writes, .. } = *self;
        if valid == 0 || writes == 0 {
            return 0.0;
        }
        writes as f64 * gain(physical / valid as f64) / valid as f64
    }
}

impl Streams for MultiLog {
    fn streams(&self) -> u8 {
        self.count
    }

    fn opened(&mut self, _bank: u32, block: BlockId, _stream: u8, _now: u64) {
        self.logs.remove(block);
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        self.logs.push(bank, stream, block);
        Entry::Indexed
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.logs.remove(victim.block);
        self.bank = victim.bank;
        if victim.stream < self.count {
            let garbage = f64::from(victim.pages - victim.valid) / f64::from(victim.pages);
            let own = &mut self.levels[usize::from(victim.stream)];
            own.garbage += FADING * (garbage - own.garbage);
        }
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }
}

impl OwnVictims for MultiLog {
    fn choose(&mut self, bank: u32, blocks: &BlockView, _now: u64) -> Choice {
        // The log that loses least.
        let Self { logs, levels, count, banks, pages_per_block, .. } = self;
        let loss = |logs: &Logs, log: u8| {
            let blocks = (logs.len(bank, log) + 1) * *banks;
            levels[usize::from(log)].loss(f64::from(blocks) * f64::from(*pages_per_block))
        };
        logs.choose(bank, blocks, 0..*count, loss).map_or(Choice::Victim, Choice::Clean)
    }

    fn replaced(&mut self, _bank: u32, old: BlockId, new: BlockId) {
        self.logs.replace(old, new);
    }
}

impl Placement for MultiLog {
    type Page = Page;

    fn filled(&mut self, page: &mut Page, _: Lpn, _: u64) {
        self.levels[0].valid += 1;
        *page = Page::new(0, 0, true);
    }

    #[inline(always)]
    fn host(&mut self, page: Page, _: &impl HostWrite) -> u8 {
        let level = page.level();
        let mut to = level;
        if page.counts() && level > 0 {
            let own = &self.levels[usize::from(level)];
            let expected = own.valid as f64 * (1.0 - own.garbage) / 2.0;
            let earlier = expected - (self.writes - page.written()) as f64;
            if earlier > 0.0 && self.rng.random_range(0.0..1.0) * expected < earlier {
                to -= 1;
            }
        }
        self.to = Some(to);
        to
    }

    #[inline(always)]
    fn written(&mut self, page: &mut Page, _: Lpn, _: u64) {
        self.writes += 1;
        let to = self.to.take();
        match to {
            Some(level) => {
                self.moved(*page, level);
                self.levels[usize::from(level)].writes += 1;
            }
            None => self.leaves(*page),
        }
        if self.writes >= self.halved_at {
            self.halved_at += self.logical_pages;
            for level in &mut self.levels {
                level.writes /= 2;
            }
        }
        *page = Page::new(self.writes, to.unwrap_or(page.level()), to.is_some());
    }

    fn trimmed(&mut self, page: Page, _: Lpn) {
        self.leaves(page);
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut Page, _: Lpn, _: u64) -> u8 {
        let mut to = (page.level() + 1).min(self.count - 1);
        if to > self.coldest {
            if self.logs.len(self.bank, self.coldest) > 0 {
                self.coldest = to;
            } else {
                to = self.coldest;
            }
        }
        self.moved(*page, to);
        *page = Page::new(page.written(), to, true);
        to
    }

    /// Until all levels are used, the answer depends on blocks that are opened and closed
    /// meanwhile.
    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, Page>) -> Answer {
        if self.coldest + 1 < self.count {
            return Answer::OneByOne;
        }
        // Consecutive pages mostly come from one level, so the level counts them as a run.
        let (last, mut run) = (self.count - 1, (Page(0), 0));
        survivors.each(|_, page| {
            let to = (page.level() + 1).min(last);
            if !page.counts() || page.level() != run.0.level() {
                self.moved_run(run);
                run = (*page, 0);
                self.levels[usize::from(page.level())].valid += u64::from(!page.counts());
            }
            run.1 += 1;
            *page = Page::new(page.written(), to, true);
            to
        });
        self.moved_run(run);
        Answer::AtOnce
    }
}

impl Registered for MultiLog {
    const INFO: PolicyInfo = PolicyInfo {
        name: "multi-log",
        aliases: &[],
        source: "Stoica and Ailamaki, VLDB 2013",
        summary: "a log for each update frequency, cleaned where space is worth least",
        params: MultiLogParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = MultiLogParams::read(args)?;
        let levels = p.levels.unwrap_or((context.blocks_of_bank() / 32).clamp(2, 6));
        let count = within("levels", levels, 1..=MOST as u32)? as u8;
        let logical_pages = u64::from(context.logical_pages.max(1));
        Ok(Self {
            logical_pages,
            levels: [Level::default(); MOST],
            count,
            coldest: 0,
            pages_per_block: context.pages_per_block,
            banks: context.banks.max(1),
            logs: Logs::new(context, count),
            writes: 0,
            halved_at: logical_pages,
            to: None,
            bank: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(context.seed ^ 0x6d75_6c74_696c_6f67),
        })
    }
}

//! SFS: pages of similar hotness go to the same segments (Min et al., FAST 2012).
//!
//! The hotness of a page is `w / (now − t)`: its writes over the time since the last of them. For a
//! page being written it counts this write and the time since the previous one. A segment's hotness
//! uses the means over its valid pages, `w̄ / (now − t̄)`. Three rounds of k-means over the
//! segments' hotness, starting from the previous centres, form groups. A page goes to the group
//! with the nearest centre. The matching victim policy is `cost-hotness`, whose factor of wear is
//! `w̄`, set before each choice for each block that lost a page since.
//!
//! Our readings:
//! * hotness is compared by its logarithm. Blocks just sealed have arbitrarily high hotness, and
//!   the mean of such numbers is that of the youngest few. `scale=linear` compares as the paper
//!   does;
//! * the centres are not recomputed at each cleaning, which would visit all blocks, but after a
//!   quarter of the blocks was sealed: each round visits four blocks for each block sealed. They
//!   are kept if no page survived since, because cleaning was free then;
//! * before the first computation all pages go to one group. Group 0 is the coldest and takes the
//!   fill;
//! * a block's `w̄` is updated only when it has changed by a sixteenth, because each change
//!   searches a part of the index for the best block;
//! * the contribution of a block's pages to its means is collected by group. If several banks fill
//!   blocks of a group at the same time, each gets the mean of all;
//! * a trimmed page counts in its block's means until the block is cleaned.
//!
//! Memory: 8 bytes a page, 24 from the fourth day or 65,536th update of a page on, and 40 bytes a
//! block.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{
    Answer, Choice, Cleaning, Entry, HostWrite, OwnVictims, Placement, Registered, Streams,
    Survivors,
    history::{History, Updates, float},
};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo, choice, params, params::within};

/// Maximum number of groups.
const MOST: usize = 16;
/// Rounds of k-means.
const ROUNDS: u32 = 3;
/// A block's weight is updated when its mean count has changed by the inverse of this number.
const REWEIGH: f64 = 16.0;
/// Centres are recomputed after the inverse of this number of the blocks was sealed.
const REFRESH: u32 = 4;

choice! {
    /// The scale on which hotness is compared.
    pub enum Scale {
        /// Logarithmic.
        Log = "log",
        /// Linear.
        Linear = "linear",
    }
}

params! {
    /// Parameters of [`Sfs`].
    pub struct SfsParams {
        /// Groups of segments, 1 to 16; auto: one for 32 blocks of a bank, 2 to 4.
        groups: Option<u32> = None,
        /// How hotness is compared.
        scale: Scale = Scale::Log,
    }
}

/// Sends pages to the group of their hotness.
#[derive(Clone, Debug)]
pub struct Sfs {
    beyond: History,
    blocks: Vec<Sums>,
    /// Blocks whose means changed since the last choice, by bank.
    touched: Vec<Vec<BlockId>>,
    groups: usize,
    scale: Scale,
    /// The centre of each group, ascending; empty before the first computation.
    centres: Vec<f64>,
    /// The hotness half-way between neighbouring centres, in the linear scale; infinite beyond
    /// them.
    between: [f64; MOST - 1],
    /// Writes to each group since its last block was sealed.
    filling: [Sums; MOST],
    /// A survivor with its chosen group that is not written yet.
    pending: Option<(u8, Updates)>,
    /// The group of the page that the host writes; `None` if it is read-only.
    to: Option<u8>,
    refresh_in: u32,
    /// Whether a page survived since the centres were computed last.
    survived: bool,
    now: u64,
}

/// Sums over pages, as whole numbers. For a group's open block they cover the pages written, for a
/// block the pages written minus those that died.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    written: f64,
    count: f64,
    pages: f64,
    /// The mean count that is the block's factor in the index.
    weighed: f64,
    sealed: bool,
    touched: bool,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, page: Updates) {
        self.written += float(page.written);
        self.count += f64::from(page.count.max(1));
        self.pages += 1.0;
    }

    #[inline(always)]
    fn remove(&mut self, page: Updates) {
        self.written -= float(page.written);
        self.count -= f64::from(page.count.max(1));
        self.pages -= 1.0;
    }

    fn mean_count(&self) -> f64 {
        if self.pages >= 1.0 { (self.count / self.pages).max(1.0) } else { 1.0 }
    }

    fn mean_written(&self) -> f64 {
        if self.pages >= 1.0 { self.written / self.pages } else { 0.0 }
    }
}

/// The group of a page written `count` times, the last time `age` ago. `between` are the limits
/// between groups.
#[inline(always)]
fn group(between: &[f64; MOST - 1], groups: usize, count: u32, age: u64) -> u8 {
    let (count, age) = (f64::from(count.max(1)), float(age.max(1)));
    let above = |hotness: f64| u8::from(count > hotness * age);
    // The usual number of groups needs no loop.
    let [first, second, third, rest @ ..] = between;
    let group = above(*first) + above(*second) + above(*third);
    if groups <= 4 {
        return group;
    }
    group + rest[..groups - 4].iter().map(|&hotness| above(hotness)).sum::<u8>()
}

impl Sfs {
    fn hotness(&self, count: f64, age: f64) -> f64 {
        let hotness = count.max(1.0) / age.max(1.0);
        match self.scale {
            Scale::Log => libm::log2(hotness),
            Scale::Linear => hotness,
        }
    }

    /// Computes the limits between neighbouring centres, so that pages need no logarithm.
    fn draw_lines(&mut self) {
        let half_way = self.centres.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
        self.between = [f64::INFINITY; MOST - 1];
        for (line, hotness) in self.between.iter_mut().zip(half_way) {
            *line = match self.scale {
                Scale::Log => libm::exp2(hotness),
                Scale::Linear => hotness,
            };
        }
    }

    /// The group with the nearest centre, the colder of two equally near.
    fn nearest(&self, hotness: f64) -> u8 {
        let mut nearest = 0;
        for (group, centre) in self.centres.iter().enumerate().skip(1) {
            if (hotness - centre).abs() < (hotness - self.centres[nearest]).abs() {
                nearest = group;
            }
        }
        nearest as u8
    }

    /// The centres of the groups, the coldest first; empty before enough blocks were sealed.
    #[must_use]
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// Three rounds of k-means over the sealed blocks.
    #[cold]
    fn quantise(&mut self) {
        let now = self.now as f64;
        if self.centres.is_empty() {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for block in self.blocks.iter().filter(|b| b.sealed) {
                let hotness = self.hotness(block.mean_count(), now - block.mean_written());
                (low, high) = (low.min(hotness), high.max(hotness));
            }
            if low > high {
                return;
            }
            let step = (high - low) / self.groups as f64;
            self.centres.extend((0..self.groups).map(|g| low + step * (g as f64 + 0.5)));
        }
        for _ in 0..ROUNDS {
            let mut sums = [(0.0, 0.0); MOST];
            for block in self.blocks.iter().filter(|b| b.sealed) {
                let hotness = self.hotness(block.mean_count(), now - block.mean_written());
                let (sum, n) = &mut sums[usize::from(self.nearest(hotness))];
                *sum += hotness;
                *n += 1.0;
            }
            for (centre, (sum, n)) in self.centres.iter_mut().zip(sums) {
                if n > 0.0 {
                    *centre = sum / n;
                }
            }
        }
        self.centres.sort_unstable_by(f64::total_cmp);
        self.draw_lines();
    }

    fn settle(&mut self) {
        if let Some((group, page)) = self.pending.take() {
            self.filling[usize::from(group)].add(page);
        }
    }
}

impl Streams for Sfs {
    fn streams(&self) -> u8 {
        self.groups as u8
    }

    fn opened(&mut self, _bank: u32, block: BlockId, _stream: u8, now: u64) {
        let own = &mut self.blocks[block.index()];
        *own = Sums { touched: own.touched, ..Sums::default() };
        self.now = now;
    }

    fn closing(&mut self, _bank: u32, block: BlockId, stream: u8) -> Entry {
        if usize::from(stream) >= self.groups {
            return Entry::Indexed;
        }
        let Sums { written, count, pages, .. } =
            core::mem::take(&mut self.filling[usize::from(stream)]);
        let own = &mut self.blocks[block.index()];
        own.written += written;
        own.count += count;
        own.pages += pages;
        own.sealed = true;
        own.weighed = own.mean_count();
        let entry = Entry::Weighed(own.weighed);
        self.refresh_in = self.refresh_in.saturating_sub(1);
        if self.refresh_in == 0 {
            self.refresh_in = (self.blocks.len() as u32 / REFRESH).max(1);
            if core::mem::take(&mut self.survived) {
                self.quantise();
            }
        }
        entry
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.settle();
        self.now = victim.now;
        let own = &mut self.blocks[victim.block.index()];
        *own = Sums { touched: own.touched, ..Sums::default() };
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }
}

impl OwnVictims for Sfs {
    fn choose(&mut self, bank: u32, _blocks: &BlockView, _now: u64) -> Choice {
        while let Some(block) = self.touched[bank as usize].pop() {
            let own = &mut self.blocks[block.index()];
            own.touched = false;
            let mean = own.mean_count();
            if own.sealed && (mean - own.weighed).abs() > own.weighed / REWEIGH {
                own.weighed = mean;
                return Choice::Weigh(block, mean);
            }
        }
        Choice::Victim
    }
}

impl Placement for Sfs {
    type Page = u64;

    #[inline(always)]
    fn host(&mut self, page: u64, write: &impl HostWrite) -> u8 {
        let page = self.beyond.unpack(write.lpn(), page);
        let Updates { written, count } = page;
        if let Some(old) = write.old() {
            let block = &mut self.blocks[old.block.index()];
            block.remove(page);
            if !core::mem::replace(&mut block.touched, true) {
                self.touched[old.bank as usize].push(old.block);
            }
        }
        let age = write.now().saturating_sub(written);
        let to = group(&self.between, self.groups, count.saturating_add(1), age);
        self.to = Some(to);
        to
    }

    fn filled(&mut self, page: &mut u64, lpn: Lpn, now: u64) {
        let new = Updates { written: now, count: 1 };
        self.filling[0].add(new);
        *page = self.beyond.pack(lpn, new);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut u64, lpn: Lpn, now: u64) {
        let count = self.beyond.unpack(lpn, *page).count.saturating_add(1);
        let new = Updates { written: now, count };
        self.settle();
        if let Some(to) = self.to.take() {
            self.filling[usize::from(to)].add(new);
        }
        *page = self.beyond.pack(lpn, new);
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut u64, lpn: Lpn, now: u64) -> u8 {
        self.settle();
        let page = self.beyond.unpack(lpn, *page);
        let age = now.saturating_sub(page.written);
        let to = group(&self.between, self.groups, page.count, age);
        self.pending = Some((to, page));
        self.survived = true;
        to
    }

    /// Singly, because a block that becomes full meanwhile contains the survivors asked about
    /// before.
    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, u64>) -> Answer {
        Answer::OneByOne
    }
}

impl Registered for Sfs {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sfs",
        aliases: &[],
        source: "SFS, FAST 2012",
        summary: "pages of like hotness to the same blocks, grouped as the blocks' own hotness falls",
        params: SfsParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = SfsParams::read(args)?;
        let groups = p.groups.unwrap_or((context.blocks_of_bank() / 32).clamp(2, 4));
        let groups = within("groups", groups, 1..=MOST as u32)?;
        Ok(Self {
            beyond: History::none(context.logical_pages),
            blocks: vec![Sums::default(); context.blocks as usize],
            touched: vec![Vec::new(); context.banks.max(1) as usize],
            groups: groups as usize,
            scale: p.scale,
            centres: Vec::with_capacity(groups as usize),
            between: [f64::INFINITY; MOST - 1],
            filling: [Sums::default(); MOST],
            pending: None,
            to: None,
            // The fill has one age, so it carries no information.
            refresh_in: context.blocks + context.blocks / REFRESH,
            survived: false,
            now: 0,
        })
    }
}

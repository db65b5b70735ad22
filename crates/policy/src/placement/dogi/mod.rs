//! DOGI: a network foretells how long data will live, and groups keep data of like lives together
//! (Kim et al., FAST 2026).
//!
//! A host write of a page whose data lived shortly goes to the hot group. For others a network
//! with two hidden layers foretells the category of their life: below 1 %, 2 %, 4 % … 256 % of the
//! device in page writes, or longer. Groups are ranges of categories. A block of a group before
//! the last is collected as soon as it is older than the group's longest lives, the hot group's
//! first; if there is none, the victim policy chooses among the others. When a page is copied for
//! the first time, it goes where its category's survivors are expected to die; when copied again, to
//! the next group. Beyond the last group is a chain of three more, and pages that the host never
//! wrote have a group of their own, the frozen one.
//!
//! The features are the page, the page written before it, the age of its data, the windows of
//! writes in which it was written (as bits that count half as much a window later, and their
//! number), and the writes to its 2 MiB, which are halved from time to time.
//!
//! The network is trained on the device, again and again: writes that are not hot are sampled, then
//! the ends of their data are awaited, then the network is trained from the start on nine tenths of
//! them, while the former one is in use. What it says of the last tenth decides, by a
//! model (`groups.rs`), which categories share a group. No decision uses what was not known when it was
//! taken.
//!
//! Sources: the paper's abstract and the authors' prototype (github.com/dgist-datalab/DOGI); we
//! have not read the paper's text. Our readings:
//! * the limits of categories are those that the trainer calls the paper's, 1 % of 128 GiB and its
//!   doubles. As set, it divides the samples equally instead;
//! * times are parts of the device, as the prototype's constants are of one of 128 GB with segments
//!   of 256 MiB: the windows of features are a quarter of it, chunks are halved every 20/128,
//!   samples are taken during 1/6 and awaited until 1/2 of it. Training takes 1/8 of it. The unit
//!   of ages is four blocks, or more if 255 of them would be less than two devices. The prototype
//!   samples one write in ten; small devices would have too few, so it is one in ten from 655,360
//!   pages on, and more below. The fill counts as the first of the two device writes before the
//!   first samples;
//! * the hot group is collected at the age below which pages are hot, two units; the prototype
//!   collects it at half a unit;
//! * data that the host has not written, or that was trimmed, are not hot when they are written. A
//!   trim ends the life of data. After a restart no page is known to be frozen;
//! * blocks are collected when the device needs one, not when a share of the device is garbage;
//! * a block without garbage that is due moves to the next group without being copied;
//! * streams are as many as a device of its size affords; the prototype begins with six. The hot
//!   group is measured, where the prototype reads its figures from a file;
//! * the model of groups counts 0.909 of the pages with data, as the prototype does. With all of
//!   them (`utilization=1`) it finds that a device with little spare space affords one group.
//!
//! Memory: 4 bytes a page, 21 bytes a block, and some 50 bytes a sample. There is one for 60 pages,
//! at most 400,000, and on small devices one for 6. Cost: 1500 multiplications for each host write,
//! and as many as 4600 for each sample and each of 15 passes over them; a batch of 128 samples is
//! trained on with one of a few page writes.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{
    Choice, Cleaning, Entry, Found, HostWrite, OwnVictims, Placement, Registered, Streams,
    contract::in_a_word, queues::Queues,
};
use crate::{
    Args, BlockView, Context, ParamError, PolicyInfo, State, params,
    params::{ParamValue, within},
};

mod groups;
mod learning;
mod network;
mod samples;

use learning::Learning;
use network::{CATEGORIES, Features};

/// The group of blocks that are free or hold read-only data.
const NO_GROUP: u8 = u8::MAX;
const HOT: u8 = 0;
/// The first group of data that are not hot, and the stream of the fill.
const FIRST: u8 = 1;
/// Groups of the chain from the last one on.
const CHAIN: u8 = 4;
/// Pages whose data lived less than this number of units are hot.
const HOT_UNITS: u32 = 2;
/// Blocks in a unit of age.
const UNIT: u64 = 4;
/// Pages of a chunk, 2 MiB.
const CHUNK: u32 = 512;

params! {
    /// Parameters of [`Dogi`].
    pub struct DogiParams {
        /// Groups, a stream each, the hot and the frozen one among them: 4 to 9; auto: one for 48
        /// blocks of a bank.
        groups: Option<u32> = None,
        /// Page writes before the first samples are taken, in sizes of the device; the fill counts
        /// as one more.
        warm_up: f64 = 1.0,
        /// Page writes until the ends of sampled data are no longer awaited, in sizes of the
        /// device; samples are taken during the first third.
        period: f64 = 0.5,
        /// The part of the pages with data that the model of groups counts, which decides how many
        /// groups there are; the prototype's is 0.909.
        utilization: f64 = 0.909,
        /// Whether a network is trained; without one all pages that are not hot are alike when
        /// written.
        learn: bool = true,
    }
}

/// What is known of a page with data: units of age before its block was opened (8 bits), the windows
/// in which it was written (8), its [class](Self::class) (4), and the window to which they refer
/// (12). After 4096 windows, which are a thousand writes of the device, a page that was neither
/// written nor copied may seem recent.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageHistory(u64);

in_a_word!(PageHistory: HalfWord);

/// The class of a page that the host has not written.
const FROZEN: u32 = 0;
/// The class of a page that was hot when written. Those of categories follow it.
const WAS_HOT: u32 = 1;
/// The class of a page that was copied, or whose category is not known.
const COPIED: u32 = 15;

impl PageHistory {
    const fn new(age: u32, windows: u32, class: u32, window: u32) -> Self {
        Self((age | windows << 8 | class << 16 | (window & 0xfff) << 20) as u64)
    }

    const fn age(self) -> u32 {
        (self.0 & 0xff) as u32
    }

    const fn class(self) -> u32 {
        (self.0 >> 16 & 0xf) as u32
    }

    /// The windows in which it was written, the current one as the highest of eight bits.
    const fn windows(self, window: u32) -> u32 {
        let passed = window.wrapping_sub((self.0 >> 20) as u32) & 0xfff;
        if passed < 8 { (self.0 >> 8 & 0xff) as u32 >> passed } else { 0 }
    }
}

/// The decision about the page asked about last.
#[derive(Clone, Copy, Debug)]
struct Asked {
    lpn: Lpn,
    class: u32,
    features: Features,
}

/// Groups by lives that a network foretells: DOGI. Its file says what was published and what is ours.
#[derive(Clone, Debug)]
pub struct Dogi {
    pages: u32,
    /// Groups with a stream, with the hot and the frozen one.
    groups: u8,
    logical: u64,
    unit: u64,

    // Per-block state.
    group: Vec<u8>,
    /// Number of host writes when the block was opened.
    born: Vec<u64>,
    queues: Queues,
    /// Full blocks that left their queues and must be readmitted to the index, by bank.
    leaving: Vec<Vec<BlockId>>,
    /// The last change of groups that each bank has applied.
    settled: Vec<u32>,
    change: u32,
    live: u32,
    hot_blocks: u32,

    // Features.
    window: u32,
    window_ends: u64,
    /// Writes of each chunk.
    chunks: Vec<u32>,
    chunks_halve: u64,
    previous: Lpn,
    asked: Asked,

    // Groups.
    /// The last group. Those before it are queues.
    last: u8,
    /// The age at which blocks of each queue are collected, in page writes.
    ages: [u64; groups::MOST + 1],
    /// The group of each category when written and when first copied.
    written_to: [u8; CATEGORIES],
    copied_to: [u8; CATEGORIES],
    /// The group and the age in units of the current victim.
    from: u8,
    victim_age: u32,

    writes: u64,
    learning: Option<Box<Learning>>,
}

impl Dogi {
    /// Groups for a device.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    pub fn new(p: &DogiParams, context: &Context) -> Result<Self, ParamError> {
        let groups = p.groups.unwrap_or((context.blocks_of_bank() / 48).clamp(4, 9));
        let groups = within("groups", groups, 4..=9)? as u8;
        for (key, value, least, most) in [
            ("warm_up", p.warm_up, 0.0, 1000.0),
            ("period", p.period, 0.1, 1000.0),
            ("utilization", p.utilization, 0.1, 1.0),
        ] {
            if !(least..=most).contains(&value) {
                let expected = format!("{least} to {most}");
                return Err(ParamError::Value { key: key.into(), value: value.show(), expected });
            }
        }
        let logical = u64::from(context.logical_pages.max(1));
        let pages = context.pages_per_block.max(1);
        let banks = context.banks.max(1);
        let unit = (UNIT * u64::from(pages)).max((2 * logical).div_ceil(255));
        let mut ages = [0; groups::MOST + 1];
        ages[usize::from(HOT)] = u64::from(HOT_UNITS) * unit;
        Ok(Self {
            pages,
            groups,
            logical,
            unit,
            group: vec![NO_GROUP; context.blocks as usize],
            born: vec![0; context.blocks as usize],
            queues: Queues::new(context.blocks, banks * u32::from(groups)),
            leaving: vec![Vec::new(); banks as usize],
            settled: vec![0; banks as usize],
            change: 0,
            live: 0,
            hot_blocks: 0,
            window: 0,
            window_ends: (logical / 4).max(1),
            chunks: vec![0; context.logical_pages.div_ceil(CHUNK) as usize],
            chunks_halve: (logical * 20 / 128).max(1),
            previous: Lpn(0),
            asked: Asked { lpn: Lpn(u32::MAX), class: COPIED, features: [0.0; _] },
            last: FIRST,
            ages,
            written_to: [FIRST; CATEGORIES],
            copied_to: [FIRST; CATEGORIES],
            from: NO_GROUP,
            victim_age: 0,
            writes: 0,
            learning: p.learn.then(|| Box::new(Learning::new(p, logical, context.seed))),
        })
    }

    /// The last group of the chain.
    fn top(&self) -> u8 {
        (self.last + CHAIN - 1).min(self.groups - 2)
    }

    fn frozen(&self) -> u8 {
        self.groups - 1
    }

    fn is_queue(&self, group: u8) -> bool {
        group < self.last
    }

    fn queue(&self, bank: u32, group: u8) -> u32 {
        bank * u32::from(self.groups) + u32::from(group)
    }

    /// The current age of data that were `age` units old when their block was opened.
    #[inline(always)]
    fn age(&self, page: PageHistory, block: BlockId) -> u32 {
        if page.class() == FROZEN {
            return 255;
        }
        let passed = (self.writes - self.born[block.index()]) / self.unit;
        (u64::from(page.age()) + passed).min(255) as u32
    }

    /// The stream of a class of pages when written.
    #[inline(always)]
    fn stream(&self, class: u32) -> u8 {
        match class {
            WAS_HOT => swapped(HOT),
            _ => swapped(self.written_to[(class - WAS_HOT - 1) as usize]),
        }
    }

    /// The stream of a survivor, whose state becomes that of a copy.
    #[inline(always)]
    fn copied(&self, page: &mut PageHistory) -> u8 {
        let class = page.class();
        if class == FROZEN {
            return swapped(self.frozen());
        }
        let age = (page.age() + self.victim_age).min(255);
        *page = PageHistory::new(age, page.windows(self.window), COPIED, self.window);
        let next = (self.from.saturating_add(1)).min(self.top());
        swapped(match class {
            _ if self.from == NO_GROUP => FIRST,
            WAS_HOT => FIRST,
            COPIED => next,
            _ if self.from >= self.last => next,
            category => self.copied_to[(category - WAS_HOT - 1) as usize],
        })
    }

    /// Moves a block to another group; returns its previous group.
    fn regroup(&mut self, block: BlockId, group: u8) -> u8 {
        let before = core::mem::replace(&mut self.group[block.index()], group);
        self.hot_blocks += u32::from(group == HOT);
        self.hot_blocks = self.hot_blocks.saturating_sub(u32::from(before == HOT));
        before
    }

    /// Applies a change of groups to a bank: blocks of queues that are no longer any leave them.
    fn settle(&mut self, bank: u32, blocks: &BlockView) {
        if core::mem::replace(&mut self.settled[bank as usize], self.change) == self.change {
            return;
        }
        for group in self.last..self.groups {
            while let Some(block) = self.queues.oldest(self.queue(bank, group), blocks) {
                self.leave(bank, block);
            }
        }
    }

    /// Moves a block from its queue to the index.
    fn leave(&mut self, bank: u32, block: BlockId) {
        self.queues.remove(block);
        self.leaving[bank as usize].push(block);
    }

    /// The next block to readmit. Exactly the full blocks in queues are set aside.
    fn readmitted(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        while let Some(block) = self.leaving[bank as usize].pop() {
            if blocks.block(block).state == State::Aside && self.queues.of(block).is_none() {
                return Some(block);
            }
        }
        None
    }

    /// The oldest block with garbage of a queue, of those that are older than `age`. Those without
    /// garbage move to the next group.
    fn oldest(&mut self, bank: u32, group: u8, age: u64, blocks: &BlockView) -> Option<BlockId> {
        while let Some(block) = self.queues.oldest(self.queue(bank, group), blocks)
            && self.writes - self.born[block.index()] >= age
        {
            if blocks.has_garbage(block) {
                return Some(block);
            }
            self.regroup(block, group + 1);
            if self.is_queue(group + 1) {
                self.queues.push(self.queue(bank, group + 1), block);
            } else {
                self.leave(bank, block);
            }
        }
        None
    }

    /// The features of a page write.
    #[inline(always)]
    fn features(&self, lpn: Lpn, page: PageHistory, age: u32) -> Features {
        let windows = page.windows(self.window);
        let chunk = self.chunks.get((lpn.0 / CHUNK) as usize).copied().unwrap_or(0);
        let numbers = [lpn.0, self.previous.0, age, windows, windows.count_ones(), chunk];
        numbers.map(|number| number as f32)
    }

    /// Ends a window of the features.
    #[cold]
    fn pass_window(&mut self) {
        self.window = (self.window + 1) & 0xfff;
        self.window_ends = self.writes + (self.logical / 4).max(1);
    }

    #[cold]
    fn halve_chunks(&mut self) {
        self.chunks.iter_mut().for_each(|writes| *writes /= 2);
        self.chunks_halve = self.writes + (self.logical * 20 / 128).max(1);
    }

    /// Takes over the network that was trained.
    #[cold]
    fn learned(&mut self) {
        let Some(learning) = &mut self.learning else { return };
        let (blocks, pages) = (f64::from(self.live), f64::from(self.pages));
        let most = (self.groups - 3).min(groups::MOST as u8);
        if let Some(found) = learning.take_over(blocks, pages, most, self.writes) {
            let plan = &found.plan;
            self.last = plan.groups;
            self.ages[1..].iter_mut().zip(found.ages).for_each(|(own, age)| *own = age.into());
            self.written_to = core::array::from_fn(|category| plan.group(category) + FIRST);
            self.copied_to = found.copied_to.map(|group| group + FIRST);
            self.change += 1;
        }
    }
}

/// Converts a group to its stream, and a stream to its group.
#[inline(always)]
const fn swapped(group: u8) -> u8 {
    match group {
        HOT => FIRST,
        FIRST => HOT,
        other => other,
    }
}

impl Streams for Dogi {
    fn streams(&self) -> u8 {
        self.groups
    }

    fn is_used(&self, stream: u8) -> bool {
        let group = swapped(stream);
        group <= self.top() || group == self.frozen()
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        swapped(stream) == HOT
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        let learned = self.learning.as_ref().map_or_else(|| "off".into(), |own| own.report());
        let ages = self.ages[..usize::from(self.last)].iter();
        let ages: Vec<String> =
            ages.map(|age| format!("{:.3}", *age as f64 / self.logical as f64)).collect();
        vec![("network", learned), ("ages", ages.join(", "))]
    }

    fn opened(&mut self, _bank: u32, block: BlockId, stream: u8, _now: u64) {
        self.queues.remove(block);
        self.live += 1;
        self.regroup(block, if stream < self.groups { swapped(stream) } else { NO_GROUP });
        self.born[block.index()] = self.writes;
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        self.queues.remove(block);
        let group = if stream < self.groups { swapped(stream) } else { NO_GROUP };
        self.regroup(block, group);
        if !self.is_queue(group) {
            return Entry::Indexed;
        }
        self.queues.push(self.queue(bank, group), block);
        Entry::Aside
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        let hot_blocks = self.hot_blocks;
        self.from = self.regroup(victim.block, NO_GROUP);
        self.queues.remove(victim.block);
        self.live = self.live.saturating_sub(1);
        let age = (self.writes - self.born[victim.block.index()]) / self.unit;
        self.victim_age = age.min(255) as u32;
        if let Some(learning) = &mut self.learning {
            let share = f64::from(victim.valid) / f64::from(self.pages);
            let hot = (self.from == HOT).then_some((hot_blocks, share));
            learning.cleaned(victim.mapped, hot);
        }
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }
}

impl OwnVictims for Dogi {
    fn choose(&mut self, bank: u32, blocks: &BlockView, _now: u64) -> Choice {
        self.settle(bank, blocks);
        let due = (0..self.last)
            .find_map(|group| self.oldest(bank, group, self.ages[usize::from(group)], blocks));
        match (self.readmitted(bank, blocks), due) {
            (Some(block), _) => Choice::Readmit(block),
            (None, Some(block)) => Choice::Clean(block),
            (None, None) => Choice::Victim,
        }
    }

    /// If no other group has garbage, the coldest queue that has gives the victim.
    fn fallback(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        (0..self.last).rev().find_map(|group| self.oldest(bank, group, 0, blocks))
    }
}

impl Placement for Dogi {
    type Page = PageHistory;

    #[inline(always)]
    fn host(&mut self, page: PageHistory, write: &impl HostWrite) -> u8 {
        let lpn = write.lpn();
        let age = write.old().map_or(255, |old| self.age(page, old.block));
        let mut features = [0.0; _];
        let class = if age < HOT_UNITS {
            WAS_HOT
        } else {
            match &self.learning {
                Some(learning) if learning.is_active() => {
                    features = self.features(lpn, page, age);
                    WAS_HOT + 1 + learning.category(&features)
                }
                _ => WAS_HOT + 1,
            }
        };
        self.asked = Asked { lpn, class, features };
        self.stream(class)
    }

    #[inline(always)]
    fn written(&mut self, page: &mut PageHistory, lpn: Lpn, _: u64) {
        let Asked { lpn: asked, class, features } = self.asked;
        let class = if asked == lpn { class } else { COPIED };
        self.writes += 1;
        *page = PageHistory::new(0, page.windows(self.window) | 0x80, class, self.window);
        if self.writes >= self.window_ends {
            self.pass_window();
        }
        if let Some(chunk) = self.chunks.get_mut((lpn.0 / CHUNK) as usize) {
            *chunk = chunk.saturating_add(1);
        }
        if self.writes >= self.chunks_halve {
            self.halve_chunks();
        }
        self.previous = lpn;
        if let Some(learning) = &mut self.learning
            && learning.written(lpn, class == WAS_HOT, &features, self.writes)
        {
            self.learned();
        }
    }

    fn trimmed(&mut self, _: PageHistory, lpn: Lpn) {
        if let Some(learning) = &mut self.learning {
            learning.trimmed(lpn, self.writes);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, page: &mut PageHistory, _: Lpn, _: u64) -> u8 {
        self.copied(page)
    }

    fn restore(&mut self, page: &mut PageHistory, _: &Found) {
        *page = PageHistory::new(255, 0, COPIED, self.window);
    }
}

impl Registered for Dogi {
    const INFO: PolicyInfo = PolicyInfo {
        name: "dogi",
        aliases: &[],
        source: "DOGI, FAST 2026",
        summary: "pages by lives that a network foretells, in groups from a model; trained as it runs",
        params: DogiParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        Self::new(&DogiParams::read(args)?, context)
    }
}

//! MiDAS: a chain of groups whose sizes a model chooses (Oh et al., FAST 2024).
//!
//! A host write goes to the hot group G0 if the page's counter says so, else to G1. Survivors of Gi
//! move to G(i+1), those of the last group stay in it. The groups before the last are
//! first-in-first-out queues, each with a size. The first of them that exceeds its size gives the
//! victim. If none does, the last group gives it by the victim policy. So older data have moved
//! further, and data with similar lifetimes lie together.
//!
//! The number and sizes of the groups come from the update intervals of a sample of the pages
//! (UID). At the end of each epoch the [model] finds the sizes with the least write amplification
//! (GCS by MCAM). They are adopted if that is less than the epoch's measured one. A group whose
//! victims deviate from the predicted valid share is merged with those behind it. Until the next
//! epoch the merged group and three more form a chain without sizes ("naive MiDA"). The same holds
//! before the first epoch ends.
//!
//! Our readings:
//! * a block without garbage at the head of a queue is not copied. The block itself moves to the
//!   next group's queue, which has the same effect at no cost;
//! * stream 0 is G1 and stream 1 is G0, because the fill goes to stream 0 and is not hot;
//! * a group that fails to free a block in 25 victims is merged like a mispredicted one: one host
//!   write waits for these 25 victims, which together hold less garbage than a block;
//! * all pages are sampled. The paper samples one in a hundred and counts the shortest intervals
//!   once more without sampling. Here the few pages that take most writes are neither missed nor
//!   counted for a hundred others. With `sample`, one page of each group of neighbours is sampled,
//!   at a position drawn by its number, because traffic with a stride would otherwise be seen
//!   completely or not at all;
//! * a hot filter that errs is modelled as it was measured, where the published program stops
//!   modelling;
//! * the hot group is merged only if its victims hold more valid pages than predicted, not fewer.
//!
//! Cost: a byte a page, 4 more a sampled page, and 21 bytes a block. A search takes the same time
//! on any device, and a change of groups takes one pass over all blocks. Both happen once an epoch
//! of four times the device. A block changes queues at most once for each group.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn, prefetch};

use super::{
    Answer, Choice, Cleaning, Entry, HostWrite, OwnVictims, Placement, Registered, Streams,
    Survivors, queues::Queues,
};
use crate::{Args, BlockView, Context, ParamError, PolicyInfo, State, params, params::ParamValue};

pub mod model;

use model::{Hot, Lifetimes, MOST_GROUPS, Plan, Space};

/// The group of blocks that are free or hold read-only data.
const NO_GROUP: u8 = u8::MAX;
const HOT: u8 = 0;
/// The stream of the fill.
const FIRST: u8 = 1;
/// Number of groups into which the merged last group is split while sizes are unknown.
const NAIVE: u8 = 4;
/// A page is hot when its counter has this value, the maximum.
const HOTTEST: u8 = 3;
/// Tolerated difference between measured and predicted valid shares.
const TOLERANCE: f64 = 0.1;
/// Maximum number of victims for one host write without a block's worth of garbage.
const FUTILE: u32 = 25;
/// Minimum number of victims of a group for a meaningful valid share.
const ENOUGH: u32 = 8;
/// Maximum number of steps of the interval histogram.
const MOST_STEPS: u64 = 1 << 16;
/// The hot filter is too inaccurate if this share of a victim is valid, or if less than this share
/// of the writes is hot.
const HOT_VALID: f64 = 0.2;
const HOT_TRAFFIC: f64 = 0.15;

params! {
    /// Parameters of [`Midas`].
    pub struct MidasParams {
        /// Groups at most, the hot one among them: 3 to 10; auto: one for 48 blocks of a bank, 3 to 8.
        groups: Option<u32> = None,
        /// One page in this number has its update intervals counted; the paper's is 100.
        sample: u32 = 1,
        /// Page writes of an epoch, in sizes of the device.
        epoch: f64 = 4.0,
    }
}

/// The chain of groups; see the [module](self).
#[derive(Clone, Debug)]
pub struct Midas {
    pages: u32,
    banks: u32,
    /// Groups with a stream.
    groups: u8,

    // Per-page state.
    /// Hot counters.
    heat: Vec<u8>,
    sample: Sample,

    // Per-block state.
    /// The group of each block.
    group: Vec<u8>,
    /// Number of host writes when the block was opened.
    born: Vec<u64>,
    queues: Queues,
    /// Full blocks that left their queues and must be readmitted to the index, by bank.
    leaving: Vec<Vec<BlockId>>,
    /// The last change of groups that each bank has applied.
    settled: Vec<u32>,
    /// Blocks that are neither free nor unusable, and how many of them are in G0.
    live: u32,
    hot_blocks: u32,

    // Groups.
    /// The last group. The groups before it are queues; if it is G1, there are none.
    last: u8,
    /// Whether the last group is a chain without sizes.
    naive: bool,
    /// Blocks of each queue in a bank, including the open one.
    sizes: [u32; MOST_GROUPS],
    predicted: [f64; MOST_GROUPS],
    change: u32,
    /// The group of the current victim.
    from: u8,

    // Measurements.
    writes: u64,
    epoch: Epoch,
    filter: Filter,
    check: Check,
    /// Victims since the last host write, and the garbage in them.
    futile: (u32, u64),
}

/// Update intervals of a sample of the pages.
#[derive(Clone, Debug)]
struct Sample {
    one_in: u32,
    /// For each group of neighbours the step of the sampled page's last write, or [`UNKNOWN`].
    last: Vec<u32>,
    counts: Vec<u32>,
    /// Host writes in a step, as a power of 2.
    unit: u32,
}

/// The page holds no data, or data of unknown age.
const UNKNOWN: u32 = u32::MAX;

/// Measurements of the current epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    length: u64,
    ends: u64,
    writes: u64,
    copies: u64,
    hot_writes: u64,
    hot_valid: f64,
    hot_victims: u32,
    /// Sum of the hot group's size over its victims.
    hot_size: u64,
}

/// The age below which data that die in G1 count as hot: the mean age of G0's victims.
#[derive(Clone, Copy, Debug)]
struct Filter {
    starts: u64,
    age: f64,
    until: u64,
    sum: u64,
    victims: u64,
}

/// Measured valid shares, to compare with the predicted ones.
#[derive(Clone, Copy, Debug)]
struct Check {
    from: u64,
    until: u64,
    valid: [f64; MOST_GROUPS],
    victims: [u32; MOST_GROUPS],
}

impl Check {
    const NONE: Self = Self {
        from: u64::MAX,
        until: u64::MAX,
        valid: [0.0; MOST_GROUPS],
        victims: [0; MOST_GROUPS],
    };
}

impl Sample {
    /// The index of a page in the sample, if it is sampled.
    #[inline(always)]
    fn of(&self, lpn: Lpn) -> Option<usize> {
        if self.one_in == 1 {
            return Some(lpn.index());
        }
        let bucket = lpn.0 / self.one_in;
        let drawn = (u64::from(bucket.wrapping_mul(0x9e37_79b1)) * u64::from(self.one_in)) >> 32;
        (lpn.0 - bucket * self.one_in == drawn as u32).then_some(bucket as usize)
    }

    #[inline(always)]
    fn written(&mut self, lpn: Lpn, writes: u64, counted: bool) {
        if let Some(at) = self.of(lpn) {
            let step = (writes >> self.unit) as u32;
            let before = core::mem::replace(&mut self.last[at], step);
            let longest = self.counts.len() - 1;
            let steps = match before {
                UNKNOWN => longest,
                _ => (step.wrapping_sub(before) as usize).min(longest),
            };
            self.counts[steps] = self.counts[steps].saturating_add(u32::from(counted));
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

impl Midas {
    /// The chain for a device.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    pub fn new(p: &MidasParams, context: &Context) -> Result<Self, ParamError> {
        let error = |key: &str, value, expected: &str| {
            Err(ParamError::Value { key: key.into(), value, expected: expected.into() })
        };
        let groups = p.groups.unwrap_or((context.blocks_of_bank() / 48).clamp(3, 8));
        if !(3..=MOST_GROUPS as u32).contains(&groups) {
            return error("groups", groups.show(), "3 to 10, or auto");
        }
        let logical = context.logical_pages.max(1);
        let one_in = p.sample;
        if one_in == 0 {
            return error("sample", one_in.show(), "at least 1");
        }
        if !(1.0..=1000.0).contains(&p.epoch) {
            return error("epoch", p.epoch.show(), "1 to 1000");
        }
        let pages = context.pages_per_block.max(1);
        let banks = context.banks.max(1);
        let epoch = (p.epoch * f64::from(logical)) as u64;
        // A quarter of a block, larger if the epoch would otherwise have too many steps.
        let unit = u64::from(pages / 4).max(1).max(epoch.div_ceil(MOST_STEPS));
        let unit = unit.next_power_of_two().ilog2();
        let steps = (epoch >> unit).max(1) as usize + 1;
        Ok(Self {
            pages,
            banks,
            groups: groups as u8,
            heat: vec![0; logical as usize],
            sample: Sample {
                one_in,
                last: vec![0; (logical / one_in) as usize + 1],
                counts: vec![0; steps],
                unit,
            },
            group: vec![NO_GROUP; context.blocks as usize],
            born: vec![0; context.blocks as usize],
            queues: Queues::new(context.blocks, banks * groups),
            leaving: vec![Vec::new(); banks as usize],
            settled: vec![0; banks as usize],
            live: 0,
            hot_blocks: 0,
            last: 1,
            naive: true,
            sizes: [0; MOST_GROUPS],
            predicted: [0.0; MOST_GROUPS],
            change: 0,
            from: NO_GROUP,
            writes: 0,
            // The first pass only rewrites the fill in its order, so it is not measured.
            epoch: Epoch { length: epoch, ends: epoch + u64::from(logical), ..Epoch::default() },
            filter: Filter {
                starts: u64::from(logical),
                age: f64::from(logical),
                until: 2 * u64::from(logical),
                sum: 0,
                victims: 0,
            },
            check: Check::NONE,
            futile: (0, 0),
        })
    }

    /// The sizes in blocks of the groups before the last, G0 first; empty before the first model
    /// run.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        &self.sizes[..if self.has_queues() { usize::from(self.last) } else { 0 }]
    }

    /// Sets sizes, G0 first, as if the model had found them. The remaining blocks form one more
    /// group. Sizes count blocks of a bank. Sizes for too many groups, or for G0 alone, are
    /// ignored.
    pub fn take(&mut self, sizes: &[u32]) {
        if (2..usize::from(self.groups)).contains(&sizes.len()) {
            self.sizes = [0; MOST_GROUPS];
            self.sizes[..sizes.len()].copy_from_slice(sizes);
            self.last = sizes.len() as u8;
            self.naive = false;
            self.change += 1;
        }
    }

    fn has_queues(&self) -> bool {
        self.last > FIRST
    }

    fn is_queue(&self, group: u8) -> bool {
        self.has_queues() && group < self.last
    }

    /// The last group of the chain.
    fn top(&self) -> u8 {
        if self.naive { (self.last + NAIVE - 1).min(self.groups - 1) } else { self.last }
    }

    fn queue(&self, bank: u32, group: u8) -> u32 {
        bank * u32::from(self.groups) + u32::from(group)
    }

    /// Blocks of a queue, including its open one.
    fn size(&self, bank: u32, group: u8) -> u32 {
        self.queues.len(self.queue(bank, group)) + 1
    }

    /// The stream for the survivors of the current victim.
    #[inline(always)]
    fn survivor_stream(&self) -> u8 {
        let to = if self.from == NO_GROUP { FIRST } else { self.from + 1 };
        swapped(to.min(self.top()))
    }

    /// How much the hot counters of the survivors are reduced.
    #[inline(always)]
    const fn cooler(&self) -> u8 {
        match self.from {
            HOT => 2,
            FIRST => 1,
            _ => 0,
        }
    }

    /// Applies a change of groups to a bank.
    fn settle(&mut self, bank: u32, blocks: &BlockView) {
        if core::mem::replace(&mut self.settled[bank as usize], self.change) == self.change {
            return;
        }
        for n in 0..blocks.len() {
            let block = blocks.nth(n);
            let full = matches!(blocks.block(block).state, State::Closed | State::Aside);
            let group = self.group[block.index()];
            let stays = self.is_queue(group) && self.queues.of(block).is_some();
            if full && group != NO_GROUP && !stays {
                self.leave(bank, block, blocks);
            }
        }
        for group in 0..self.last {
            while self.is_queue(group)
                && self.size(bank, group) > self.sizes[usize::from(group)].max(1)
                && let Some(block) = self.queues.oldest(self.queue(bank, group), blocks)
            {
                self.leave(bank, block, blocks);
            }
        }
    }

    /// Moves a full block to the last group without copying.
    fn leave(&mut self, bank: u32, block: BlockId, blocks: &BlockView) {
        self.regroup(block, self.last);
        self.queues.remove(block);
        if blocks.block(block).state == State::Aside {
            self.leaving[bank as usize].push(block);
        }
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

    /// The oldest block with garbage of the first group that exceeds its size.
    fn oversized(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        for group in 0..self.last {
            while self.is_queue(group) && self.size(bank, group) > self.sizes[usize::from(group)] {
                match self.head(bank, group, blocks) {
                    Some(block) => return Some(block),
                    // A queue with only its open block cannot shrink.
                    None if self.queues.len(self.queue(bank, group)) == 0 => break,
                    None => {}
                }
            }
        }
        None
    }

    /// Moves a block to another group; returns its previous group.
    fn regroup(&mut self, block: BlockId, group: u8) -> u8 {
        let before = core::mem::replace(&mut self.group[block.index()], group);
        if before == HOT {
            self.hot_blocks = self.hot_blocks.saturating_sub(1);
        }
        if group == HOT {
            self.hot_blocks += 1;
        }
        before
    }

    /// The oldest block of a queue, if it has garbage. Otherwise that block moves to the next
    /// group.
    fn head(&mut self, bank: u32, group: u8, blocks: &BlockView) -> Option<BlockId> {
        let block = self.queues.oldest(self.queue(bank, group), blocks)?;
        if blocks.has_garbage(block) {
            return Some(block);
        }
        self.count(group, 1.0);
        if group + 1 == self.last {
            self.leave(bank, block, blocks);
        } else {
            self.regroup(block, group + 1);
            self.queues.push(self.queue(bank, group + 1), block);
        }
        None
    }

    /// Counts a collected block of a group.
    fn count(&mut self, group: u8, valid: f64) {
        let check = &mut self.check;
        if (check.from..check.until).contains(&self.writes) {
            check.valid[usize::from(group)] += valid;
            check.victims[usize::from(group)] += 1;
        }
    }

    /// Merges the groups from `group` on into a chain without sizes.
    fn merge(&mut self, group: u8) {
        self.last = group.clamp(FIRST, self.last);
        self.naive = true;
        self.check = Check::NONE;
        self.change += 1;
    }

    /// Merges the first group whose victims deviate from the model.
    fn compare(&mut self) {
        let check = core::mem::replace(&mut self.check, Check::NONE);
        if !self.has_queues() {
            return;
        }
        let groups = if self.naive { self.last } else { self.last + 1 };
        for group in 0..groups {
            let at = usize::from(group);
            let (victims, sum) = (check.victims[at], check.valid[at]);
            let off = sum / f64::from(victims.max(1)) - self.predicted[at];
            // A hot group that does better than measured in the epoch does no harm.
            let least = if group == HOT { -1.0 } else { -TOLERANCE };
            if victims >= ENOUGH && !(least..=TOLERANCE).contains(&off) {
                return self.merge(group);
            }
        }
    }

    /// Ends an epoch and adopts a better configuration if there is one.
    #[cold]
    fn end_epoch(&mut self, mapped: u32) {
        let epoch = self.epoch;
        let lives = Lifetimes::new(&self.sample.counts, 1 << self.sample.unit);
        self.sample.counts.fill(0);
        let length = epoch.length;
        self.epoch = Epoch { length, ends: self.writes + length, ..Epoch::default() };
        self.check = Check {
            from: self.writes + length / 3,
            until: self.writes + length / 2,
            ..Check::NONE
        };
        let Some(lives) = lives else { return };
        let victims = f64::from(epoch.hot_victims.max(1));
        let traffic = epoch.hot_writes as f64 / epoch.writes.max(1) as f64;
        let (valid, size) = (epoch.hot_valid / victims, epoch.hot_size as f64 / victims);
        let good = valid <= HOT_VALID && traffic >= HOT_TRAFFIC;
        let hot = match epoch.hot_victims {
            0 => Hot::default(),
            _ => Hot::measured(size, traffic, valid, self.pages),
        };
        let space = Space { blocks: self.live, pages: self.pages, mapped };
        let most = usize::from(self.groups) - 1;
        let measured = 1.0 + epoch.copies as f64 / epoch.writes.max(1) as f64;
        if let Some(plan) = model::search(&lives, &space, hot, good, most)
            && plan.groups > 1
            && plan.waf < measured
        {
            self.apply(&plan);
        }
    }

    fn apply(&mut self, plan: &Plan) {
        let mut sizes = [0; MOST_GROUPS];
        sizes[0] = plan.hot.size.div_ceil(self.banks).max(1);
        for (own, planned) in sizes[1..plan.groups].iter_mut().zip(&plan.sizes) {
            *own = planned.div_ceil(self.banks).max(1);
        }
        self.predicted[0] = plan.hot.valid;
        self.predicted[1..=plan.groups].copy_from_slice(&plan.valid[..plan.groups]);
        self.take(&sizes[..plan.groups]);
    }
}

impl Streams for Midas {
    fn streams(&self) -> u8 {
        self.groups
    }

    fn opened(&mut self, _bank: u32, block: BlockId, stream: u8, _now: u64) {
        self.queues.remove(block);
        self.live += 1;
        self.regroup(block, if stream < self.groups { swapped(stream) } else { NO_GROUP });
        self.born[block.index()] = self.writes;
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        self.queues.remove(block);
        if stream >= self.groups {
            self.regroup(block, NO_GROUP);
            return Entry::Indexed;
        }
        let group = swapped(stream).min(self.top());
        self.regroup(block, group);
        if !self.is_queue(group) {
            return Entry::Indexed;
        }
        self.queues.push(self.queue(bank, group), block);
        Entry::Aside
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        if self.writes >= self.epoch.ends {
            self.end_epoch(victim.mapped);
        }
        if self.writes >= self.check.until {
            self.compare();
        }
        let block = victim.block.index();
        let hot_size = self.hot_blocks;
        self.from = self.regroup(victim.block, NO_GROUP);
        self.queues.remove(victim.block);
        self.live = self.live.saturating_sub(1);
        self.epoch.copies += u64::from(victim.valid);
        if self.from == NO_GROUP {
            return;
        }
        let share = f64::from(victim.valid) / f64::from(self.pages);
        self.count(self.from, share);
        if self.from == HOT {
            self.epoch.hot_valid += share;
            self.epoch.hot_victims += 1;
            self.epoch.hot_size += u64::from(hot_size);
            self.filter.sum += self.writes - self.born[block];
            self.filter.victims += 1;
        }
        if self.writes >= self.filter.until && self.filter.victims > 0 {
            let mean = self.filter.sum as f64 / self.filter.victims as f64;
            let age = 0.5 * (self.filter.age + mean);
            let until = self.writes + age as u64;
            self.filter = Filter { age, until, sum: 0, victims: 0, ..self.filter };
        }
        self.futile.0 += 1;
        self.futile.1 += u64::from(victim.pages - victim.valid);
        if self.futile.0 > FUTILE && self.futile.1 < u64::from(self.pages) && self.has_queues() {
            self.futile = (0, 0);
            self.merge(self.from);
        }
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }
}

impl OwnVictims for Midas {
    fn choose(&mut self, bank: u32, blocks: &BlockView, _now: u64) -> Choice {
        self.settle(bank, blocks);
        let oversized = self.oversized(bank, blocks);
        match (self.readmitted(bank, blocks), oversized) {
            (Some(block), _) => Choice::Readmit(block),
            (None, Some(block)) => Choice::Clean(block),
            (None, None) => Choice::Victim,
        }
    }

    /// If the last group has no garbage, the coldest queue that has gives the victim.
    fn fallback(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        for group in (0..self.last).rev() {
            while self.is_queue(group) && self.queues.len(self.queue(bank, group)) > 0 {
                if let Some(block) = self.head(bank, group, blocks) {
                    return Some(block);
                }
            }
        }
        None
    }
}

impl Placement for Midas {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        let heat = &mut self.heat[write.lpn().index()];
        let hot = *heat == HOTTEST;
        if let Some(old) = write.old()
            && self.writes >= self.filter.starts
        {
            let age = self.writes - self.born[old.block.index()];
            match self.group[old.block.index()] {
                HOT => *heat = (*heat + 1).min(HOTTEST),
                FIRST if age as f64 <= self.filter.age => *heat = (*heat + 1).min(HOTTEST),
                FIRST => *heat = heat.saturating_sub(1),
                _ => {}
            }
        }
        self.epoch.hot_writes += u64::from(hot);
        swapped(if hot { HOT } else { FIRST })
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.writes += 1;
        self.epoch.writes += 1;
        self.futile = (0, 0);
        self.sample.written(lpn, self.writes, self.writes > self.filter.starts);
        if self.writes == self.filter.starts {
            let Epoch { length, ends, .. } = self.epoch;
            self.epoch = Epoch { length, ends, ..Epoch::default() };
        }
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        self.heat[lpn.index()] = 0;
        if let Some(at) = self.sample.of(lpn) {
            self.sample.last[at] = UNKNOWN;
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), lpn: Lpn, _: u64) -> u8 {
        let cooler = self.cooler();
        let heat = &mut self.heat[lpn.index()];
        *heat = heat.saturating_sub(cooler);
        self.survivor_stream()
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        let (cooler, stream) = (self.cooler(), self.survivor_stream());
        if cooler > 0 {
            for lpn in survivors.pages() {
                prefetch(&self.heat, lpn.index());
            }
            for lpn in survivors.pages() {
                let heat = &mut self.heat[lpn.index()];
                *heat = heat.saturating_sub(cooler);
            }
        }
        Answer::Together(stream)
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.heat, lpn.index());
        if let Some(at) = self.sample.of(lpn) {
            prefetch(&self.sample.last, at);
        }
    }
}

impl Registered for Midas {
    const INFO: PolicyInfo = PolicyInfo {
        name: "midas",
        aliases: &[],
        source: "MiDAS, FAST 2024",
        summary: "a chain of groups by age, their sizes from a model of the traffic; adapts by itself",
        params: MidasParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        Self::new(&MidasParams::read(args)?, context)
    }
}

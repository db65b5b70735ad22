//! A contest: ghosts simulate rival rules on a sample of the pages, and the device follows the best.
//!
//! One page of each group of neighbours is in the sample, chosen by a hash. A ghost has as many
//! blocks as a bank of the device, with proportionally fewer pages, so that streams cost it as much
//! space. On large devices it has fewer blocks. The configured rule has a ghost too, so that ghosts
//! are compared with ghosts. Copy counts decay, so that another rule may win later. Another rule is
//! followed only if it copies clearly less, so near ties change nothing.
//!
//! Memory: 12 to 16 bytes for each page of a ghost (map, owner, and its share of a block), besides
//! what its rule keeps.

use alloc::{format, string::String, vec::Vec};
use core::ops::RangeInclusive;

use thermocline_flash::Lpn;

use super::ghost::{Ghost, Simulated};
use crate::{Context, trigger::Watermarks};

/// One page in 2 to this power is in the sample, if a ghost's blocks then have [`PAGES`] pages.
const SHIFT: u32 = 3;
/// Pages in a ghost's block. Fewer predict larger blocks badly; more are not needed.
const PAGES: RangeInclusive<u32> = 16..=32;
/// Approximate maximum number of blocks in a ghost. A ghost needs as many as the device, because
/// streams keep blocks open, but more than this do not improve the verdict.
const BLOCKS: u32 = 4096;
/// Minimum number of spare blocks with which rules can differ.
const LEAST_SPARE: u32 = 8;
/// Verdicts while as much is written as a ghost holds.
const VERDICTS: u32 = 4;
/// Share of the evidence kept after each verdict, in tenths.
const KEPT: u64 = 8;
/// Another rule is followed if it copies less than the leader by each of three margins: a part of
/// the leader's copies, a part of the pages written, and a multiple of the random variation.
const OF_COPIES: u64 = 32;
/// The same part where hints are to be used from then on. Hints with information save far more, and
/// a ghost predicts the device only so well.
const OF_COPIES_BY_HINTS: u64 = 8;
const OF_WRITES: u64 = 128;
const CHANCE: u64 = 3;

/// The ghosts, and the rule that the device follows.
#[derive(Clone, Debug)]
pub(super) struct Contest<R, P> {
    /// One page in 2 to this power is in the sample.
    pub(super) shift: u32,
    pub(super) ghosts: Vec<(R, Ghost<P>)>,
    /// Logical pages of each ghost.
    pub(super) logical_pages: u32,
    pub(super) leader: usize,
    /// Pages written to the ghosts since the last verdict.
    pub(super) written: u32,
    /// Pages written before that, decayed like the copies.
    evidence: u64,
    pub(super) changes: u32,
}

/// The shape of the ghosts for a device.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// One page in 2 to this power is in the sample.
    shift: u32,
    /// What a ghost's rule is built for.
    pub(super) ghost: Context,
}

impl Shape {
    /// The ghosts' shape, or the reason why there cannot be any.
    pub(super) fn new(device: &Context) -> Result<Self, String> {
        let Context { logical_pages, pages_per_block, banks, blocks, .. } = *device;
        let (least, most) = (*PAGES.start(), *PAGES.end());
        if pages_per_block < 2 * least {
            return Err(format!("blocks of fewer than {} pages", 2 * least));
        }
        // A ghost is one bank. Its blocks are smaller than the device's. If that is not enough, it
        // has fewer.
        let suitable = (pages_per_block >> SHIFT).clamp(least, most);
        let smaller = (pages_per_block / suitable).ilog2();
        let of_bank = device.blocks_of_bank();
        let fewer = (banks * of_bank.div_ceil(BLOCKS)).next_power_of_two().ilog2();
        let shift = (smaller + fewer).max(SHIFT);
        let pages_of_block = 1 << (pages_per_block >> smaller).ilog2();
        let reserve = Watermarks::default().reserve;
        let blocks = blocks.saturating_sub(device.system_blocks + reserve * banks);
        let pages = u64::from(blocks) * u64::from(pages_per_block);
        let blocks = ((pages >> shift) / u64::from(pages_of_block)) as u32 + reserve;
        let logical_pages = (logical_pages >> shift) + 1;
        let ghost = Context {
            logical_pages,
            pages_per_block: pages_of_block,
            blocks,
            ..Context::smallest()
        };
        let spare = spare_blocks(&ghost);
        if spare < LEAST_SPARE {
            return Err(format!("{spare} spare blocks in a ghost, {LEAST_SPARE} are needed"));
        }
        Ok(Self { shift, ghost })
    }

    /// How many of `hints` handles can be kept apart on the device and in a ghost; see
    /// [`suitable_handles`].
    pub(super) fn suitable_handles(&self, device: &Context, hints: u32) -> u8 {
        suitable_handles(device, hints).min(suitable_handles(&self.ghost, hints))
    }
}

/// Blocks of a bank beyond those needed by its logical pages. With an index log, those of the last
/// bank.
pub(super) fn spare_blocks(device: &Context) -> u32 {
    let needed = device.logical_pages.div_ceil(device.pages_per_block).div_ceil(device.banks);
    device.blocks_of_bank().saturating_sub(device.system_blocks).saturating_sub(needed)
}

/// How many of `hints` handles can be kept apart, each with a stream for its writes and one for their
/// survivors, and with the handle of writes without a hint; 0 if there is room for no two.
fn suitable_handles(device: &Context, hints: u32) -> u8 {
    let open = spare_blocks(device).saturating_sub(device.reserve + 1);
    let handles = (hints + 1).min(open / 2);
    if hints > 0 && handles > 1 { handles as u8 } else { 0 }
}

impl<R: Copy, P: Simulated> Contest<R, P> {
    /// Rules with the placements that simulate them. The first is followed at first.
    pub(super) fn new(
        Shape { shift, ghost }: &Shape,
        rules: impl IntoIterator<Item = (R, P)>,
    ) -> Self {
        let ghosts = rules.into_iter().map(|(rule, own)| (rule, Ghost::new(own, ghost)));
        Self {
            shift: *shift,
            ghosts: ghosts.collect(),
            logical_pages: ghost.logical_pages,
            leader: 0,
            written: 0,
            evidence: 0,
            changes: 0,
        }
    }

    /// The number of a page within the ghosts, if it is in the sample.
    #[inline(always)]
    pub(super) fn sample(&self, lpn: Lpn) -> Option<u32> {
        let group = lpn.0 >> self.shift;
        let chosen = group.wrapping_mul(0x9E37_79B1) >> (32 - self.shift);
        (lpn.0 & ((1 << self.shift) - 1) == chosen).then_some(group)
    }

    pub(super) fn filled(&mut self, lpn: Lpn) {
        if let Some(page) = self.sample(lpn) {
            self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.fill(page));
        }
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn) {
        if let Some(page) = self.sample(lpn) {
            self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.trim(page));
        }
    }

    /// Records a host write. Returns a rule if the device is to follow another from now on.
    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn, handle: u8) -> Option<R> {
        let page = self.sample(lpn)?;
        self.written_to_ghosts(page, handle)
    }

    #[inline(never)]
    fn written_to_ghosts(&mut self, page: u32, handle: u8) -> Option<R> {
        self.ghosts.iter_mut().for_each(|(_, ghost)| ghost.write(page, handle));
        self.written += 1;
        (self.written * VERDICTS >= self.logical_pages).then(|| self.verdict()).flatten()
    }

    /// Another rule, if it copies clearly less than the leader.
    pub(super) fn verdict(&mut self) -> Option<R> {
        self.evidence += u64::from(core::mem::take(&mut self.written));
        let leader = &self.ghosts[self.leader].1;
        let (own, uses_hints) = (leader.copies, leader.own.uses_hints());
        let clear = self.evidence / OF_WRITES + CHANCE * own.isqrt();
        let is_clear = |ghost: &Ghost<P>| {
            let begins = ghost.own.uses_hints() && !uses_hints;
            let part = own / if begins { OF_COPIES_BY_HINTS } else { OF_COPIES };
            own.saturating_sub(ghost.copies) > part + clear
        };
        let rivals = self.ghosts.iter().enumerate().filter(|(_, (_, ghost))| is_clear(ghost));
        let best = rivals.min_by_key(|(_, (_, ghost))| ghost.copies).map(|(n, _)| n);
        for (_, ghost) in &mut self.ghosts {
            ghost.copies = ghost.copies * KEPT / 10;
        }
        self.evidence = self.evidence * KEPT / 10;
        let best = best?;
        (self.leader, self.changes) = (best, self.changes + 1);
        Some(self.ghosts[best].0)
    }

    /// The rule that the device follows.
    pub(super) fn followed(&self) -> R {
        self.ghosts[self.leader].0
    }

    /// How the rule came to be followed, in words.
    pub(super) fn report(&self) -> String {
        let Self { shift, ghosts, changes, .. } = self;
        format!("{changes} changes; {} rules on one page in {}", ghosts.len(), 1_u32 << shift)
    }
}

//! Survival: pages with equal lifetimes go to the same blocks, and the survival of their streams
//! shows when a block is worth cleaning.
//!
//! Time is the number of pages the host has written.
//!
//! * A page's *interval* is the time since its last write, estimated from its block. The pages of a
//!   block that the host alone filled were written at equal distances between its opening and its
//!   closing. For a block with survivors the mean is stored. One byte a page stores the logarithm
//!   of a decaying mean of its intervals, `e ← (e + log2 interval)/2`.
//! * Streams: host writes are separated by that mean. Survivors are separated by the time since
//!   they were written; those of one block have one age, so they stay together. Each stream has a
//!   centre (see `centres`). The first stream has the youngest survivors and takes the fill. New
//!   pages join the last, with the longest intervals.
//! * The survival of each stream's blocks, by time since they closed, is counted (see `curves`). It
//!   gives them their cost factor in the victim index. A block is weighed when it closes, when it
//!   enters another half-octave of age, and in turn with all others, a few at each choice, because
//!   the counts change.
//! * The gate: if neither age nor stream predicts when pages die, no placement can gain, and open
//!   blocks cost space. Then all data go to one stream, and all blocks have equal weight, as in
//!   greedy. Without enough data pages are separated.
//! * The duel: ghosts try other exponents and numbers of streams on a sample of the pages, and the
//!   device follows the best rule (see `duel`).
//! * Placement hints, with `hints=N`: a contest of two more ghosts tries to send writes to the stream
//!   of their handle, and survivors to another of the same handle. The device follows while that
//!   copies clearly less, so hints without information cost nothing. There is no gate then: that data
//!   of a handle die together does not show in the curves.
//!
//! After a loss of the tables: the mean intervals are stored beside the pages and are recovered,
//! the write times of blocks are not. The first interval of a recovered page does not count.
//! Survival is counted anew; two thirds of the counts are back after page writes of one and a
//! quarter times the device.
//!
//! Memory: 1 byte a page (0 with `history=no`), 64 bytes a block, and the ghosts.

mod ages;
mod blocks;
mod centres;
mod curves;
mod duel;
mod shares;

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn, prefetch};

use super::{
    Ahead, Answer, Choice, Cleaning, Entry, Found, HostWrite, OwnVictims, Place, Placement,
    Registered, Streams, Survivors,
    contest::Contest,
    ghost::Simulated,
    handles::{Handles, UNHINTED},
};
use crate::{
    Args, BlockView, Context, ParamError, PolicyInfo, State, params,
    params::{MAX_STREAMS, ParamValue, within},
};

use ages::{OCTAVE, log2};
use blocks::{Block, Blocks, CLOSED, NOWHERE};
use centres::Centres;
use curves::Curves;
use duel::{Duel, Rule};
use shares::{most_streams, suitable_streams};

/// A page without known intervals.
const UNKNOWN: u8 = 0;
/// A stored mean has steps of 2 to this power of the unit of [`log2`].
const STEP: u32 = 5;
/// Number of blocks weighed in turn at each choice.
const SWEPT: u32 = 8;
/// A block's weight is updated if it has changed by more than the inverse of this number.
const REWEIGH: f64 = 32.0;
/// How often counts decay and weights are recomputed while the host writes as much as the device
/// holds.
const REFITS: u64 = 4;
/// The gate opens at this multiple of the gain at which it closes.
const HYSTERESIS: f64 = 1.5;

/// Most handles that can be kept apart beside writes without a hint: read-only data have a stream.
const MOST_HANDLES: u32 = MAX_STREAMS / 2 - 2;

/// The stream of all data while the gate is closed: that of the youngest survivors.
const ALL: u8 = 0;

params! {
    /// Parameters of [`Survival`].
    pub struct SurvivalParams {
        /// Streams, 2 to 16, half of them for survivors; auto: the root of two thirds of a bank's spare blocks, 4 to 16.
        streams: Option<u32> = None,
        /// Whether a byte a page keeps a fading mean of its update intervals; otherwise the last one counts.
        history: bool = true,
        /// Exponent of the rate at which waiting pays, in a block's cost.
        hazard: f64 = 0.4,
        /// Exponent of a block's age, in the same.
        age: f64 = 0.2,
        /// Blocks of evidence that a hazard like 1/age counts as.
        prior: f64 = 16.0,
        /// The gain below which all data go to one stream, in nats a death; 0: never.
        gate: f64 = 0.04,
        /// Exponent of a block's erase count, in its cost: even wear at the price of copies; CAT has 1.
        wear: f64 = 0.0,
        /// Whether rival rules are tried on a sample of the pages, and the best one is followed.
        duel: bool = true,
        /// Handles, 0 to 14, whose separation is tried in the same way; 0: placement hints are not read.
        hints: u32 = 0,
    }
}

/// The content of a stream's open block in one bank.
#[derive(Clone, Copy, Debug)]
struct Filling {
    block: BlockId,
    opened: u64,
    pages: u32,
    /// Number of survivors in it, and the sum of their write times.
    survivors: u32,
    sum: u64,
}

impl Filling {
    const NONE: Self = Self { block: BlockId::NONE, opened: 0, pages: 0, survivors: 0, sum: 0 };

    fn add_survivors(&mut self, pages: u32, written_at: u64) {
        self.pages += pages;
        self.survivors += pages;
        self.sum += u64::from(pages) * written_at;
    }

    /// Times of the first and the last write of the pages in it.
    #[inline(always)]
    fn written(&self, now: u64) -> (u64, u64) {
        if self.survivors == 0 {
            return (self.opened, now);
        }
        let (survivors, pages) =
            (u64::from(self.survivors), u64::from(self.pages.max(self.survivors)));
        let mean = (self.sum + (pages - survivors) * ((self.opened + now) / 2)) / pages;
        (mean, mean)
    }
}

/// Sends pages to streams by their expected lifetime; see the module.
#[derive(Clone, Debug)]
pub struct Survival {
    /// The logarithm of the mean interval of each page; empty without history.
    pages: Vec<u8>,
    logical_pages: u32,
    pages_per_block: u32,
    /// t: pages written by the host, including the fill.
    writes: u64,
    /// Centres of the host streams by stored mean, and of the survivor streams by age.
    hosts: Centres,
    survivors: Centres,
    curves: Curves,
    /// The gain below which the gate closes.
    gate: f64,
    /// The exponent of erase counts.
    wear: f64,
    /// Whether all data go to one stream (the gate is closed).
    is_one: bool,
    refit_at: u64,
    blocks: Blocks,
    filling: Vec<Filling>,
    banks: Vec<Bank>,
    /// The bank and the stream of the page that the host writes; `None` if it is read-only.
    to: Option<(u32, u8)>,
    /// The handles of upcoming writes, and that of the page that the host writes.
    handles: Handles,
    handle: u8,
    /// Number of handles that can be kept apart, with that of writes without a hint; 0 if hints are not read.
    apart: u8,
    /// Whether streams are those of handles, and the contest that decides it.
    by_handle: bool,
    trial: Option<Box<Contest<bool, Self>>>,
    /// The stream of the victim's survivors.
    survivor_stream: u8,
    /// Survivors that do not fit the open block of their stream, and their mean write time.
    over: (u32, u64),
    /// Number of streams without a duel, and the greatest that a rule may take.
    suggested: u8,
    most_ruled: u8,
    /// The duel, or the reason why there is none.
    duel: Result<Box<Duel>, String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    /// The latest bin that a block has ever reached.
    oldest: u8,
    /// No block in a later bin is due at this choice.
    from: u8,
    /// No block leaves its bin before this time.
    due: u64,
    /// The block that is weighed next, and how many more may be weighed before the next cleaning.
    swept: u32,
    left: u32,
}

impl Survival {
    /// Number of data streams, in use or not. The next stream number is that of read-only data.
    fn streams_of_data(&self) -> u8 {
        self.survivors.most() + self.hosts.most()
    }

    /// The open block of a stream in a bank. Read-only data have their own stream.
    #[inline(always)]
    fn filling(&mut self, bank: u32, stream: u8) -> &mut Filling {
        let streams = u32::from(self.streams_of_data()) + 1;
        &mut self.filling[(bank * streams + u32::from(stream).min(streams - 1)) as usize]
    }

    /// Write time of a page; `None` if its block was full before the first write.
    #[inline(always)]
    fn written_at(&mut self, place: &Place) -> Option<u64> {
        let now = self.writes;
        let Block { first, last, closed, bin, .. } = self.blocks[place.block];
        let open = *self.filling(place.bank, place.stream);
        // A victim that is cleaned in steps is in no bin.
        if bin != NOWHERE || open.block != place.block {
            let into = (last - first) * u64::from(place.page) / u64::from(self.pages_per_block);
            return (closed > 0).then_some(first + into);
        }
        let (first, last) = open.written(now);
        Some(first + (last - first) * u64::from(place.page) / u64::from(place.next.max(1)))
    }

    /// The handle of a stream, where streams are those of handles: survivors have the first half.
    fn handle_of(&self, stream: u8) -> u8 {
        stream.checked_sub(self.survivors.most()).unwrap_or(stream)
    }

    /// The current weight for a block.
    #[inline(always)]
    fn weight(&self, stream: u8, bin: u8) -> f64 {
        if self.is_one { 1.0 } else { self.curves.weight(stream, bin) }
    }

    /// A block's weight, if it has changed.
    #[inline(always)]
    fn reweigh(&mut self, block: BlockId, erases: u32) -> Option<f64> {
        let Block { stream, bin, weight, .. } = self.blocks[block];
        let mut new = self.weight(stream, bin);
        if self.wear > 0.0 {
            new *= libm::pow(f64::from(erases) + 1.0, self.wear);
        }
        if (new - weight).abs() * REWEIGH <= weight {
            return None;
        }
        self.blocks[block].weight = new;
        Some(new)
    }

    /// Moves the next due block to the bin of its age.
    #[inline(always)]
    fn come_of_age(&mut self, bank: u32, blocks: &BlockView) -> Option<BlockId> {
        // Blocks leave without notice in wear levelling and after chip failures.
        let is_full = |block| matches!(blocks.block(block).state, State::Closed | State::Aside);
        while let Some(block) = self.blocks.front(bank, CLOSED) {
            if is_full(block) {
                return Some(self.comes_to(0, bank, block, blocks.block(block).valid));
            }
            self.blocks.remove(bank, block);
        }
        let Bank { due, from, oldest, .. } = self.banks[bank as usize];
        if self.writes < due {
            return None;
        }
        let mut left = false;
        for bin in (0..=from).rev() {
            if self.blocks.due(bank)[usize::from(bin)] > self.writes {
                continue;
            }
            let Some(block) = self.blocks.front(bank, bin) else { continue };
            if is_full(block) {
                // Only that bin has received a block, which may be due in it too.
                self.banks[bank as usize].from = if left { oldest } else { bin + 1 };
                self.comes_to(bin + 1, bank, block, blocks.block(block).valid);
                // The next block becomes due at the next choice or soon after it.
                if let Some(next) = self.blocks.front(bank, bin) {
                    blocks.prefetch_factor(next);
                    self.blocks.prefetch_younger(next);
                }
                return Some(block);
            }
            self.blocks.remove(bank, block);
            left = true;
        }
        let due = self.blocks.due(bank)[..=usize::from(oldest)].iter().min();
        let own = &mut self.banks[bank as usize];
        own.from = oldest;
        own.due = if left { 0 } else { due.copied().unwrap_or(u64::MAX) };
        None
    }

    /// Moves a block to a bin.
    #[inline(always)]
    fn comes_to(&mut self, bin: u8, bank: u32, block: BlockId, valid: u32) -> BlockId {
        self.look(block, valid);
        self.blocks.advance(bank, block);
        let due = self.blocks.due(bank)[usize::from(bin)];
        let own = &mut self.banks[bank as usize];
        own.oldest = own.oldest.max(bin);
        own.due = own.due.min(due);
        block
    }

    /// Counts the pages that a full block lost since the last observation.
    #[inline(always)]
    fn look(&mut self, block: BlockId, valid: u32) {
        let now = self.writes;
        let own = &mut self.blocks[block];
        if own.bin < CLOSED {
            let ages = (own.looked - own.closed, now - own.closed);
            self.curves.lived(own.stream, own.bin, (own.valid, valid), ages);
        }
        (own.looked, own.valid) = (now, valid);
    }

    /// Follows another rule from now on.
    #[cold]
    #[inline(never)]
    fn follow(&mut self, rule: Rule) {
        self.curves.set_exponents(rule.exponents);
        let streams = rule.streams(self.suggested, self.most_ruled);
        if streams != self.hosts.len() + self.survivors.len() {
            self.hosts.resize(streams / 2);
            self.survivors.resize(streams - streams / 2);
        }
    }

    fn simulate_fill(&mut self, lpn: Lpn) {
        if let Ok(duel) = &mut self.duel {
            duel.filled(lpn);
        }
        if let Some(trial) = &mut self.trial {
            trial.filled(lpn);
        }
    }

    /// Evaluates the counts: sets the gate and recomputes block weights.
    #[cold]
    #[inline(never)]
    fn refit(&mut self) {
        self.refit_at = self.writes + (u64::from(self.logical_pages) / REFITS).max(1);
        if let Some(gain) = self.curves.gain(!self.is_one).filter(|_| !self.by_handle) {
            let least = if self.is_one { self.gate * HYSTERESIS } else { self.gate };
            self.is_one = gain < least;
        }
        self.curves.weigh();
        self.curves.fade();
    }
}

impl Streams for Survival {
    fn streams(&self) -> u8 {
        self.streams_of_data()
    }

    fn is_used(&self, stream: u8) -> bool {
        if self.is_one {
            return stream == ALL;
        }
        match stream.checked_sub(self.survivors.most()) {
            _ if self.by_handle => self.handle_of(stream) < self.apart,
            None => self.survivors.is_used(stream),
            Some(host) => self.hosts.is_used(host),
        }
    }

    fn is_hot_stream(&self, stream: u8) -> bool {
        stream >= self.survivors.most() && stream < self.survivors.most() + self.hosts.last()
    }

    fn report(&self) -> Vec<(&'static str, String)> {
        let duel = match &self.duel {
            Ok(duel) => duel::report(duel),
            Err(why) => format!("off: {why}"),
        };
        let gate =
            if self.is_one { "closed: lifetimes of pages cannot be predicted" } else { "open" };
        let streams = match self.by_handle {
            true => 2 * self.apart,
            false => self.hosts.len() + self.survivors.len(),
        };
        let mut told =
            vec![("duel", duel), ("gate", gate.into()), ("streams", format!("{streams}"))];
        if let Some(trial) = &self.trial {
            let use_now = if self.by_handle { "apart" } else { "not used" };
            told.push(("handles", format!("{use_now}; {}", trial.report())));
        }
        told
    }

    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, _now: u64) {
        self.blocks.remove(bank, block);
        let opened = self.writes;
        let mut filling = Filling { block, opened, ..Filling::NONE };
        if stream == self.survivor_stream {
            let (pages, written_at) = core::mem::take(&mut self.over);
            filling.add_survivors(pages, written_at);
        }
        *self.filling(bank, stream) = filling;
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        let now = self.writes;
        let stream = stream.min(self.streams_of_data());
        let filling = *self.filling(bank, stream);
        let weight = self.weight(stream, 0);
        self.blocks.remove(bank, block);
        let own = &mut self.blocks[block];
        // A block whose cleaning was interrupted is not the open block of a stream.
        if filling.block == block {
            (own.first, own.last) = filling.written(now);
        }
        (own.closed, own.stream, own.weight) = (now, stream, weight);
        self.blocks.push(bank, CLOSED, block);
        Entry::Weighed(weight)
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        let Block { first, last, .. } = self.blocks[victim.block];
        self.look(victim.block, victim.valid);
        self.blocks.remove(victim.bank, victim.block);
        self.banks[victim.bank as usize].left = SWEPT;
        if victim.stream >= self.streams_of_data() {
            // Read-only data stay in their stream.
            return;
        }
        let written_at = u64::midpoint(first, last);
        let stream = if self.is_one {
            ALL
        } else if self.by_handle {
            self.handle_of(victim.stream).min(self.apart - 1)
        } else {
            self.survivors.join(log2(self.writes - written_at), victim.valid)
        };
        let full = self.pages_per_block;
        let filling = self.filling(victim.bank, stream);
        let fit = victim.valid.min(full.saturating_sub(filling.pages));
        filling.add_survivors(fit, written_at);
        self.survivor_stream = stream;
        self.over = (victim.valid - fit, written_at);
    }

    fn own_victims(&mut self) -> Option<&mut dyn OwnVictims> {
        Some(self)
    }

    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        (self.apart > 0).then_some(&mut self.handles)
    }
}

impl OwnVictims for Survival {
    fn choose(&mut self, bank: u32, blocks: &BlockView, _now: u64) -> Choice {
        while let Some(block) = self.come_of_age(bank, blocks) {
            if let Some(weight) = self.reweigh(block, blocks.block(block).erases) {
                return Choice::Weigh(block, weight);
            }
        }
        let mut own = self.banks[bank as usize];
        let mut choice = Choice::Victim;
        while own.left > 0 && choice == Choice::Victim {
            own.left -= 1;
            own.swept = if own.swept + 1 < blocks.len() { own.swept + 1 } else { 0 };
            let block = blocks.nth(own.swept);
            if self.blocks[block].bin < CLOSED {
                let view = blocks.block(block);
                self.look(block, view.valid);
                if let Some(weight) = self.reweigh(block, view.erases) {
                    choice = Choice::Weigh(block, weight);
                }
            }
        }
        self.banks[bank as usize] = own;
        choice
    }

    fn replaced(&mut self, bank: u32, old: BlockId, new: BlockId) {
        self.blocks.replace(bank, old, new);
        // The index counts this block with a factor of 1.
        self.blocks[new].weight = 1.0;
        self.banks[bank as usize].due = 0;
    }
}

impl Placement for Survival {
    type Page = ();

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        if self.apart > 0 {
            self.handle = self.handles.of(write.lpn());
        }
        self.place(write.lpn(), write.old(), self.handle)
    }

    fn filled(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.writes += 1;
        self.simulate_fill(lpn);
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, _: u64) {
        self.writes += 1;
        if let Some((bank, stream)) = self.to.take() {
            self.filling(bank, stream).pages += 1;
        }
        if self.writes >= self.refit_at {
            self.refit();
        }
        // While all data go to one stream, rules make no difference.
        if let Ok(duel) = &mut self.duel
            && !self.is_one
            && let Some(rule) = duel.written(lpn, self.handle)
        {
            self.follow(rule);
        }
        // But handles may.
        if let Some(trial) = &mut self.trial {
            self.handles.written(lpn);
            if let Some(by_handle) = trial.written(lpn, self.handle) {
                self.by_handle = by_handle;
                self.is_one &= !by_handle;
            }
        }
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        if let Some(kept) = self.pages.get_mut(lpn.index()) {
            *kept = UNKNOWN;
        }
        if let Ok(duel) = &mut self.duel {
            duel.trimmed(lpn);
        }
        if let Some(trial) = &mut self.trial {
            trial.trimmed(lpn);
        }
    }

    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        self.survivor_stream
    }

    #[inline(always)]
    fn survivors(&mut self, _: &mut Survivors<'_, ()>) -> Answer {
        Answer::Together(self.survivor_stream)
    }

    fn spilt(&mut self, (): &mut (), _: Lpn, _: u8, _: u64) {
        // No block is being opened for them. Those of their stream are counted one block later.
        self.over = (0, 0);
    }

    /// The mean of the page's intervals.
    #[inline(always)]
    fn save(&self, (): (), lpn: Lpn) -> u16 {
        self.pages.get(lpn.index()).map_or(0, |&kept| u16::from(kept))
    }

    fn restore(&mut self, (): &mut (), &Found { lpn, note, .. }: &Found) {
        let kept = note.min(255) as u8;
        if let Some(own) = self.pages.get_mut(lpn.index()) {
            *own = kept;
            if kept != UNKNOWN {
                self.hosts.join(u32::from(kept) << STEP, 1);
            }
        }
        self.simulate_fill(lpn);
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.pages, lpn.index());
    }
}

impl Simulated for Survival {
    #[inline(always)]
    fn place(&mut self, lpn: Lpn, old: Option<Place>, handle: u8) -> u8 {
        let bank = old.map_or(0, |old| old.bank);
        let interval = old.and_then(|old| self.written_at(&old)).map(|at| self.writes + 1 - at);
        let mut value = interval.map(log2);
        if let Some(kept) = self.pages.get_mut(lpn.index()) {
            let step = value.map(|value| (value >> STEP).clamp(1, 255) as u8);
            *kept = match (*kept, step) {
                (before, None) => before,
                (UNKNOWN, Some(step)) => step,
                (before, Some(step)) => ((u16::from(before) + u16::from(step)) / 2) as u8,
            };
            value = (*kept != UNKNOWN).then_some(u32::from(*kept) << STEP);
        }
        let stream = if self.is_one {
            ALL
        } else if self.by_handle {
            self.survivors.most() + handle
        } else {
            let host = value.map_or(self.hosts.last(), |value| self.hosts.join(value, 1));
            self.survivors.most() + host
        };
        self.to = Some((bank, stream));
        stream
    }

    fn copied(&self) -> u8 {
        self.survivor_stream
    }

    fn uses_hints(&self) -> bool {
        self.by_handle
    }
}

impl Registered for Survival {
    fn reads_hints(args: &Args) -> bool {
        SurvivalParams::read(args).is_ok_and(|params| params.hints > 0)
    }

    const INFO: PolicyInfo = PolicyInfo {
        name: "survival",
        aliases: &[],
        source: "docs/thermocline-policy.md",
        summary: "pages by the fading mean of their update intervals, survivors by age; learns how streams survive",
        params: SurvivalParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = SurvivalParams::read(args)?;
        for (key, value, most) in [
            ("hazard", p.hazard, 4.0),
            ("age", p.age, 4.0),
            ("prior", p.prior, 1000.0),
            ("gate", p.gate, 10.0),
            ("wear", p.wear, 4.0),
        ] {
            if !(0.0..=most).contains(&value) {
                let (value, expected) = (value.show(), format!("0 to {most}"));
                return Err(ParamError::Value { key: key.into(), value, expected });
            }
        }
        if let Some(streams) = p.streams {
            within("streams", streams, 2..=16)?;
        }
        let tries = p.duel && p.streams.is_none();
        within("hints", p.hints, 0..=if tries { MOST_HANDLES } else { 0 })?;
        let device = context.without_zeros();
        let duel = if tries {
            duel::begin(&p, &device).map(Box::new)
        } else {
            Err("by its parameters".into())
        };
        let (trial, apart) = duel::of_handles(&p, &device).unzip();
        let most = if duel.is_ok() { most_streams(&device) } else { 0 };
        let own = Rule::new(p.hazard, p.age, 2);
        let (trial, apart) = (trial.map(Box::new), apart.unwrap_or(0));
        Ok(Self { duel, trial, ..Self::new(&p, &device, own, most, apart) })
    }
}

impl Survival {
    /// Starts with a rule, with `most` streams or as many as the rule needs, and room for `apart`
    /// handles.
    fn new(p: &SurvivalParams, device: &Context, rule: Rule, most: u8, apart: u8) -> Self {
        let Context { logical_pages, pages_per_block, banks, blocks, .. } = *device;
        let suggested = p.streams.map_or(suitable_streams(device), |streams| streams as u8);
        let streams = rule.streams(suggested, most_streams(device).max(suggested));
        let most_ruled = most.max(streams);
        let most = most_ruled.max(2 * apart);
        let (of_hosts, of_survivors) = (most / 2, most - most / 2);
        let (hosts, survivors) = (streams / 2, streams - streams / 2);
        let (block, whole) = (log2(pages_per_block.into()), log2(logical_pages.into()) + OCTAVE);
        let greatest = whole.max(block + OCTAVE);
        let curves = Curves::new(most + 1, pages_per_block, rule.exponents, p.prior);
        Self {
            pages: vec![UNKNOWN; if p.history { logical_pages as usize } else { 0 }],
            logical_pages,
            pages_per_block,
            writes: 0,
            hosts: Centres::new(hosts, of_hosts, block, greatest),
            survivors: Centres::new(survivors, of_survivors, block, greatest),
            gate: p.gate,
            wear: p.wear,
            is_one: false,
            refit_at: u64::from(logical_pages) / REFITS,
            blocks: Blocks::new(blocks, banks, curves.bins()),
            curves,
            filling: vec![Filling::NONE; banks as usize * (usize::from(most) + 1)],
            banks: vec![Bank::default(); banks as usize],
            to: None,
            handles: Handles::of_number(apart),
            handle: UNHINTED,
            apart,
            by_handle: false,
            trial: None,
            survivor_stream: ALL,
            over: (0, 0),
            suggested,
            most_ruled,
            duel: Err(String::new()),
        }
    }
}

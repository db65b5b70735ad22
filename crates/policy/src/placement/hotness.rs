//! Hot degree: how often a page was updated, decaying with its age (CAT paper, §3.2).
//!
//! `h = count / T(now − last write)`. Whether a page is hot depends on the mean over all pages,
//! which changes with every tick. Small devices recompute the mean exactly. Large ones sum update
//! counts by epochs of the last write. The length of an epoch grows with its age, to at most a
//! third of it, so the mean takes one step for each of some dozens of epochs.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::Lpn;

use super::history::{History, Updates, float};
use crate::age::Transform;

/// An epoch is at most its age divided by this number long.
const EPOCH_PER_AGE: u64 = 3;

/// Slots of an [`Epochs::found_at`]: eight for each doubling of a 64-bit age.
const SLOTS: usize = 62 * 8;

/// Update counts are handled as digits: bits of a digit, values of a digit, number of digits for
/// which a [`Bar`] has powers, and the first count beyond them.
const DIGIT_BITS: usize = 4;
const DIGIT: usize = 1 << DIGIT_BITS;
const DIGITS: usize = 3;
const COUNTS: u32 = 1 << (DIGITS * DIGIT_BITS);

/// A comparison closer than this part of `τ + age` takes a logarithm. Rounding errors are far
/// smaller.
const MARGIN: f64 = 1e-9;

/// Hot degrees of pages, from their words, and the mean over all pages.
#[derive(Clone, Debug)]
pub(super) struct Hotness {
    beyond: History,
    transform: Transform,
    mean: Mean,
    /// Pages that hold data and were updated.
    updated: u32,
}

/// The data from which the mean is computed.
#[derive(Clone, Debug)]
enum Mean {
    /// None; the mean is not used.
    Unknown,
    /// Update count and last host write of every logical page.
    ByPage(Vec<Updates>),
    ByEpoch(Epochs),
}

impl Mean {
    /// Records new updates of a page.
    #[inline(always)]
    fn changed(&mut self, lpn: Lpn, page: Updates) {
        if let Self::ByPage(pages) = self {
            pages[lpn.index()] = page;
        }
    }
}

impl Hotness {
    /// On devices of up to `exact_up_to` logical pages the mean is recomputed page by page at each
    /// cleaning.
    pub(super) fn new(logical_pages: u32, transform: Transform, exact_up_to: u32) -> Self {
        let mean = if logical_pages > exact_up_to {
            Mean::ByEpoch(Epochs::default())
        } else {
            Mean::ByPage(vec![Updates::default(); logical_pages as usize])
        };
        Self { beyond: History::none(logical_pages), transform, mean, updated: 0 }
    }

    /// Hot degrees for sorting only, without a mean.
    pub(super) const fn sorting(logical_pages: u32, transform: Transform) -> Self {
        Self { beyond: History::none(logical_pages), transform, mean: Mean::Unknown, updated: 0 }
    }

    /// Records new updates of a page; returns its word.
    #[inline(always)]
    fn keep(&mut self, lpn: Lpn, page: Updates) -> u64 {
        self.mean.changed(lpn, page);
        self.beyond.pack(lpn, page)
    }

    pub(super) fn filled(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.keep(lpn, Updates { written: now, count: 1 })
    }

    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        let Updates { written, count } = self.beyond.unpack(lpn, word);
        if let Mean::ByEpoch(epochs) = &mut self.mean
            && count > 0
        {
            epochs.moved(written, updates(count), now);
        }
        self.updated += u32::from(count == 1);
        self.keep(lpn, Updates { written: now, count: count.saturating_add(1) })
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn, word: u64) {
        let Updates { written, count } = self.beyond.unpack(lpn, word);
        if let Mean::ByEpoch(epochs) = &mut self.mean {
            epochs.forgot(written, updates(count));
        }
        self.updated -= u32::from(count > 1);
        self.mean.changed(lpn, Updates::default());
    }

    /// The update count, saturated to 16 bits.
    #[inline(always)]
    pub(super) fn note(&self, lpn: Lpn, word: u64) -> u16 {
        updates(self.beyond.unpack(lpn, word).count).min(u32::from(u16::MAX)) as u16
    }

    /// Records a page found on the chip with this count; returns its word.
    pub(super) fn recovered(&mut self, lpn: Lpn, note: u16, time: u64) -> u64 {
        if let Mean::ByEpoch(epochs) = &mut self.mean {
            epochs.found(time, u32::from(note));
        }
        self.updated += u32::from(note > 0);
        self.keep(lpn, Updates { written: time, count: u32::from(note) + 1 })
    }

    /// Time of the last host write of a page.
    #[inline]
    pub(super) fn last_written(&self, lpn: Lpn, word: u64) -> u64 {
        self.beyond.unpack(lpn, word).written
    }

    /// The hot degree of a page.
    #[inline]
    pub(super) fn degree(&self, lpn: Lpn, word: u64, now: u64) -> f64 {
        degree(self.beyond.unpack(lpn, word), &self.transform, now)
    }

    /// Pages that hold data and were updated.
    pub(super) const fn updated(&self) -> u32 {
        self.updated
    }

    /// The [`Bar`] for a mean hot degree.
    pub(super) fn bar(&self, degree: f64, now: u64) -> Bar {
        Bar::new(degree, now, &self.transform)
    }

    /// Whether the hot degree of a page exceeds the bar. Equal to comparing degrees, but takes the
    /// logarithm only where the comparison is close.
    #[inline(always)]
    pub(super) fn exceeds(&self, lpn: Lpn, word: u64, bar: &Bar) -> bool {
        let page = self.beyond.unpack(lpn, word);
        let updates = updates(page.count);
        let reach = bar.reach(updates);
        let beyond = float(bar.now.saturating_sub(page.written)) + bar.tau - reach;
        // Pages are hot or cold unpredictably, so the common case has no branch. Close comparisons
        // are rare.
        let is_clear = beyond.abs() >= reach * MARGIN && updates < COUNTS;
        if is_clear { beyond < 0.0 } else { self.is_above(page, bar) }
    }

    /// The exact comparison, for close cases.
    #[cold]
    #[inline(never)]
    fn is_above(&self, page: Updates, bar: &Bar) -> bool {
        degree(page, &self.transform, bar.now) > bar.degree
    }

    /// The mean hot degree of `mapped` pages. Pages without data have a degree of 0.
    pub(super) fn mean(&mut self, mapped: u32, now: u64) -> f64 {
        let sum = match &mut self.mean {
            Mean::Unknown => 0.0,
            Mean::ByPage(pages) => {
                let transform = &self.transform;
                pages.iter().map(|&page| degree(page, transform, now)).sum()
            }
            Mean::ByEpoch(epochs) => epochs.sum(&self.transform, now),
        };
        sum / f64::from(mapped.max(1))
    }
}

/// The updates of a page with this many writes: all but the first. 0 for a page without data.
#[inline(always)]
const fn updates(writes: u32) -> u32 {
    writes.saturating_sub(1)
}

/// The hot degree of a page with this write count and last write.
#[inline(always)]
fn degree(Updates { written, count }: Updates, transform: &Transform, now: u64) -> f64 {
    let updates = updates(count);
    if updates == 0 {
        return 0.0;
    }
    f64::from(updates) / transform.apply(now.saturating_sub(written))
}

/// A hot degree to compare pages with at one time. A page with `count` updates exceeds it where
/// `T(age) = 1 + log2(1 + age/τ) < count / degree`, that is where `τ + age < τ/2 ·
/// 2^(count/degree)`. The powers are computed once for a bar, for each digit of a count.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    now: u64,
    degree: f64,
    /// The time scale of [`Shape::Log`](crate::age::Shape::Log). Other transformations have none,
    /// so every comparison is exact.
    tau: f64,
    /// τ/2 times 2^(1/degree) to the power of the lowest digit of a count; then the powers for each
    /// higher digit.
    powers: [[f64; DIGIT]; DIGITS],
}

impl Bar {
    fn new(degree: f64, now: u64, transform: &Transform) -> Self {
        let tau = transform.scale_of_log().unwrap_or(f64::NAN);
        let mut powers = [[0.0; DIGIT]; DIGITS];
        let (mut base, mut first) = (libm::exp2(1.0 / degree), 0.5 * tau);
        for powers in &mut powers {
            let mut power = 1.0;
            for of_digit in powers {
                *of_digit = first * power;
                power *= base;
            }
            (base, first) = (power, 1.0);
        }
        Self { now, degree, tau, powers }
    }

    /// The bar with the same degree at another time.
    pub(super) const fn at(&mut self, now: u64) -> &Self {
        self.now = now;
        self
    }

    /// τ/2 · 2^(count/degree), within a thousandth of a [`MARGIN`]. Only for counts below
    /// [`COUNTS`].
    #[inline(always)]
    fn reach(&self, count: u32) -> f64 {
        let digit = |i: usize| self.powers[i][count as usize >> (i * DIGIT_BITS) & (DIGIT - 1)];
        digit(0) * digit(1) * digit(2)
    }
}

/// Update counts, summed by the time of the last write of their pages.
#[derive(Clone, Debug)]
struct Epochs {
    /// Starts, ascending; an epoch ends where the next one starts. The first starts at 0.
    starts: Vec<u64>,
    sums: Vec<u64>,
    /// Neighbours are joined when there are more epochs than this.
    limit: usize,
    /// Time of the last join.
    joined: u64,
    /// The epoch of the youngest age of each [slot](slot_of) at the time of the last join. An epoch
    /// is about as long as its age, so a page's epoch is this one or one shortly before it.
    found_at: Box<[u32; SLOTS]>,
}

impl Default for Epochs {
    fn default() -> Self {
        let found_at = Box::new([0; SLOTS]);
        Self { starts: vec![0], sums: vec![0], limit: 16, joined: 0, found_at }
    }
}

/// The slot of an age of at least 1. A slot spans an eighth of its age.
#[inline(always)]
const fn slot_of(age: u64) -> usize {
    let bits = age.ilog2();
    if bits < 3 {
        age as usize
    } else {
        ((bits as usize - 2) << 3) | ((age >> (bits - 3)) & 7) as usize
    }
}

/// The least age of a slot.
const fn least_of(slot: usize) -> u64 {
    if slot < 16 { slot as u64 } else { (8 | slot as u64 & 7) << ((slot >> 3) - 1) }
}

impl Epochs {
    #[inline]
    fn epoch_of(&self, time: u64) -> usize {
        // Most written pages are hot and were written recently.
        let last = self.starts.len() - 1;
        if time >= self.starts[last] {
            return last;
        }
        if time >= self.joined {
            return self.starts.partition_point(|&start| start <= time) - 1;
        }
        let mut epoch = self.found_at[slot_of(self.joined - time)] as usize;
        while self.starts[epoch] > time {
            epoch -= 1;
        }
        epoch
    }

    /// Records the epoch of each slot.
    fn note_slots(&mut self, now: u64) {
        self.joined = now;
        for (slot, epoch) in self.found_at.iter_mut().enumerate() {
            let time = now.saturating_sub(least_of(slot));
            *epoch = self.starts.partition_point(|&start| start <= time).saturating_sub(1) as u32;
        }
    }

    /// Adds a page with its last write at `time` and `count` updates.
    fn found(&mut self, time: u64, count: u32) {
        let epoch = self.epoch_of(time);
        self.sums[epoch] += u64::from(count);
    }

    /// A page with its last write at `before` and `count` updates is written again at `now`.
    #[inline]
    fn moved(&mut self, before: u64, count: u32, now: u64) {
        if count > 0 {
            let epoch = self.epoch_of(before);
            self.sums[epoch] -= u64::from(count);
        }
        let epoch = self.epoch_of(now);
        self.sums[epoch] += u64::from(count) + 1;
    }

    fn forgot(&mut self, before: u64, count: u32) {
        if count > 0 {
            let epoch = self.epoch_of(before);
            self.sums[epoch] -= u64::from(count);
        }
    }

    /// The sum of all hot degrees. Later writes begin a new epoch.
    fn sum(&mut self, transform: &Transform, now: u64) -> f64 {
        let mut sum = 0.0;
        for (i, &count) in self.sums.iter().enumerate() {
            if count > 0 {
                let end = self.starts.get(i + 1).copied().unwrap_or(now).max(self.starts[i]);
                let middle = self.starts[i] + (end - self.starts[i]) / 2;
                sum += count as f64 / transform.near(now.saturating_sub(middle));
            }
        }
        let last = self.starts.len() - 1;
        if now > self.starts[last] {
            self.starts.push(now + 1);
            self.sums.push(0);
            if self.starts.len() > self.limit {
                self.join(now);
            }
        }
        sum
    }

    /// Joins neighbours that are short for their age.
    fn join(&mut self, now: u64) {
        let mut kept = 0;
        for i in 1..self.starts.len() {
            let end = self.starts.get(i + 1).copied().unwrap_or(now);
            if i + 1 < self.starts.len()
                && end - self.starts[kept] <= now.saturating_sub(end) / EPOCH_PER_AGE
            {
                self.sums[kept] += self.sums[i];
            } else {
                kept += 1;
                self.starts[kept] = self.starts[i];
                self.sums[kept] = self.sums[i];
            }
        }
        self.starts.truncate(kept + 1);
        self.sums.truncate(kept + 1);
        self.limit = self.starts.len() + 16;
        self.note_slots(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ticks, age::Shape};

    #[test]
    fn a_page_exceeds_a_bar_where_its_degree_does() {
        let transform = Transform::new(Shape::Log, Some(Ticks(1700)), 0.0, 0.0);
        let mut hotness = Hotness::new(2000, transform, 0);
        let mut words = vec![0; 2000];
        let mut x = 1_u64;
        for bars in 0..300 {
            let now = 1 << (bars % 50);
            for lpn in (0..2000).map(Lpn) {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let written = (x >> 20) % (now + 1);
                let page = Updates { written, count: (x >> 8) as u32 % 600 / 2 };
                words[lpn.index()] = hotness.keep(lpn, page);
            }
            // Degrees equal to those of pages give the closest comparisons.
            let word = words[bars as usize];
            let degree =
                if bars % 3 == 0 { 0.0 } else { hotness.degree(Lpn(bars as u32), word, now) };
            let bar = hotness.bar(degree, now);
            for (lpn, &word) in (0..).map(Lpn).zip(&words) {
                let exceeds = hotness.degree(lpn, word, now) > degree;
                assert_eq!(hotness.exceeds(lpn, word, &bar), exceeds);
            }
        }
    }

    #[test]
    fn the_mean_by_epochs_is_close_to_the_mean_by_pages() {
        let transform = Transform::new(Shape::Log, Some(Ticks(1700)), 0.0, 0.0);
        let pages = 20_000_u32;
        let mut by_epochs = Hotness::new(pages, transform, 0);
        let mut by_pages = Hotness::new(pages, transform, pages);
        let mut words = vec![0; pages as usize];
        let mut x = 1_u64;
        for now in 1..400_000_u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let r = (x >> 33) as u32;
            let lpn =
                Lpn(if r.is_multiple_of(10) { r / 16 % pages } else { r / 16 % (pages / 10) });
            let word = words[lpn.index()];
            words[lpn.index()] = by_epochs.written(lpn, word, now);
            by_pages.written(lpn, word, now);
            if now % 997 == 0 {
                let lpn = Lpn(r % pages);
                let word = std::mem::take(&mut words[lpn.index()]);
                by_epochs.trimmed(lpn, word);
                by_pages.trimmed(lpn, word);
            }
            if now % 50 == 0 {
                let near = by_epochs.mean(pages, now);
                if now % 5000 == 0 {
                    let exact = by_pages.mean(pages, now);
                    assert!((near / exact - 1.0).abs() < 0.005, "{near} for {exact} at {now}");
                }
            }
        }
        let Mean::ByEpoch(epochs) = &by_epochs.mean else { panic!("many pages") };
        let epochs = epochs.starts.len();
        assert!(epochs < 300, "{epochs} epochs");
    }
}

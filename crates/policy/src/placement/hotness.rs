//! Hot degree: how often a page was updated, fading as its age grows (CAT paper, §3.2).
//!
//! `h = count / T(now − last write)`. Whether a page is hot depends on the mean over all pages,
//! which changes with every tick. On small devices the mean is recomputed exactly; on large ones
//! update counts are summed by epochs of the last write, whose lengths grow with their age
//! (a third of it at most), so the mean takes as many steps as there are epochs: some dozens.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::Lpn;

use super::history::{History, Updates};
use crate::age::Transform;

/// Epochs are at most this part of their age long.
const EPOCH_PER_AGE: u64 = 3;

/// Slots of an [`Epochs::found_at`]: eight for each doubling of an age of 64 bits.
const SLOTS: usize = 62 * 8;

/// Update counts that have their own place in a [`Bar`].
const COUNTS: usize = 256;

/// Hot degrees of pages, by their words, and the mean of all.
#[derive(Clone, Debug)]
pub(super) struct Hotness {
    beyond: History,
    transform: Transform,
    mean: Mean,
}

/// What the mean is worked out from.
#[derive(Clone, Debug)]
enum Mean {
    /// Nobody asks for it.
    Unknown,
    /// Update count and last host write of every logical page.
    ByPage(Vec<Updates>),
    ByEpoch(Epochs),
}

impl Mean {
    /// A page has these updates from now on.
    #[inline(always)]
    fn changed(&mut self, lpn: Lpn, page: Updates) {
        if let Self::ByPage(pages) = self {
            pages[lpn.index()] = page;
        }
    }
}

impl Hotness {
    /// Up to `exact_up_to` logical pages the mean is recomputed page by page at each cleaning.
    pub(super) fn new(logical_pages: u32, transform: Transform, exact_up_to: u32) -> Self {
        let mean = if logical_pages > exact_up_to {
            Mean::ByEpoch(Epochs::default())
        } else {
            Mean::ByPage(vec![Updates::default(); logical_pages as usize])
        };
        Self { beyond: History::none(logical_pages), transform, mean }
    }

    /// Hot degrees for sorting only: nobody asks for the mean.
    pub(super) const fn sorting(logical_pages: u32, transform: Transform) -> Self {
        Self { beyond: History::none(logical_pages), transform, mean: Mean::Unknown }
    }

    /// The word of a page that has these updates from now on.
    #[inline(always)]
    fn keep(&mut self, lpn: Lpn, page: Updates) -> u64 {
        self.mean.changed(lpn, page);
        self.beyond.pack(lpn, page)
    }

    pub(super) fn filled(&mut self, lpn: Lpn, now: u64) -> u64 {
        self.keep(lpn, Updates { written: now, count: 0 })
    }

    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn, word: u64, now: u64) -> u64 {
        let Updates { written, count } = self.beyond.unpack(lpn, word);
        if let Mean::ByEpoch(epochs) = &mut self.mean {
            epochs.moved(written, count, now);
        }
        self.keep(lpn, Updates { written: now, count: count.saturating_add(1) })
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn, word: u64) {
        let Updates { written, count } = self.beyond.unpack(lpn, word);
        if let Mean::ByEpoch(epochs) = &mut self.mean {
            epochs.forgot(written, count);
        }
        self.mean.changed(lpn, Updates::default());
    }

    /// The update count, as far as it fits beside a page.
    #[inline(always)]
    pub(super) fn note(&self, lpn: Lpn, word: u64) -> u16 {
        self.beyond.unpack(lpn, word).count.min(u32::from(u16::MAX)) as u16
    }

    /// A page with that count was found on the chip.
    pub(super) fn recovered(&mut self, lpn: Lpn, note: u16, time: u64) -> u64 {
        if let Mean::ByEpoch(epochs) = &mut self.mean {
            epochs.found(time, u32::from(note));
        }
        self.keep(lpn, Updates { written: time, count: u32::from(note) })
    }

    /// The hot degree of a page.
    #[inline]
    pub(super) fn degree(&self, lpn: Lpn, word: u64, now: u64) -> f64 {
        degree(self.beyond.unpack(lpn, word), &self.transform, now)
    }

    /// Tells of pages whether their hot degrees exceed the bar; the same as comparing, but the logarithm is only
    /// taken where it is close.
    #[inline(always)]
    pub(super) fn exceed(
        &self,
        lpns: &[Lpn],
        words: &[u64],
        bar: &mut Bar,
        mut tell: impl FnMut(usize, bool),
    ) {
        for (i, (&lpn, &word)) in lpns.iter().zip(words).enumerate() {
            let page = self.beyond.unpack(lpn, word);
            let (hot_from, cold_before) = bar.of(page.count, &self.transform);
            // Hot or not is a coin toss that no branch should wait for; close calls are rare.
            let above = page.written >= hot_from;
            let not_below = page.written >= cold_before;
            tell(i, if above == not_below { above } else { self.is_above(page, bar) });
        }
    }

    /// A close call.
    #[cold]
    #[inline(never)]
    fn is_above(&self, page: Updates, bar: &Bar) -> bool {
        degree(page, &self.transform, bar.now) > bar.degree
    }

    /// The mean hot degree of `mapped` pages; pages without data have a degree of 0.
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

/// The hot degree of a page with these updates.
#[inline(always)]
fn degree(Updates { written, count }: Updates, transform: &Transform, now: u64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    f64::from(count) / transform.apply(now.saturating_sub(written))
}

/// A hot degree to be exceeded at one time: for each update count, since when a page of that count must
/// have been last written. A count's times are worked out when a page first has it.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    now: u64,
    degree: f64,
    /// Tells the times of this bar from those of bars before it.
    number: u32,
    /// By update count; greater ones share the last.
    times: Box<[Times; COUNTS]>,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    /// Pages written from this time on are hot for certain.
    hot_from: u64,
    /// Pages written before this time are cold for certain; not after the other.
    cold_before: u64,
    /// The number of the bar and the update count.
    of: u64,
}

impl Bar {
    pub(super) fn new() -> Self {
        let none = Times { hot_from: 0, cold_before: 0, of: 0 };
        Self { now: 0, degree: 0.0, number: 1, times: Box::new([none; COUNTS]) }
    }

    pub(super) fn set(&mut self, degree: f64, now: u64) {
        (self.degree, self.now) = (degree, now);
        self.number = self.number.wrapping_add(1);
    }

    /// The same degree, at another time.
    pub(super) fn at(&mut self, now: u64) -> &mut Self {
        if now != self.now {
            self.set(self.degree, now);
        }
        self
    }

    /// Since when pages of that count are hot for certain, and before when cold.
    #[inline(always)]
    fn of(&mut self, count: u32, transform: &Transform) -> (u64, u64) {
        let times = &mut self.times[count as usize % COUNTS];
        let of = Times::of(self.number, count);
        if times.of != of {
            *times = Times { of, ..Times::new(count, self.degree, self.now, transform) };
        }
        (times.hot_from, times.cold_before)
    }
}

impl Times {
    #[inline(always)]
    const fn of(number: u32, count: u32) -> u64 {
        (number as u64) << 32 | count as u64
    }

    #[cold]
    #[inline(never)]
    fn new(count: u32, degree: f64, now: u64, transform: &Transform) -> Self {
        // count / T(age) > degree where T(age) < count / degree, but for roundings.
        let factor = if count == 0 { 0.0 } else { f64::from(count) / degree };
        let (below, above) = transform.ages_about(factor);
        let since = |age: Option<u64>| age.map_or(u64::MAX, |age| now.saturating_sub(age));
        Self { hot_from: since(below), cold_before: since(above), of: 0 }
    }
}

/// Update counts summed by when their pages were last written.
#[derive(Clone, Debug)]
struct Epochs {
    /// Starts, ascending; an epoch ends where the next one starts. The first starts at 0.
    starts: Vec<u64>,
    sums: Vec<u64>,
    /// Neighbours are joined when there are more epochs than this.
    limit: usize,
    /// When neighbours were joined last.
    joined: u64,
    /// The epoch of the youngest age of each [slot](slot_of), as of then: an epoch is about as long as its age, so
    /// that of a page is this one or hardly before it.
    found_at: Box<[u32; SLOTS]>,
}

impl Default for Epochs {
    fn default() -> Self {
        let found_at = Box::new([0; SLOTS]);
        Self { starts: vec![0], sums: vec![0], limit: 16, joined: 0, found_at }
    }
}

/// The slot of an age of at least 1; ages in it differ by an eighth.
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
        // Hot pages, most of those written, were written lately.
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

    /// Notes where epochs are found.
    fn note_slots(&mut self, now: u64) {
        self.joined = now;
        for (slot, epoch) in self.found_at.iter_mut().enumerate() {
            let time = now.saturating_sub(least_of(slot));
            *epoch = self.starts.partition_point(|&start| start <= time).saturating_sub(1) as u32;
        }
    }

    /// A page was last written at `time`, `count` times updated.
    fn found(&mut self, time: u64, count: u32) {
        let epoch = self.epoch_of(time);
        self.sums[epoch] += u64::from(count);
    }

    /// A page last written at `before`, `count` times updated, is written again at `now`.
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

    /// The sum of all hot degrees; what is written after `now` begins a new epoch.
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
        let mut bar = Bar::new();
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
            // Degrees that pages have are the closest calls.
            let word = words[bars as usize];
            let degree =
                if bars % 3 == 0 { 0.0 } else { hotness.degree(Lpn(bars as u32), word, now) };
            bar.set(degree, now);
            let lpns: Vec<Lpn> = (0..2000).map(Lpn).collect();
            hotness.exceed(&lpns, &words, &mut bar, |i, exceeds| {
                assert_eq!(exceeds, hotness.degree(lpns[i], words[i], now) > degree);
            });
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

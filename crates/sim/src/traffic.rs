//! Host traffic for charts: where and when the host writes, and how soon it accesses a page again.
//!
//! One pass over the extents of a run. Memory is bounded: the map has a fixed number of cells, and
//! reuse is measured on a sample of the pages (by a hash of their numbers, as SHARDS does), with
//! distances scaled up.

use rustc_hash::FxHashMap;
use thermocline_trace::Op;

use crate::{
    Input, Job, Progress, SimError,
    classes::with_fewer_classes,
    future::Span,
    input::{Batch, Extent},
    setup::Setup,
};

/// Columns of the map: equal parts of its extent, in time or pages written.
pub const COLUMNS: usize = 48;
/// Rows of the map: address ranges.
pub const ROWS: usize = 32;
/// Number of powers of two for intervals and distances.
const POWERS: usize = 40;
/// Maximum number of sampled pages.
const FOLLOWED: u32 = 1 << 16;

/// The traffic of an input on a device.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// The extent of all columns together.
    pub span: Extension,
    /// Bytes of a page.
    pub page_size: u32,
    /// Logical pages of the device.
    pub logical_pages: u32,
    /// Pages read in each column.
    pub reads: Vec<u64>,
    /// Pages written in each column.
    pub writes: Vec<u64>,
    /// Pages trimmed in each column.
    pub trims: Vec<u64>,
    /// Pages written in each row of addresses, the lowest first, and column.
    pub map: Vec<Vec<u64>>,
    /// Histogram of the pages written between two writes of one page: entry i counts from 2^i to
    /// below 2^(i + 1).
    pub update_intervals: Vec<u64>,
    /// Histogram of the distinct pages accessed between two accesses to one page, in the same form.
    pub reuse_distances: Vec<u64>,
    /// One page of this many was sampled for the histograms.
    pub one_of: u32,
}

/// The extent of a [`Traffic`], which its columns divide equally.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Extension {
    /// Time by the trace's clock, in microseconds.
    Time(f64),
    /// Pages written, if there is no clock.
    Pages(u64),
}

impl Traffic {
    /// The traffic of a run of `job`.
    ///
    /// # Errors
    /// [`SimError`], as the run itself would return.
    pub fn of(job: &Job<'_>, progress: &Progress) -> Result<Self, SimError> {
        let fewer = with_fewer_classes(job);
        let job = fewer.as_ref().unwrap_or(job);
        let Span { first, logical, used, page_size, scale } = Span::of(&Setup::of(job)?);
        let mut extents = job.input.open(first, used - first, page_size, scale, job.seed)?;
        let expected = job.input.expected_pages(&extents);
        let mut watcher = Watcher::new(&job.input, expected, page_size, logical);
        let mut batch = Batch::default();
        loop {
            extents.next_batch(&mut batch)?;
            if batch.extents.is_empty() {
                return Ok(watcher.traffic);
            }
            if progress.is_cancelled() {
                return Err(SimError::Interrupted);
            }
            batch.extents.iter().for_each(|extent| watcher.see(extent));
        }
    }
}

struct Watcher {
    traffic: Traffic,
    /// Pages written so far.
    written: u64,
    /// The last write of each sampled page, in pages written.
    updated: FxHashMap<u32, u64>,
    uses: Uses,
}

impl Watcher {
    fn new(input: &Input<'_>, expected: u64, page_size: u32, logical_pages: u32) -> Self {
        let span = match input {
            Input::Trace(trace, times) if trace.duration_ns > 0 => {
                let ns = (trace.duration_ns as f64) * f64::from(*times);
                Extension::Time(ns / 1000.0)
            }
            _ => Extension::Pages(expected.max(1)),
        };
        Self {
            traffic: Traffic {
                span,
                page_size,
                logical_pages,
                reads: vec![0; COLUMNS],
                writes: vec![0; COLUMNS],
                trims: vec![0; COLUMNS],
                map: vec![vec![0; COLUMNS]; ROWS],
                update_intervals: vec![0; POWERS],
                reuse_distances: vec![0; POWERS],
                one_of: logical_pages.div_ceil(FOLLOWED).max(1),
            },
            written: 0,
            updated: FxHashMap::default(),
            uses: Uses::default(),
        }
    }

    fn see(&mut self, extent: &Extent) {
        let column = self.column(extent);
        let pages = u64::from(extent.pages);
        match extent.op {
            Op::Read => self.traffic.reads[column] += pages,
            Op::Trim => self.traffic.trims[column] += pages,
            Op::Write => self.traffic.writes[column] += pages,
            Op::Flush => {}
        }
        if !matches!(extent.op, Op::Read | Op::Write) {
            return;
        }
        for page in extent.first..extent.first.saturating_add(extent.pages) {
            let is_write = extent.op == Op::Write;
            if is_write {
                let row = u64::from(page) * ROWS as u64 / u64::from(self.traffic.logical_pages);
                self.traffic.map[(row as usize).min(ROWS - 1)][column] += 1;
                self.written += 1;
            }
            if self.is_followed(page) {
                self.follow(page, is_write);
            }
        }
    }

    fn column(&self, extent: &Extent) -> usize {
        let share = match self.traffic.span {
            Extension::Time(us) => extent.time_ns as f64 / 1000.0 / us,
            Extension::Pages(pages) => self.written as f64 / pages as f64,
        };
        ((share * COLUMNS as f64) as usize).min(COLUMNS - 1)
    }

    fn is_followed(&self, page: u32) -> bool {
        // Knuth's multiplicative hash separates neighbours.
        let hash = page.wrapping_mul(2_654_435_769) >> 8;
        hash.is_multiple_of(self.traffic.one_of)
    }

    fn follow(&mut self, page: u32, is_write: bool) {
        if is_write && let Some(before) = self.updated.insert(page, self.written) {
            self.traffic.update_intervals[power(self.written - before)] += 1;
        }
        if let Some(distance) = self.uses.use_of(page) {
            let distance = distance * u64::from(self.traffic.one_of);
            self.traffic.reuse_distances[power(distance)] += 1;
        }
    }
}

fn power(value: u64) -> usize {
    (value.max(1).ilog2() as usize).min(POWERS - 1)
}

/// The order in which pages were last accessed, to count the others accessed since.
#[derive(Default)]
struct Uses {
    /// The position of each page in the order.
    places: FxHashMap<u32, usize>,
    /// Occupied positions, as a Fenwick tree.
    tree: Vec<u32>,
    next: usize,
}

impl Uses {
    /// Records an access. Returns the number of other pages accessed since the last access to this
    /// page.
    fn use_of(&mut self, page: u32) -> Option<u64> {
        if self.next == self.tree.len() {
            self.move_up();
        }
        let place = self.next;
        self.next += 1;
        let before = self.places.insert(page, place);
        let distance = before.map(|before| {
            let since = self.places.len() as u64 - u64::from(self.count(before));
            self.change(before, u32::MAX);
            since
        });
        self.change(place, 1);
        distance
    }

    /// Compacts the positions, keeping their order.
    fn move_up(&mut self) {
        let mut order: Vec<_> = self.places.iter().map(|(page, place)| (*place, *page)).collect();
        order.sort_unstable();
        self.tree = vec![0; (order.len() * 2).max(1024)];
        self.next = order.len();
        for (place, (_, page)) in order.into_iter().enumerate() {
            self.places.insert(page, place);
            self.change(place, 1);
        }
    }

    /// Number of occupied positions up to this one.
    fn count(&self, place: usize) -> u32 {
        let mut at = place + 1;
        let mut sum = 0_u32;
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at - 1]);
            at &= at - 1;
        }
        sum
    }

    fn change(&mut self, place: usize, by: u32) {
        let mut at = place + 1;
        while at <= self.tree.len() {
            self.tree[at - 1] = self.tree[at - 1].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_different_pages() {
        let mut uses = Uses::default();
        let of = |uses: &mut Uses, pages: &[u32]| -> Vec<Option<u64>> {
            pages.iter().map(|page| uses.use_of(*page)).collect()
        };
        assert_eq!(
            of(&mut uses, &[1, 2, 3, 2, 1, 1]),
            [None, None, None, Some(1), Some(2), Some(0)]
        );
        // More accesses than the tree has positions.
        for _ in 0..5000 {
            assert_eq!(of(&mut uses, &[7, 8, 9])[0].unwrap_or(2), 2);
        }
        assert_eq!(uses.use_of(1), Some(3));
    }
}

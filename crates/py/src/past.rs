//! The history of host writes of a placement: features of coming and of valid pages.

use rustc_hash::FxHashMap;
use thermocline_trace::lives::{Features, Histories, Sequence};

/// The pages that the host has written to a device.
#[derive(Default)]
pub struct Past {
    pages: Histories<()>,
    writes: u64,
    sequence: Sequence,
}

impl Past {
    /// The features of the page that is written next.
    pub fn next(&self, page: u32) -> Features {
        self.coming(page, self.writes, self.sequence.with(page.into()), |page| {
            self.pages.interval(0, page)
        })
    }

    /// The features of pages that are written next, in this order and each once.
    pub fn each_next(&self, pages: &[u32], mut each: impl FnMut(&Features)) {
        // Intervals that end within the pages.
        let mut ended = FxHashMap::default();
        let mut sequence = self.sequence;
        for (now, page) in (self.writes..).zip(pages) {
            sequence = sequence.with((*page).into());
            let features = self.coming(*page, now, sequence, |page| {
                let known = ended.get(&page).copied();
                known.unwrap_or_else(|| self.pages.interval(0, page))
            });
            ended.insert(u64::from(*page), features.intervals[0]);
            each(&features);
        }
    }

    fn coming(
        &self,
        page: u32,
        now: u64,
        sequence: Sequence,
        interval: impl Fn(u64) -> u32,
    ) -> Features {
        // A device's placement does not know the size of a request.
        self.pages.coming((0, page.into()), now, sequence.run(), 0, interval)
    }

    /// A page is written.
    pub fn write(&mut self, page: u32) {
        let features = self.next(page);
        self.sequence = self.sequence.with(page.into());
        self.pages.write((0, page.into()), self.writes, features);
        self.writes += 1;
    }

    /// The features of a page as of its last write, and its age in page writes.
    pub fn of(&self, page: u32) -> (Features, u64) {
        let known = self.pages.get(0, page.into());
        let features = known.map_or_else(Features::default, |entry| entry.features);
        let last = known.and_then(|entry| entry.last());
        (features, last.map_or(self.writes, |last| self.writes - last))
    }
}

//! The lives of page writes: from a write of a page to the write or trim that ends its content.
//!
//! Invariants:
//! * what a row says of a write beside its end was known when the page was written;
//! * rows come in the order of their ends, so that those before a moment are what was known then;
//! * memory grows with the pages written, not with the length of the trace.

mod foretell;
mod history;

pub use foretell::{Foretelling, Score};
pub use history::{Entry, Histories, Sequence};

use crate::{
    Op, Request, TraceError,
    transform::pages::{covered, touched},
};

/// Intervals that are kept of a page.
pub const INTERVALS: usize = 4;

/// Names of the features.
pub const FEATURES: [&str; 9] = [
    "interval_1",
    "interval_2",
    "interval_3",
    "interval_4",
    "writes",
    "run",
    "interval_before",
    "interval_after",
    "size",
];

/// What is known of a page when it is written. Intervals are in page writes of its volume; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Between this write of the page and the one before, between that and the one before it, and so on.
    pub intervals: [u32; INTERVALS],
    /// Earlier writes of the page.
    pub writes: u32,
    /// Pages written in ascending order right before this one.
    pub run: u32,
    /// The last interval of the page before it in the address space.
    pub before: u32,
    /// The last interval of the page behind it.
    pub after: u32,
    /// Bytes of the request.
    pub size: u32,
}

impl Features {
    /// Their values, in the order of [`FEATURES`].
    #[must_use]
    pub const fn values(&self) -> [u32; FEATURES.len()] {
        let [one, two, three, four] = self.intervals;
        [one, two, three, four, self.writes, self.run, self.before, self.after, self.size]
    }
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The page was written again.
    Overwritten,
    /// The page was trimmed.
    Trimmed,
}

/// The end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How it ended.
    pub cause: Cause,
    /// Number of the page write of the trace that ended it; of a trim, of the next one.
    pub write: u64,
    /// Time of that.
    pub time_ns: u64,
    /// How long it was, in page writes of the volume, with the one that ended it.
    pub life: u64,
}

/// One page write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The volume.
    pub volume: u32,
    /// The page of the volume.
    pub page: u64,
    /// Number of the page write in the trace, from 0.
    pub write: u64,
    /// Time of it.
    pub time_ns: u64,
    /// What was known then.
    pub features: Features,
    /// How old it is, in page writes of the volume: its life, if it has ended.
    pub age: u64,
    /// Its end, unless it is alive at the end of the trace.
    pub end: Option<End>,
}

/// What is kept of a page that is alive.
#[derive(Clone, Copy, Debug, Default)]
struct Birth {
    write: u64,
    time_ns: u64,
    alive: bool,
}

/// Where a volume is.
#[derive(Clone, Copy, Debug, Default)]
struct Volume {
    /// Pages written.
    writes: u64,
    sequence: Sequence,
}

/// Follows the pages of a trace.
#[derive(Debug)]
pub struct Lives {
    page_bytes: u64,
    histories: Histories<Birth>,
    volumes: Vec<Volume>,
    writes: u64,
}

impl Lives {
    /// Of pages of `page_bytes`.
    ///
    /// # Panics
    /// If `page_bytes` is 0.
    #[must_use]
    pub fn new(page_bytes: u64) -> Self {
        assert!(page_bytes > 0, "pages of no bytes");
        Self { page_bytes, histories: Histories::default(), volumes: Vec::new(), writes: 0 }
    }

    /// Page writes so far.
    #[must_use]
    pub const fn writes(&self) -> u64 {
        self.writes
    }

    /// Takes a request, and adds the lives that it ends.
    ///
    /// # Errors
    /// [`TraceError::Request`] for requests larger than any device accepts.
    pub fn add(&mut self, request: &Request, ended: &mut Vec<Life>) -> Result<(), TraceError> {
        let pages = touched(request, self.page_bytes)?;
        match request.op {
            Op::Write => {
                let size = u32::try_from(request.len).unwrap_or(u32::MAX);
                pages.for_each(|page| self.write(request, page, size, ended));
            }
            Op::Trim => self.trim(request, ended),
            Op::Read | Op::Flush => {}
        }
        Ok(())
    }

    fn volume(&mut self, volume: u32) -> &mut Volume {
        let at = volume as usize;
        if self.volumes.len() <= at {
            self.volumes.resize(at + 1, Volume::default());
        }
        &mut self.volumes[at]
    }

    fn write(&mut self, request: &Request, page: u64, size: u32, ended: &mut Vec<Life>) {
        let Request { volume, time_ns, .. } = *request;
        let of = self.volume(volume);
        of.sequence = of.sequence.with(page);
        let (now, run) = (of.writes, of.sequence.run());
        of.writes += 1;
        let write = self.writes;
        self.writes += 1;
        let neighbour = |page| self.histories.interval(volume, page);
        let features = self.histories.coming((volume, page), now, run, size, neighbour);
        if let Some(entry) = self.histories.get(volume, page)
            && entry.kept.alive
        {
            let cause = Cause::Overwritten;
            ended.push(life(volume, page, entry, now, Some((cause, write, time_ns))));
        }
        let entry = self.histories.write((volume, page), now, features);
        entry.kept = Birth { write, time_ns, alive: true };
    }

    fn trim(&mut self, request: &Request, ended: &mut Vec<Life>) {
        let Request { volume, time_ns, .. } = *request;
        let now = self.volume(volume).writes;
        let end = Some((Cause::Trimmed, self.writes, time_ns));
        self.histories.each_of(volume, covered(request, self.page_bytes), |page, entry| {
            if entry.kept.alive {
                ended.push(life(volume, page, entry, now, end));
                entry.kept.alive = false;
            }
        });
    }

    /// The pages that are alive.
    pub fn alive(&self) -> impl Iterator<Item = Life> {
        let alive = self.histories.iter().filter(|(_, _, entry)| entry.kept.alive);
        alive.map(|(volume, page, entry)| {
            life(volume, page, entry, self.volumes[volume as usize].writes, None)
        })
    }
}

fn life(
    volume: u32,
    page: u64,
    entry: &Entry<Birth>,
    now: u64,
    end: Option<(Cause, u64, u64)>,
) -> Life {
    let age = now - entry.last().unwrap_or(now);
    let Birth { write, time_ns, .. } = entry.kept;
    let end = end.map(|(cause, write, time_ns)| End { cause, write, time_ns, life: age });
    Life { volume, page, write, time_ns, features: entry.features, age, end }
}

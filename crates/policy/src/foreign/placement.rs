//! A placement that is called with batches.
//!
//! Invariants:
//! * the pages asked about together, `upcoming[first..asked]`, are distinct, and `next` is the next
//!   one that the host writes;
//! * a policy receives all events in order, and before it is asked anything.

use alloc::{boxed::Box, string::String, sync::Arc, vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Failure, Guarded, Report, wrong};
use crate::placement::{
    Ahead, Answer, Cleaning, Entry, HostWrite, Placement, Streams, Survivors, Traits,
};

/// Maximum number of streams: a bank keeps a block open for each.
pub const MOST_STREAMS: u8 = 64;
/// Number of notes buffered before they are passed on.
const NOTES: usize = 4096;
/// Smallest and largest batch, where a policy takes batches.
const LEAST: usize = 16;
const MOST: usize = 4096;

/// The stream of a page that was written without being asked about: read-only data, which are
/// stored separately.
pub const NO_STREAM: u8 = u8::MAX;

/// The constant properties of a placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementShape {
    /// Streams, from 1 to 64.
    pub streams: u8,
    /// Whether it is asked about host pages. Otherwise they go to stream 0.
    pub host: bool,
    /// Whether it is asked about survivors. Otherwise they go to stream 0.
    pub survivors: bool,
    /// Largest batch of host pages. With 1, each page is asked about once, right before it is
    /// written. With more, a page may be asked about again if something happened before it was
    /// written.
    pub batch: u32,
    /// Whether answers stay valid when blocks are cleaned after them. Decisions are then up to a
    /// batch old.
    pub stale: bool,
    /// Whether it receives host writes.
    pub written: bool,
    /// Whether it receives pages written before the run.
    pub filled: bool,
    /// Whether it receives trims.
    pub trimmed: bool,
    /// Whether it receives survivors that went to another stream.
    pub spilt: bool,
    /// Whether it receives blocks that were opened or became full.
    pub blocks: bool,
}

/// A placement that is called with batches. The lists of one call have equal lengths. Pages are
/// logical page numbers. What the [shape](Self::shape) says it does not receive is not called.
pub trait BatchPlacement: Send {
    /// The constant properties.
    fn shape(&self) -> PlacementShape;

    /// Sets the streams of pages that the host is about to write, in this order; the first is
    /// written now. The pages are distinct.
    ///
    /// # Errors
    /// Those of the policy.
    fn host(&mut self, pages: &[u32], now: u64, streams: &mut [u8]) -> Result<(), Failure>;

    /// Sets the streams of the survivors of a block, in physical order.
    ///
    /// # Errors
    /// Those of the policy.
    fn survivors(
        &mut self,
        victim: &Cleaning,
        pages: &[u32],
        streams: &mut [u8],
    ) -> Result<(), Failure>;

    /// The host wrote pages at these times to these streams ([`NO_STREAM`] for read-only data
    /// stored separately).
    ///
    /// # Errors
    /// Those of the policy.
    fn written(&mut self, pages: &[u32], streams: &[u8], times: &[u64]) -> Result<(), Failure> {
        let _ = (pages, streams, times);
        Ok(())
    }

    /// Pages were written before the run, to stream 0.
    ///
    /// # Errors
    /// Those of the policy.
    fn filled(&mut self, pages: &[u32], now: u64) -> Result<(), Failure> {
        let _ = (pages, now);
        Ok(())
    }

    /// Pages no longer hold data.
    ///
    /// # Errors
    /// Those of the policy.
    fn trimmed(&mut self, pages: &[u32]) -> Result<(), Failure> {
        let _ = pages;
        Ok(())
    }

    /// A survivor went to another stream because there was no free block.
    ///
    /// # Errors
    /// Those of the policy.
    fn spilt(&mut self, page: u32, stream: u8, now: u64) -> Result<(), Failure> {
        let _ = (page, stream, now);
        Ok(())
    }

    /// A free block was opened for a stream, or (`full`) became full.
    ///
    /// # Errors
    /// Those of the policy.
    fn block(&mut self, full: bool, bank: u32, block: u32, stream: u8) -> Result<(), Failure> {
        let _ = (full, bank, block, stream);
        Ok(())
    }
}

/// The subject of buffered notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Written,
    Filled,
    Trimmed,
}

/// Buffered notes of one kind.
struct Notes {
    kind: Note,
    pages: Vec<u32>,
    streams: Vec<u8>,
    times: Vec<u64>,
}

/// Adapts a [`BatchPlacement`] to the placement contract.
pub struct ForeignPlacement {
    policy: Guarded<Box<dyn BatchPlacement>>,
    shape: PlacementShape,
    notes: Notes,
    /// Pages that the host will write, as far as they are known.
    upcoming: Vec<u32>,
    /// Indices into `upcoming`: the next page, the first page asked about, and the end of those
    /// asked about.
    next: usize,
    first: usize,
    asked: usize,
    /// Streams of the pages asked about.
    streams: Vec<u8>,
    /// Size of the next batch.
    size: usize,
    /// For each page the number of its last batch, where batches have several pages.
    seen: Vec<u32>,
    batches: u32,
    /// The stream of the page that is being written.
    decided: u8,
    victim: Option<Cleaning>,
    survivors: Vec<u32>,
}

impl ForeignPlacement {
    /// Adapts `policy`, named `name` in results, for this number of logical pages.
    ///
    /// # Errors
    /// Its shape is invalid.
    pub fn new(
        name: &str,
        policy: Box<dyn BatchPlacement>,
        logical_pages: u32,
        report: Arc<dyn Report>,
    ) -> Result<Self, Failure> {
        let mut shape = policy.shape();
        if shape.streams == 0 || shape.streams > MOST_STREAMS {
            let what = format_args!("is {}; choose from 1 to {MOST_STREAMS}", shape.streams);
            return Err(wrong(name, "streams", what));
        }
        if shape.batch == 0 {
            return Err(wrong(name, "batch", format_args!("is 0; choose at least 1")));
        }
        shape.batch = shape.batch.min(MOST as u32);
        let pages = if shape.batch > 1 { logical_pages as usize } else { 0 };
        Ok(Self {
            policy: Guarded { name: String::from(name), policy, report, failed: false },
            shape,
            notes: Notes {
                kind: Note::Filled,
                pages: Vec::with_capacity(NOTES),
                streams: Vec::with_capacity(NOTES),
                times: Vec::with_capacity(NOTES),
            },
            upcoming: Vec::new(),
            next: 0,
            first: 0,
            asked: 0,
            streams: Vec::new(),
            size: LEAST.min(shape.batch as usize),
            seen: vec![0; pages],
            batches: 0,
            decided: NO_STREAM,
            victim: None,
            survivors: Vec::new(),
        })
    }

    /// Buffers a note with others of its kind.
    #[inline(always)]
    fn note(&mut self, kind: Note, lpn: Lpn, stream: u8, time: u64) {
        if self.notes.kind != kind || self.notes.pages.len() == NOTES {
            self.pass_on();
            self.notes.kind = kind;
        }
        self.notes.pages.push(lpn.0);
        self.notes.streams.push(stream);
        self.notes.times.push(time);
    }

    /// Passes on the buffered notes.
    fn pass_on(&mut self) {
        let Notes { kind, pages, streams, times } = &mut self.notes;
        if pages.is_empty() {
            return;
        }
        let now = times.first().copied().unwrap_or(0);
        self.policy.ask(|policy, _| match *kind {
            Note::Written => policy.written(pages, streams, times),
            Note::Filled => policy.filled(pages, now),
            Note::Trimmed => policy.trimmed(pages),
        });
        pages.clear();
        streams.clear();
        times.clear();
    }

    /// Drops the remaining answers after an event that may change them. The pages are asked about
    /// again.
    fn drop_answers(&mut self) {
        if self.next < self.asked {
            self.asked = self.next;
            // The next batch is about twice as large as the part that was used.
            let used = self.next - self.first;
            self.size = (2 * used).clamp(LEAST, self.shape.batch.max(LEAST as u32) as usize);
            self.size = self.size.min(self.shape.batch as usize);
        }
    }

    /// Asks about the page that the host writes now and the known pages after it.
    #[inline(never)]
    fn ask_host(&mut self, lpn: Lpn, now: u64) -> u8 {
        self.pass_on();
        // Read-only data stored separately were not asked about.
        let ahead = self.upcoming[self.next.min(self.upcoming.len())..].iter();
        let skipped = ahead.take(NOTES).position(|&page| page == lpn.0);
        let count = match skipped {
            Some(skipped) if self.shape.batch > 1 => {
                self.next += skipped;
                self.unlike_pages()
            }
            _ => 0,
        };
        let known = count > 0;
        let alone = [lpn.0];
        let pages = if known { &self.upcoming[self.next..self.next + count] } else { &alone[..] };
        self.streams.clear();
        self.streams.resize(pages.len(), 0);
        let (streams, most) = (&mut self.streams, self.shape.streams);
        let asked = self.policy.ask(|policy, name| {
            policy.host(pages, now, streams)?;
            in_range(name, "host", pages, streams, most)
        });
        if asked.is_none() {
            self.streams.fill(0);
        }
        if known {
            (self.first, self.asked) = (self.next, self.next + count);
            self.next += 1;
            self.size = (2 * self.size).min(self.shape.batch as usize);
        } else {
            self.next += usize::from(skipped.is_some());
            self.asked = self.next;
        }
        self.streams[0]
    }

    /// Asks about the survivors of a block.
    fn ask_survivors(&mut self, survivors: &mut Survivors<'_, ()>) {
        self.pass_on();
        if !self.shape.stale {
            self.drop_answers();
        }
        let Some(victim) = self.victim.filter(|_| !survivors.pages().is_empty()) else { return };
        self.survivors.clear();
        self.survivors.extend(survivors.pages().iter().map(|lpn| lpn.0));
        let (pages, streams, most) = (&self.survivors, survivors.streams(), self.shape.streams);
        streams.fill(0);
        let asked = self.policy.ask(|policy, name| {
            policy.survivors(&victim, pages, streams)?;
            in_range(name, "survivors", pages, streams, most)
        });
        if asked.is_none() {
            streams.fill(0);
        }
    }

    /// Number of upcoming pages that may be asked about together: those before the first
    /// repetition.
    fn unlike_pages(&mut self) -> usize {
        self.batches = self.batches.wrapping_add(1);
        if self.batches == 0 {
            self.seen.fill(0);
            self.batches = 1;
        }
        let (seen, batch) = (&mut self.seen, self.batches);
        let is_new = |&&page: &&u32| {
            seen.get_mut(page as usize).is_some_and(|seen| core::mem::replace(seen, batch) != batch)
        };
        self.upcoming[self.next..].iter().take(self.size).take_while(is_new).count()
    }
}

/// Checks that all streams exist.
fn in_range(
    name: &str,
    method: &str,
    pages: &[u32],
    streams: &[u8],
    most: u8,
) -> Result<(), Failure> {
    if streams.iter().fold(0, |most, &stream| most.max(stream)) < most {
        return Ok(());
    }
    let bad = streams.iter().zip(pages).find(|(stream, _)| **stream >= most);
    let (stream, page) = bad.map_or((0, 0), |(stream, page)| (*stream, *page));
    let what = format_args!(
        "sends page {page} to stream {stream}; its streams are 0 to {}",
        most.saturating_sub(1)
    );
    Err(wrong(name, method, what))
}

impl Streams for ForeignPlacement {
    fn streams(&self) -> u8 {
        self.shape.streams
    }

    /// Does not sort: the policy also takes the survivors of several victims.
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { sorts: self.shape.survivors, ..Traits::default() }
    }

    fn opened(&mut self, bank: u32, block: BlockId, stream: u8, _now: u64) {
        if self.shape.blocks {
            self.pass_on();
            self.drop_answers();
            self.policy.ask(|policy, _| policy.block(false, bank, block.0, stream));
        }
    }

    fn closing(&mut self, bank: u32, block: BlockId, stream: u8) -> Entry {
        if self.shape.blocks {
            self.pass_on();
            self.drop_answers();
            self.policy.ask(|policy, _| policy.block(true, bank, block.0, stream));
        }
        Entry::Indexed
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.victim = Some(*victim);
    }

    #[inline(always)]
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        if self.shape.host && self.shape.batch > 1 { Some(self) } else { None }
    }
}

impl Ahead for ForeignPlacement {
    fn coming(&mut self, writes: &mut dyn Iterator<Item = (Lpn, u16)>) {
        self.upcoming.clear();
        self.upcoming.extend(writes.map(|(lpn, _)| lpn.0));
        (self.next, self.first, self.asked) = (0, 0, 0);
    }
}

impl Placement for ForeignPlacement {
    type Page = ();

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        if self.shape.host { None } else { Some(0) }
    }

    #[inline(always)]
    fn host(&mut self, (): (), write: &impl HostWrite) -> u8 {
        if !self.shape.host {
            self.decided = 0;
            return 0;
        }
        let lpn = write.lpn();
        self.decided = if self.next < self.asked && self.upcoming[self.next] == lpn.0 {
            self.next += 1;
            self.streams[self.next - 1 - self.first]
        } else {
            self.ask_host(lpn, write.now())
        };
        self.decided
    }

    #[inline(always)]
    fn filled(&mut self, (): &mut (), lpn: Lpn, now: u64) {
        if self.shape.filled {
            self.note(Note::Filled, lpn, 0, now);
        }
    }

    #[inline(always)]
    fn written(&mut self, (): &mut (), lpn: Lpn, now: u64) {
        if self.shape.written {
            let apart = if self.shape.host { NO_STREAM } else { 0 };
            let stream = core::mem::replace(&mut self.decided, apart);
            self.note(Note::Written, lpn, stream, now);
        }
    }

    fn trimmed(&mut self, (): (), lpn: Lpn) {
        if self.shape.trimmed {
            self.note(Note::Trimmed, lpn, NO_STREAM, 0);
            self.drop_answers();
        }
    }

    /// Without questions about survivors all go to stream 0.
    #[inline(always)]
    fn survivor(&mut self, (): &mut (), _: Lpn, _: u64) -> u8 {
        0
    }

    fn survivors(&mut self, survivors: &mut Survivors<'_, ()>) -> Answer {
        if !self.shape.survivors {
            return Answer::Together(0);
        }
        self.ask_survivors(survivors);
        Answer::AtOnce
    }

    fn spilt(&mut self, (): &mut (), lpn: Lpn, stream: u8, now: u64) {
        if self.shape.spilt {
            self.pass_on();
            self.policy.ask(|policy, _| policy.spilt(lpn.0, stream, now));
        }
    }
}

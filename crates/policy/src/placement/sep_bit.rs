//! SepBIT: infers when a page will be overwritten from when it was last written (Wang et al., FAST
//! 2022, Algorithm 1).
//!
//! Time `t` is the number of pages the host has written. A host write that invalidates data younger
//! than `ℓ` is assumed to be short-lived itself. `ℓ` is the mean life span of blocks of such
//! writes, from opening to cleaning, recomputed every 16 of them. Survivors of those blocks have
//! their own class. All other survivors go by their age, in steps of a factor of 4: up to 4ℓ, 16ℓ,
//! and beyond.
//!
//! The paper stores life spans only of recently written pages, in a queue of them. Each write adds
//! one entry to that queue, so a page is in it if and only if its last write is no further back
//! than the queue is long. Its length is therefore sufficient. The paper reads last write times, by
//! which survivors are sorted, from the out-of-band data of the pages. Here they are the words that
//! the layer keeps with them.
//!
//! Memory: 4 bytes a page, 8 after 4·10⁹ page writes, and 8 bytes a block.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Lpn};

use super::{Answer, Cleaning, Growing, HostWrite, Placement, Registered, Streams, Survivors};
use crate::{
    Args, Context, ParamError, PolicyInfo, params,
    params::{MAX_STREAMS, within},
};

/// The paper's Class 2: host writes of pages that were not written recently, including first writes
/// and the fill.
const LONG_LIVED: u8 = 0;
/// The paper's Class 1: host writes of recently written pages.
const SHORT_LIVED: u8 = 1;
/// The paper's Class 3: survivors of short-lived blocks.
const SURVIVED: u8 = 2;
/// The paper's Class 4 and up: other survivors, by age.
const AGED: u8 = 3;

/// Number of cleaned blocks of short-lived data over which ℓ is the mean.
const MEANT: u64 = 16;
/// Ratio of the age limits of successive classes; the first limit is this multiple of ℓ.
const STEP: f64 = 4.0;

/// No host write; the first one has number 1.
const NEVER: u64 = 0;

params! {
    /// Parameters of [`SepBit`].
    pub struct SepBitParams {
        /// Number of classes, a stream each, 4 to 32; the paper has 6.
        classes: u32 = 6,
    }
}

/// ℓ and its derived limits in whole page writes, so that pages are not compared with fractions.
#[derive(Clone, Debug)]
struct Spans {
    /// ℓ rounded up.
    long: u64,
    /// ℓ rounded down.
    queue: u64,
    /// The ages at which each class of [`AGED`] but the first begins.
    aged: Vec<u64>,
}

impl Spans {
    /// With age limits for this number of survivor classes.
    fn new(life_span: f64, aged: u8) -> Self {
        let mut spans = Self { long: 0, queue: 0, aged: vec![0; usize::from(aged) - 1] };
        spans.set(life_span);
        spans
    }

    fn set(&mut self, life_span: f64) {
        self.long = libm::ceil(life_span) as u64;
        self.queue = libm::floor(life_span) as u64;
        let mut end = life_span;
        for age in &mut self.aged {
            end *= STEP;
            *age = libm::ceil(end) as u64;
        }
    }
}

/// The class of a survivor with the last host write `last`, given the ages at which classes begin.
#[inline(always)]
fn class(aged: &[u64], last: u64, writes: u64) -> u8 {
    let age = if last == NEVER { 0 } else { writes - last };
    // The limits are sorted. A sum avoids a branch that no predictor can guess.
    aged.iter().fold(AGED, |class, &from| class + u8::from(age >= from))
}

/// Sends pages to the stream of their inferred invalidation time.
#[derive(Clone, Debug)]
pub struct SepBit {
    classes: u8,
    /// t: pages written by the host.
    writes: u64,
    /// Pages that hold data.
    mapped: u64,
    /// Length of the queue of recently written pages.
    queue: u64,
    spans: Spans,
    /// Sum and number of life spans since ℓ was last computed.
    sum: u64,
    number: u64,
    /// When each block was opened.
    created: Vec<u64>,
    /// The stream of the current victim.
    victim: u8,
}

impl Streams for SepBit {
    fn streams(&self) -> u8 {
        self.classes
    }

    fn opened(&mut self, _bank: u32, block: BlockId, _stream: u8, _now: u64) {
        self.created[block.index()] = self.writes;
    }

    fn cleaning(&mut self, victim: &Cleaning) {
        self.victim = victim.stream;
        if victim.stream == SHORT_LIVED {
            self.sum += self.writes - self.created[victim.block.index()];
            self.number += 1;
            if self.number == MEANT {
                self.spans.set(self.sum as f64 / MEANT as f64);
                (self.sum, self.number) = (0, 0);
            }
        }
    }
}

impl Placement for SepBit {
    /// Number of the page's last host write.
    type Page = Growing;

    #[inline(always)]
    fn host(&mut self, Growing(last): Growing, _: &impl HostWrite) -> u8 {
        // The life span of the overwritten copy, if it is in the queue, that is, below the queue's
        // length.
        let life_span = self.writes + 1 - last;
        let short = last != NEVER && life_span < self.queue.min(self.spans.long);
        if short { SHORT_LIVED } else { LONG_LIVED }
    }

    fn filled(&mut self, page: &mut Growing, lpn: Lpn, now: u64) {
        self.written(page, lpn, now);
    }

    #[inline(always)]
    fn written(&mut self, Growing(last): &mut Growing, _: Lpn, _: u64) {
        self.writes += 1;
        self.mapped += u64::from(*last == NEVER);
        // At most ℓ and at most the number of pages; a longer queue shrinks by an entry at each
        // write.
        self.queue += 1;
        if self.queue > self.mapped.min(self.spans.queue) {
            self.queue -= 1;
            if self.queue > self.spans.queue {
                self.queue -= 1;
            }
        }
        *last = self.writes;
    }

    fn trimmed(&mut self, Growing(last): Growing, _: Lpn) {
        self.mapped -= u64::from(last != NEVER);
    }

    #[inline(always)]
    fn survivor(&mut self, Growing(last): &mut Growing, _: Lpn, _: u64) -> u8 {
        if self.victim == SHORT_LIVED {
            SURVIVED
        } else {
            class(&self.spans.aged, *last, self.writes)
        }
    }

    #[inline(always)]
    fn survivors(&mut self, survivors: &mut Survivors<'_, Growing>) -> Answer {
        // Local copies, because streams are stored meanwhile. The paper's number of classes gets a
        // loop without an inner loop.
        let (writes, aged) = (self.writes, &self.spans.aged[..]);
        match *aged {
            _ if self.victim == SHORT_LIVED => Answer::Together(SURVIVED),
            [first, second] => survivors.each(|_, page| class(&[first, second], page.0, writes)),
            _ => survivors.each(|_, page| class(aged, page.0, writes)),
        }
    }
}

impl Registered for SepBit {
    const INFO: PolicyInfo = PolicyInfo {
        name: "sep-bit",
        aliases: &["sepbit"],
        source: "Wang, Li, Lee, Ouyang, Shi, Huang, FAST 2022, Algorithm 1",
        summary: "pages by when they will probably be overwritten, estimated from when they were last",
        params: SepBitParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let classes = SepBitParams::read(args)?.classes;
        let classes = within("classes", classes, u32::from(AGED) + 1..=MAX_STREAMS)? as u8;
        Ok(Self {
            classes,
            writes: 0,
            mapped: 0,
            queue: 0,
            spans: Spans::new(f64::INFINITY, classes - AGED),
            sum: 0,
            number: 0,
            created: vec![0; context.blocks as usize],
            victim: LONG_LIVED,
        })
    }
}

//! An open trace.

use std::fmt;

use super::{context::Context, decode::Decode, format::Format};
use crate::{Contents, Op, Request, Source, TraceError};

/// Minimum number of requests for a meaningful share of writes.
const ENOUGH: u64 = 1000;

/// The format of a trace, and how it was determined.
#[derive(Clone, Debug)]
pub struct Guess {
    /// The format.
    pub format: Format,
    /// The evidence for it; `None` if the user gave it.
    pub from: Option<&'static str>,
    /// The device on which the trace was recorded, according to the trace itself.
    pub(crate) device: Option<String>,
}

impl Guess {
    pub(crate) const fn new(format: Format, from: Option<&'static str>) -> Self {
        Self { format, from, device: None }
    }

    /// The device profile nearest to that of the trace, if the trace or its format gives it.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref().or(self.format.device())
    }

    /// The option that gives this description of columns; empty for a format without a description.
    pub fn columns(&self) -> String {
        self.format.argument().map_or_else(String::new, |spec| format!("‹columns '{spec}'›"))
    }
}

impl fmt::Display for Guess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = self.format.about();
        let title = about.split(':').next().unwrap_or(about);
        match self.from {
            Some(from) if self.format.argument().is_some() => {
                write!(f, "{title} (guessed from {from}; change it with {})", self.columns())
            }
            Some(from) => {
                write!(f, "{title} (guessed from {from}; name another with ‹trace-format›)")
            }
            None => write!(f, "{title} (named)"),
        }
    }
}

/// An open trace: requests in the order of the file, streamed.
///
/// Times count from the trace's own origin: relative clocks and captures from their start, absolute
/// clocks from their epoch (Unix, or 1601 for FILETIME), in nanoseconds.
pub struct Reader {
    source: Box<dyn Decode>,
    cx: Context,
    guess: Guess,
    invert_ops: bool,
    counts: Counts,
    /// An error that is returned after earlier requests.
    pending: Option<TraceError>,
    ended: bool,
    /// Whether the last batch was empty, so that there are no contents.
    over: bool,
}

/// Counts of delivered requests.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    writes: u64,
    backwards: u64,
    last_time: u64,
}

impl Reader {
    pub(crate) fn new(
        source: Box<dyn Decode>,
        cx: Context,
        guess: Guess,
        invert_ops: bool,
    ) -> Reader {
        Reader {
            source,
            cx,
            guess,
            invert_ops,
            counts: Counts::default(),
            pending: None,
            ended: false,
            over: true,
        }
    }

    /// The format, and how it was determined.
    pub fn guess(&self) -> &Guess {
        &self.guess
    }

    /// Names of the volumes so far, in the order of their first appearance.
    pub fn volumes(&self) -> &[String] {
        self.cx.volumes.names()
    }

    /// Warnings about the trace as far as it was read, one line each; complete after the last
    /// batch.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = self.cx.warnings();
        let Counts { reads, writes, backwards, .. } = self.counts;
        if backwards > 0 {
            let times = if backwards == 1 { "time" } else { "times" };
            all.push(format!(
                "the clock goes back {backwards} {times}; sort the trace if order matters"
            ));
        }
        let all_ops = reads + writes;
        if self.guess.format.entry().special.zero_one && all_ops >= ENOUGH && writes * 100 < all_ops
        {
            all.push(format!(
                "the 0/1 column looks inverted: {writes} of {all_ops} requests are writes; \
                 if it is, use ‹invert-ops›"
            ));
        }
        all
    }

    /// Counts delivered requests, and swaps reads and writes if requested.
    fn account(&mut self, batch: &mut [Request]) {
        let mut counts = self.counts;
        for request in batch {
            if self.invert_ops {
                request.op = match request.op {
                    Op::Read => Op::Write,
                    Op::Write => Op::Read,
                    other => other,
                };
            }
            counts.reads += u64::from(request.op == Op::Read);
            counts.writes += u64::from(request.op == Op::Write);
            counts.backwards += u64::from(request.time_ns < counts.last_time);
            counts.last_time = request.time_ns;
        }
        self.counts = counts;
    }
}

impl Source for Reader {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        self.over = self.ended;
        if self.ended {
            return match self.pending.take() {
                Some(error) => Err(error),
                None => Ok(()),
            };
        }
        // An empty batch means the end, so a limit of 0 is not possible.
        let limit = limit.max(1);
        let result = self.source.decode(&mut self.cx, batch, limit);
        self.ended = result.is_err() || (batch.len() < limit && !self.source.is_full());
        self.account(batch);
        match result {
            Err(error) if !batch.is_empty() => self.pending = Some(error),
            other => return other,
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.cx.volumes.names()
    }

    fn contents(&self) -> &Contents {
        if self.over { Contents::NONE } else { self.source.contents() }
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.cx.volumes.bytes(volume)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("guess", &self.guess).finish_non_exhaustive()
    }
}

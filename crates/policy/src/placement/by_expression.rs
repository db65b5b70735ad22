//! A stream that the user writes as an [expression](crate::expression) of what is known of a page:
//! `min(3, log2(interval / 1s))`, `if(survivor, 0, writes > 0)`.
//!
//! The value is rounded down, and clamped to the streams there are. What is no number is stream 0.

use alloc::format;

use thermocline_flash::Lpn;

use super::{
    HostWrite, Placement, Registered, Streams,
    beyond::{Beyond, Packs},
    contract::in_a_word,
    history::float,
};
use crate::{
    Args, Context, ParamError, PolicyInfo,
    expression::{Expression, Source},
    params,
    params::{MAX_STREAMS, within},
};

params! {
    /// Parameters of [`ByExpression`].
    pub struct ByExpressionParams {
        /// The expression; `of=` may be left out.
        of: Source = Source("if(survivor, 0, writes > 0)".into()),
        /// Number of streams, 1 to 32.
        streams: u32 = 4,
    }
}

/// The policy's name.
pub const STREAM: &str = "stream";

/// What an expression may name.
pub const NAMES: [&str; 5] = ["interval", "writes", "survivor", "stream", "tau"];
const TAU: usize = 4;

/// Bits of a word for the time of the last write, for the number of writes, and for the stream.
const TIME_BITS: u32 = 46;
const COUNT_BITS: u32 = 13;
const TIME: u64 = (1 << TIME_BITS) - 1;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// What is known of a page: 46 bits are 19 hours in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The last host write.
    written: u64,
    /// Host writes; 0 for a page without data.
    writes: u32,
    /// The stream that it was last sent to.
    stream: u8,
}

impl Packs for Known {
    #[inline(always)]
    fn pack(self) -> Option<u64> {
        let (writes, stream) = (u64::from(self.writes), u64::from(self.stream));
        let fits = self.written <= TIME && writes <= COUNT;
        fits.then_some((stream << COUNT_BITS | writes) << TIME_BITS | self.written)
    }

    #[inline(always)]
    fn unpack(word: u64) -> Self {
        let high = word >> TIME_BITS;
        Self {
            written: word & TIME,
            writes: (high & COUNT) as u32,
            stream: (high >> COUNT_BITS) as u8,
        }
    }
}

/// What is known of a page, as the layer keeps it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Word(u64);

in_a_word!(Word: Word);

/// Sends a page to the stream that an expression says.
#[derive(Clone, Debug)]
pub struct ByExpression {
    expression: Expression,
    streams: u8,
    beyond: Beyond<Known>,
    /// The stream of the host write asked about last.
    asked: u8,
}

impl ByExpression {
    /// The stream of a page, of which this is known now.
    fn stream(&self, page: Known, is_survivor: bool, now: u64) -> u8 {
        let interval = match page.writes {
            0 => f64::INFINITY,
            _ => float(now.saturating_sub(page.written)),
        };
        let names = [
            interval,
            f64::from(page.writes),
            f64::from(u8::from(is_survivor)),
            f64::from(page.stream),
            0.0,
        ];
        // As an integer it is rounded down, and what is no number, or less than 0, is 0.
        (self.expression.value(&names) as u8).min(self.streams - 1)
    }
}

impl Streams for ByExpression {
    fn streams(&self) -> u8 {
        self.streams
    }
}

impl Placement for ByExpression {
    type Page = Word;

    fn host(&mut self, page: Word, write: &impl HostWrite) -> u8 {
        let known = self.beyond.unpack(write.lpn(), page.0);
        self.asked = self.stream(known, false, write.now());
        self.asked
    }

    fn survivor(&mut self, page: &mut Word, lpn: Lpn, now: u64) -> u8 {
        let known = self.beyond.unpack(lpn, page.0);
        let stream = self.stream(known, true, now);
        page.0 = self.beyond.pack(lpn, Known { stream, ..known });
        stream
    }

    /// The fill goes to stream 0.
    fn filled(&mut self, page: &mut Word, lpn: Lpn, now: u64) {
        page.0 = self.beyond.pack(lpn, Known { written: now, writes: 1, stream: 0 });
    }

    fn written(&mut self, page: &mut Word, lpn: Lpn, now: u64) {
        let writes = self.beyond.unpack(lpn, page.0).writes.saturating_add(1);
        page.0 = self.beyond.pack(lpn, Known { written: now, writes, stream: self.asked });
    }

    fn last_written(&self, page: Word, lpn: Lpn) -> Option<u64> {
        Some(self.beyond.unpack(lpn, page.0).written)
    }
}

impl Registered for ByExpression {
    const INFO: PolicyInfo = PolicyInfo {
        name: STREAM,
        aliases: &[],
        source: "docs/policies.md",
        summary: "the stream that you write: stream(min(3, log2(1 + interval / tau)))",
        params: ByExpressionParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        let p = ByExpressionParams::read(args)?;
        let streams = within("streams", p.streams, 1..=MAX_STREAMS)? as u8;
        let mut expression =
            Expression::parse(&p.of.0, &NAMES).map_err(|wrong| ParamError::Value {
                key: "of".into(),
                value: p.of.0.clone(),
                expected: format!("{wrong}"),
            })?;
        expression.bind(TAU, context.time_scale);
        let beyond = Beyond::none(context.logical_pages);
        Ok(Self { expression, streams, beyond, asked: 0 })
    }
}

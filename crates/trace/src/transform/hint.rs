//! Gives writes placement hints by rules, where the trace has none or others are asked about.

use std::{fmt, ops::Range, str::FromStr};

use thermocline_units::{format_size, parse_size};

use crate::{Contents, Op, Request, Source, TraceError};

/// A rule: `volume`, or `0..1GiB=3` for a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintRule {
    /// Every volume has a hint of its own, counted from 1 in the order of their first writes.
    Volume,
    /// Writes that begin at these bytes have this hint.
    Range(Range<u64>, u16),
}

impl FromStr for HintRule {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        if text.trim() == "volume" {
            return Ok(Self::Volume);
        }
        let parse = || {
            let (range, hint) = text.split_once('=')?;
            let (from, to) = range.split_once("..")?;
            let (from, to) = (parse_size(from.trim()).ok()?, parse_size(to.trim()).ok()?);
            let hint = hint.trim().parse().ok()?;
            (from < to).then_some(Self::Range(from..to, hint))
        };
        parse().ok_or_else(|| {
            TraceError::usage(
                format!("`{text}` is no rule for hints"),
                "write `volume`, or a range of addresses and a hint from 0, which is none, to 65535: \
                 0..1GiB=3",
            )
        })
    }
}

impl fmt::Display for HintRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Volume => f.write_str("volume"),
            Self::Range(range, hint) => {
                write!(f, "{}..{}={hint}", format_size(range.start), format_size(range.end))
            }
        }
    }
}

/// Sets the hints of writes by rules; the last rule that says anything about a write counts. A write
/// without a rule keeps its hint. Where a range begins or ends within a write, its first byte counts.
pub struct Hints<S> {
    source: S,
    rules: Vec<HintRule>,
    /// The hint of each volume; 0 before its first write.
    volumes: Vec<u16>,
    /// How many volumes have one.
    named: u16,
}

impl<S: Source> Hints<S> {
    /// Sets the hints of `source`.
    pub fn new(source: S, rules: Vec<HintRule>) -> Self {
        Self { source, rules, volumes: Vec::new(), named: 0 }
    }

    fn of_volume(&mut self, volume: u32) -> Result<u16, TraceError> {
        let volume = volume as usize;
        if volume >= self.volumes.len() {
            self.volumes.resize(volume + 1, 0);
        }
        if self.volumes[volume] == 0 {
            self.named = self.named.checked_add(1).ok_or_else(|| {
                TraceError::request(
                    "the trace has more than 65535 volumes, more than there are hints",
                    "choose some of them by ‹volume›, or give hints by ranges of addresses",
                )
            })?;
            self.volumes[volume] = self.named;
        }
        Ok(self.volumes[volume])
    }

    fn hint(&mut self, request: &Request) -> Result<u16, TraceError> {
        for rule in (0..self.rules.len()).rev() {
            match &self.rules[rule] {
                HintRule::Volume => return self.of_volume(request.volume),
                HintRule::Range(range, hint) if range.contains(&request.offset) => {
                    return Ok(*hint);
                }
                HintRule::Range(..) => {}
            }
        }
        Ok(request.hint)
    }
}

impl<S: Source> Source for Hints<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        for request in batch.iter_mut().filter(|request| request.op == Op::Write) {
            request.hint = self.hint(request)?;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        self.source.volumes()
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        self.source.volume_bytes(volume)
    }
}

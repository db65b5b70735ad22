//! Shifts addresses, for example back by the 63 sectors before an old partition.

use std::{fmt, str::FromStr};

use thermocline_units::parse_size;

use crate::{Contents, Op, Request, Source, TraceError};

const SECTOR: u64 = 512;

/// A signed distance in bytes, written as `-7s` (sectors of 512 bytes), `+512B` or `-4KiB`. A
/// number without a unit is ambiguous and is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftBy(pub i64);

impl FromStr for ShiftBy {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        let (negative, size) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let bytes = match size.strip_suffix('s') {
            Some(sectors) => sectors.parse().ok().and_then(|n: u64| n.checked_mul(SECTOR)),
            None if size.bytes().all(|byte| byte.is_ascii_digit()) && !size.is_empty() => {
                return Err(TraceError::usage(
                    format!("`{text}` may be sectors or bytes"),
                    format!("write {text}s for sectors of 512 bytes, {text}B for bytes"),
                ));
            }
            None => parse_size(size).ok(),
        };
        let signed = bytes.and_then(|bytes| i64::try_from(bytes).ok());
        signed.map(|bytes| ShiftBy(if negative { -bytes } else { bytes })).ok_or_else(|| {
            TraceError::usage(
                format!("`{text}` is not a shift"),
                "expected sectors such as -63s, or a size such as -3584B or +4KiB",
            )
        })
    }
}

impl fmt::Display for ShiftBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.unsigned_abs().is_multiple_of(SECTOR) {
            write!(f, "{:+}s", self.0 / SECTOR as i64)
        } else {
            write!(f, "{:+}B", self.0)
        }
    }
}

/// Adds a distance to every offset. Flushes have no address and are unchanged.
pub struct Shift<S> {
    source: S,
    by: ShiftBy,
    seen: u64,
}

impl<S: Source> Shift<S> {
    /// Shifts `source`.
    pub fn new(source: S, by: ShiftBy) -> Self {
        Shift { source, by, seen: 0 }
    }

    fn refuse(&self, request: &Request) -> TraceError {
        let what = format!(
            "request {} at byte {} of volume {} would leave the address space when shifted by {}",
            self.seen, request.offset, request.volume, self.by
        );
        // A shift upwards always fits and gives the same alignment to a page.
        let up = ShiftBy(self.by.0.rem_euclid(4096));
        let remedy = if self.by.0 < 0 && up.0 != 0 {
            format!("shift by {up} instead, which aligns 4 KiB pages alike")
        } else {
            "choose a shift that keeps all requests within 0 to 2^64 bytes".into()
        };
        TraceError::request(what, remedy)
    }
}

impl<S: Source> Source for Shift<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        for request in batch {
            self.seen += 1;
            if request.op != Op::Flush {
                request.offset = request
                    .offset
                    .checked_add_signed(self.by.0)
                    .ok_or_else(|| self.refuse(request))?;
            }
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

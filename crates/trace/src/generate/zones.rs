//! Zones written completely: the traffic of zone-aware file systems and of stores that write large
//! segments.

use rand_xoshiro::Xoshiro256PlusPlus;
use thermocline_units::{format_size, parse_size};

use super::random::below;
use crate::{Op, Request, TraceError};
use std::{fmt, str::FromStr};

/// How zones are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zones {
    /// Number of open zones. Each write goes to a random one.
    pub open: u32,
    /// Bytes of a zone.
    pub bytes: u64,
    /// Whether a zone is trimmed before it is rewritten.
    pub trimmed: bool,
}

impl Zones {
    /// Zones with an `of`-th of the bytes.
    #[must_use]
    pub const fn scaled(self, of: u64) -> Self {
        Self { bytes: self.bytes / of, ..self }
    }
}

impl FromStr for Zones {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let refused = || {
            TraceError::usage(
                format!("`zones:{text}` is not a workload of zones"),
                "expected zones:OPEN/SIZE, zones of this size and how many are written at once, such as \
                 zones:4/8GiB; zones:4/8GiB/untrimmed overwrites them without a trim",
            )
        };
        let mut parts = text.split('/').map(str::trim);
        let open: u32 = parts.next().and_then(|n| n.parse().ok()).ok_or_else(refused)?;
        let bytes = parts.next().and_then(|size| parse_size(size).ok()).ok_or_else(refused)?;
        let trimmed = match (parts.next(), parts.next()) {
            (None, _) => true,
            (Some("untrimmed"), None) => false,
            _ => return Err(refused()),
        };
        if open == 0 || bytes == 0 {
            return Err(refused());
        }
        Ok(Self { open, bytes, trimmed })
    }
}

impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.trimmed { "" } else { "/untrimmed" };
        write!(f, "{}/{}{end}", self.open, format_size(self.bytes))
    }
}

/// The state of zone writing.
pub(super) struct ZoneSampler {
    request_bytes: u64,
    /// Requests in a zone.
    slots: u64,
    trimmed: bool,
    /// Zones that are not open, in any order.
    idle: Vec<u32>,
    open: Vec<Open>,
    /// The open zone that was just trimmed and is written next.
    trimmed_now: Option<usize>,
}

/// A zone being written.
struct Open {
    zone: u32,
    /// Its next request.
    slot: u64,
}

impl ZoneSampler {
    /// Zones of a span of `slots` requests. A rest smaller than a zone is not used.
    ///
    /// # Errors
    /// If a zone is smaller than a request, or there are fewer zones than open ones.
    pub fn new(zones: Zones, slots: u64, request_bytes: u64) -> Result<Self, TraceError> {
        let each = zones.bytes / request_bytes;
        if each == 0 {
            return Err(TraceError::usage(
                format!("zones:{zones}: a zone is smaller than a request of {request_bytes} bytes"),
                "choose larger zones, or smaller requests",
            ));
        }
        let count = slots / each;
        if count < u64::from(zones.open) || count > u64::from(u32::MAX) {
            return Err(TraceError::usage(
                format!("zones:{zones}: the device has room for {count} such zones"),
                "choose smaller zones, fewer that are open, or a larger device",
            ));
        }
        Ok(Self {
            request_bytes,
            slots: each,
            trimmed: zones.trimmed,
            idle: (0..count as u32).collect(),
            open: (0..zones.open).map(|_| Open { zone: u32::MAX, slot: each }).collect(),
            trimmed_now: None,
        })
    }

    /// The next request: a trim of a whole zone before its first write, then its writes in order.
    pub fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> Request {
        let (request_bytes, slots) = (self.request_bytes, self.slots);
        let at = self.trimmed_now.take();
        let at = at.unwrap_or_else(|| below(rng, self.open.len() as u64) as usize);
        if self.open[at].slot == slots {
            let last = self.open[at].zone;
            if last != u32::MAX {
                self.idle.push(last);
            }
            let chosen = below(rng, self.idle.len() as u64) as usize;
            let zone = self.idle.swap_remove(chosen);
            self.open[at] = Open { zone, slot: 0 };
            if self.trimmed {
                self.trimmed_now = Some(at);
                let first = u64::from(zone) * slots;
                return request(Op::Trim, first * request_bytes, slots * request_bytes);
            }
        }
        let open = &mut self.open[at];
        let first = u64::from(open.zone) * slots;
        let offset = (first + open.slot) * request_bytes;
        open.slot += 1;
        request(Op::Write, offset, request_bytes)
    }
}

fn request(op: Op, offset: u64, len: u64) -> Request {
    Request { time_ns: 0, offset, len, volume: 0, op, hint: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn zones_are_trimmed_and_then_written_whole_and_in_order() {
        let zones: Zones = "3/16KiB".parse().expect("zones");
        let mut sampler = ZoneSampler::new(zones, 64, 4096).expect("16 zones");
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut next, mut trims) = ([4u64; 16], 0);
        for _ in 0..10_000 {
            let request = sampler.draw(&mut rng);
            let zone = (request.offset / 16384) as usize;
            if request.op == Op::Trim {
                assert_eq!((request.offset % 16384, request.len, next[zone]), (0, 16384, 4));
                (next[zone], trims) = (0, trims + 1);
            } else {
                assert_eq!(request.offset % 16384 / 4096, next[zone], "in order");
                next[zone] += 1;
            }
            assert!(next.iter().filter(|next| **next < 4).count() <= 3, "three are open");
        }
        assert!((1995..=2005).contains(&trims), "{trims}");
    }

    #[test]
    fn zones_that_are_no_zones_are_refused() {
        for text in ["", "0/4KiB", "4", "4/0", "4/x", "4/4KiB/x", "4/4KiB/untrimmed/x"] {
            assert!(text.parse::<Zones>().is_err(), "{text}");
        }
        for text in ["4/8GiB", "1/512KiB/untrimmed"] {
            assert_eq!(text.parse::<Zones>().expect("zones").to_string(), text);
        }
        let zones: Zones = "4/8KiB".parse().expect("zones");
        assert!(ZoneSampler::new(zones, 7, 4096).is_err(), "three zones");
        assert!(ZoneSampler::new(zones, 70, 16384).is_err(), "a request is larger");
        assert!(ZoneSampler::new(zones, 8, 4096).is_ok(), "all are open");
    }
}

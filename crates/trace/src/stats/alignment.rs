//! Alignment of requests to 4 KiB, and the remedy for misalignment.

use crate::transform::ShiftBy;

const SECTOR: u64 = 512;
const SECTORS: usize = 8;

/// Minimum share of the misaligned requests for which a shift is useful.
const WORTH_SHIFTING: f64 = 0.5;

/// Counts the requests that begin at each sector of a 4 KiB page.
#[derive(Default)]
pub(super) struct Alignment {
    at_sector: [u64; SECTORS],
    requests: u64,
}

/// Alignment of a trace's requests. Shares are of the reads, writes and trims.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AlignmentStats {
    /// Share of requests that begin at a multiple of 4 KiB.
    pub aligned_share: Option<f64>,
    /// The most common misaligned start, in sectors of 512 bytes from a multiple of 4 KiB.
    pub common_sector: Option<u32>,
    /// Share of requests that begin there.
    pub common_share: Option<f64>,
    /// The remedy, if most requests are misaligned by the same amount.
    pub hint: Option<String>,
}

impl Alignment {
    pub fn add(&mut self, offset: u64) {
        self.requests += 1;
        if offset.is_multiple_of(SECTOR) {
            self.at_sector[(offset / SECTOR) as usize % SECTORS] += 1;
        }
    }

    pub fn stats(&self) -> AlignmentStats {
        if self.requests == 0 {
            return AlignmentStats::default();
        }
        let share = |count: u64| count as f64 / self.requests as f64;
        // The first of equals, so that reports do not depend on iteration order.
        let common = (1..SECTORS).rev().max_by_key(|&sector| self.at_sector[sector]).unwrap_or(1);
        let count = self.at_sector[common];
        let hint = (share(count) >= WORTH_SHIFTING).then(|| {
            format!(
                "{:.0} % of requests start at {common} mod 8 sectors: ‹shift {}› aligns them",
                share(count) * 100.0,
                ShiftBy(-(common as i64) * SECTOR as i64)
            )
        });
        AlignmentStats {
            aligned_share: Some(share(self.at_sector[0])),
            common_sector: (count > 0).then_some(common as u32),
            common_share: (count > 0).then(|| share(count)),
            hint,
        }
    }
}

//! The Linux PCMCIA driver's choice: greedy, and occasionally the least erased block, so that
//! static data are moved too (CAT paper, §7; DAC paper, "Related work").
//!
//! The driver, `ftl.c` by David Hinds, takes the least erased block when its clock's tick count is
//! divisible by `shuffle_freq`, 50 by default: once in fifty cleanings on average. Here it is
//! exactly every fiftieth, so that a run depends on nothing but its input. The driver also moves
//! blocks without garbage. Here a block must be a candidate, because moving a full one frees
//! nothing.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::BlockId;

use super::{Victim, VictimEntry};
use crate::{BlockView, ParamError, PolicyInfo, Side, params};

params! {
    /// Parameters of [`LinuxFtl`].
    pub struct LinuxFtlParams {
        /// Each cleaning of this number takes the block erased least, at least 1.
        every: u32 = 50,
    }
}

pub(super) const ENTRY: VictimEntry = VictimEntry {
    info: PolicyInfo {
        name: "linux-ftl",
        aliases: &[],
        source: "CAT paper §7; Hinds, Linux PCMCIA package, ftl.c",
        summary: "greedy, every 50th time the block erased least; even wear by rule of thumb",
        params: LinuxFtlParams::info,
    },
    build: |args, _| {
        let p = LinuxFtlParams::read(args)?;
        if p.every == 0 {
            return Err(ParamError::Value {
                key: "every".into(),
                value: "0".into(),
                expected: "at least 1".into(),
            });
        }
        Ok(Box::new(LinuxFtl {
            every: p.every,
            until: p.every,
            by_valid: 0,
            by_erases: 0,
            unanswered: false,
        }))
    },
};

/// Picks the block with the fewest valid pages, or at times the least erased one; the lowest number
/// among equals.
#[derive(Clone, Copy, Debug)]
pub struct LinuxFtl {
    every: u32,
    /// Number of choices up to and including the next one by erases.
    until: u32,
    by_valid: u64,
    by_erases: u64,
    /// Whether the outcome of the last choice is still unknown.
    unanswered: bool,
}

impl Victim for LinuxFtl {
    fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
        let greedy = blocks.lightest()?;
        self.unanswered = true;
        self.until -= 1;
        if self.until > 0 {
            self.by_valid += 1;
            return Some(greedy);
        }
        self.until = self.every;
        self.by_erases += 1;
        blocks.by_side()
    }

    fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
        (f64::from(valid), 1.0)
    }

    fn side(&self) -> Option<Side> {
        Some(Side::LeastErased)
    }

    fn answered(&mut self, cleaned: bool) {
        if !core::mem::take(&mut self.unanswered) || cleaned {
            return;
        }
        // The counter is at its start only if the choice was by erases.
        if self.until == self.every {
            self.until = 1;
            self.by_erases -= 1;
        } else {
            self.until += 1;
            self.by_valid -= 1;
        }
    }

    fn choices(&self) -> Vec<(&'static str, u64)> {
        vec![("least-valid", self.by_valid), ("least-erased", self.by_erases)]
    }
}

//! The Linux PCMCIA driver's choice: greedy, and now and then the block erased least, so that data
//! that lie still are moved too (CAT paper, §7; DAC paper, "Related work").
//!
//! The driver, `ftl.c` by David Hinds, takes the least erased block when its clock's tick count
//! divides by `shuffle_freq`, 50 by default: once in fifty cleanings on average. Here it
//! is every fiftieth, so that a run depends on nothing but its input. The driver moves blocks
//! without garbage as well; here a block must be a candidate, for moving a full one frees nothing.

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

/// Picks the block with the least valid pages, at times the one erased least; the lowest number
/// among equals.
#[derive(Clone, Copy, Debug)]
pub struct LinuxFtl {
    every: u32,
    /// Choices up to and including the next one by erases.
    until: u32,
    by_valid: u64,
    by_erases: u64,
    /// Whether it is open yet what became of the last choice.
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
        // Only a choice by erases leaves all of them to come.
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

//! M2, one segment cleaning with age sorting: survivors are written youngest first
//! (CAT paper, §6.1.1; Rosenblum and Ousterhout 1992).
//!
//! With one block cleaned at a time its counts equal M1's exactly.

use alloc::{vec, vec::Vec};

use thermocline_flash::{Lpn, prefetch};

use super::{Placement, Registered, sorter::Sorter};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// Sorts survivors by their last host write.
#[derive(Clone, Debug)]
pub struct AgeSort {
    last_write: Vec<u64>,
    scratch: Sorter,
}

impl Placement for AgeSort {
    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn sorts(&self) -> bool {
        true
    }

    #[inline(always)]
    fn common_stream(&self) -> Option<u8> {
        Some(0)
    }

    fn filled(&mut self, lpn: Lpn, now: u64) {
        self.last_write[lpn.index()] = now;
    }

    #[inline(always)]
    fn written(&mut self, lpn: Lpn, now: u64) {
        self.last_write[lpn.index()] = now;
    }

    fn order(&mut self, survivors: &mut [Lpn], _now: u64) {
        let Self { last_write, scratch } = self;
        scratch.descending(survivors, |lpn| last_write[lpn.index()]);
    }

    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.last_write, lpn.index());
    }
}

impl Registered for AgeSort {
    const INFO: PolicyInfo = PolicyInfo {
        name: "age-sort",
        aliases: &["m2", "M2"],
        source: "CAT paper §6.1.1, M2; Rosenblum and Ousterhout 1992",
        summary: "survivors sorted by age into one stream; what LFS does, of no effect on counts \
                  when one block is cleaned at a time",
        params: NoParams::info,
    };

    fn build(args: &Args, context: &Context) -> Result<Self, ParamError> {
        NoParams::read(args)?;
        Ok(Self { last_write: vec![0; context.logical_pages as usize], scratch: Sorter::default() })
    }
}

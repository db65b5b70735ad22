//! M2, one segment cleaning with age sorting: survivors are written youngest first (CAT paper,
//! §6.1.1; Rosenblum and Ousterhout 1992).
//!
//! With one block cleaned at a time its counts equal those of M1 exactly.

use thermocline_flash::Lpn;

use super::{
    Answer, HostWrite, Placement, Registered, Streams, Survivors, Traits, contract::in_a_word,
    sorter::Sorter,
};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// Sorts survivors by their last host write.
#[derive(Clone, Debug, Default)]
pub struct AgeSort {
    scratch: Sorter,
}

/// Time of the last host write of a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written(u64);

in_a_word!(Written: Word, false);

impl Streams for AgeSort {
    #[inline(always)]
    fn traits(&self) -> Traits {
        Traits { sorts: true, ..Traits::default() }
    }
}

impl Placement for AgeSort {
    type Page = Written;

    #[inline(always)]
    fn host_stream(&self) -> Option<u8> {
        Some(0)
    }

    #[inline(always)]
    fn host(&mut self, _: Written, _: &impl HostWrite) -> u8 {
        0
    }

    fn filled(&mut self, page: &mut Written, _: Lpn, now: u64) {
        *page = Written(now);
    }

    #[inline(always)]
    fn written(&mut self, page: &mut Written, _: Lpn, now: u64) {
        *page = Written(now);
    }

    #[inline(always)]
    fn survivor(&mut self, _: &mut Written, _: Lpn, _: u64) -> u8 {
        0
    }

    /// Youngest first, all to one stream.
    fn survivors(&mut self, survivors: &mut Survivors<'_, Written>) -> Answer {
        self.scratch.descending(survivors, |_, Written(last)| last);
        Answer::Together(0)
    }

    #[inline(always)]
    fn last_written(&self, Written(last): Written, _: Lpn) -> Option<u64> {
        Some(last)
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

    fn build(args: &Args, _: &Context) -> Result<Self, ParamError> {
        NoParams::read(args).map(|_| Self::default())
    }
}

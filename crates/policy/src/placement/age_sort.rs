//! M2, one segment cleaning with age sorting: survivors are written youngest first
//! (CAT paper, §6.1.1; Rosenblum and Ousterhout 1992).
//!
//! With one block cleaned at a time its counts equal M1's exactly.

use thermocline_flash::Lpn;

use super::{Kept, Placement, Registered, sorter::Sorter};
use crate::{Args, Context, ParamError, PolicyInfo, params::NoParams};

/// Sorts survivors by their last host write, which is the word of a page.
#[derive(Clone, Debug, Default)]
pub struct AgeSort {
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

    #[inline(always)]
    fn keeps(&self) -> Kept {
        Kept::Word
    }

    #[inline(always)]
    fn recalls(&self) -> bool {
        false
    }

    fn filled_word(&mut self, _lpn: Lpn, now: u64) -> u64 {
        now
    }

    #[inline(always)]
    fn written_word(&mut self, _lpn: Lpn, _word: u64, now: u64) -> u64 {
        now
    }

    fn order_words(&mut self, survivors: &mut [Lpn], words: &mut [u64], _now: u64) {
        self.scratch.descending(survivors, words, |_, word| word);
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

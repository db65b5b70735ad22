//! Requests as a placement sees them: runs of pages written one after the other in address order.
//! Schemes that count requests count runs.

use core::ops::Range;

use thermocline_flash::Lpn;

/// Maximum length of a run: no host sends longer requests (1 MiB of 4 KiB pages).
pub(super) const LONGEST: u32 = 256;

/// The run being written.
#[derive(Clone, Debug)]
pub(super) struct Runs(Range<u32>);

impl Runs {
    pub(super) const fn new() -> Self {
        Self(0..0)
    }

    /// Whether `lpn` follows the page written last.
    #[inline(always)]
    pub(super) fn goes_on_with(&self, lpn: Lpn) -> bool {
        lpn.0 == self.0.end && !self.0.is_empty()
    }

    /// Records the next page written; returns the run that it ended, if any.
    #[inline(always)]
    pub(super) fn written(&mut self, lpn: Lpn) -> Option<Range<u32>> {
        if self.goes_on_with(lpn) && self.0.len() < LONGEST as usize {
            self.0.end += 1;
            return None;
        }
        let ended = core::mem::replace(&mut self.0, lpn.0..lpn.0 + 1);
        (!ended.is_empty()).then_some(ended)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_run_ends_where_the_next_page_does_not_follow_or_it_grows_too_long() {
        let mut runs = Runs::new();
        assert!(!runs.goes_on_with(Lpn(0)), "nothing was written");
        let ended: Vec<_> =
            [0, 1, 2, 7, 7, 8].iter().filter_map(|&lpn| runs.written(Lpn(lpn))).collect();
        assert_eq!(ended, [0..3, 7..8]);
        assert!(runs.goes_on_with(Lpn(9)) && !runs.goes_on_with(Lpn(8)));
        let ended: Vec<_> = (9..600).filter_map(|lpn| runs.written(Lpn(lpn))).collect();
        assert_eq!(ended, [7..263, 263..519]);
    }
}

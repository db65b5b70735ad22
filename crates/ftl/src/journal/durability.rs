//! Sequence numbers of programs, and which of them are known to survive a loss of power.
//!
//! Invariants, where a layer has a journal:
//! * every page programmed with a number in `known`, or from `since` up to the watermark, survives as it
//!   was written, and the numbers of failed programs are in none of them;
//! * the first pages after a sync and the first page of each block carry the watermark, so that cleaning
//!   never erases the last one;
//! * after a failed program no page carries it until a head of the log, itself durable, has recorded
//!   the failed number.
//!
//! If nothing is programmed after a sync, background work records the watermark in the log, once a
//! minute at most ([`QUIET_NS`]). A simulation has no journal: its programs are only counted.

use alloc::vec::Vec;

use super::{
    index::record::{Interval, MOST_KNOWN},
    watermark::{EPOCH, watermark, with_watermark},
};

/// The least time between two records of the watermark in the log, in nanoseconds of the layer's clock.
const QUIET_NS: u64 = 60_000_000_000;

/// Pages after a sync that carry the watermark: one may be damaged, or lost.
const REPEATS: u8 = 8;

/// The count of programs and the watermark on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durability {
    /// Pages programmed so far, for whatever reason: the number of the last.
    programs: u64,
    /// The number of coming host pages that carry the watermark.
    carries: u8,
    /// Whether a journal records any of this.
    is_journaled: bool,
    /// Durable numbers of before this mount; the last interval may be this mount's own.
    known: Vec<Interval>,
    /// The first number since the last mount after a crash, or since a program failed.
    since: u64,
    /// The watermark: every program from `since` up to it is durable. 0 for none of this mount.
    watermark: u64,
    /// The watermark that the log has recorded, and when the background did so.
    recorded: u64,
    recorded_at: Option<u64>,
    /// A program failed, and its record in the log is missing, or not durable: no page carries the
    /// watermark.
    suppressed: bool,
    /// The number of programs when the log recorded the failure.
    failure_recorded: Option<u64>,
    /// A mount learned watermarks from pages that may be erased before the log records them.
    unrecorded: bool,
}

impl Durability {
    /// Of an empty device with a journal.
    pub(crate) fn formatted() -> Self {
        Self { is_journaled: true, ..Self::default() }
    }

    /// After a mount: `unrecorded` if it learned watermarks from pages that the log does not have.
    pub(crate) fn mounted(
        programs: u64,
        since: u64,
        known: Vec<Interval>,
        unrecorded: bool,
    ) -> Self {
        Self { programs, since, known, unrecorded, ..Self::formatted() }
    }

    /// Pages programmed so far.
    #[inline(always)]
    pub(crate) const fn programs(&self) -> u64 {
        self.programs
    }

    /// Pages were programmed that were numbered one after another without a watermark.
    #[inline(always)]
    pub(crate) const fn set_programs(&mut self, programs: u64) {
        self.programs = programs;
    }

    /// A page of the log takes the next number.
    pub(crate) const fn take_number(&mut self) {
        self.programs += 1;
    }

    /// The sequence number of the page that is programmed next.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.programs += 1;
        if self.carries > 0 { self.next_with_watermark() } else { self.programs }
    }

    #[cold]
    fn next_with_watermark(&mut self) -> u64 {
        self.carries -= 1;
        let sequence = with_watermark(self.programs, self.watermark);
        // Rounded down below what this mount, or the time since a failure, can speak of.
        if watermark(sequence).is_some_and(|durable| durable >= self.since) {
            sequence
        } else {
            self.programs
        }
    }

    /// The chip was synced after `programs` programs.
    pub(crate) fn synced(&mut self, programs: u64) {
        if !self.is_journaled || programs <= self.watermark || programs < self.since {
            return;
        }
        // A sync that was begun after the failure was recorded made the record durable.
        if self.failure_recorded.is_some_and(|recorded| programs > recorded) {
            (self.suppressed, self.failure_recorded) = (false, None);
        }
        self.watermark = programs;
        self.carries = if self.suppressed { 0 } else { REPEATS };
    }

    /// A block was opened: its first page repeats the watermark.
    pub(crate) fn block_opened(&mut self) {
        if self.watermark > 0 && !self.suppressed {
            self.carries = self.carries.max(1);
        }
    }

    /// The last program failed: whatever it left on the chip never counts as whole.
    #[cold]
    pub(crate) fn last_failed(&mut self) {
        self.carries = 0;
        if self.is_journaled {
            self.known.retain(|&(from, _)| from != self.since);
            if self.since < self.programs {
                self.known.push((self.since, self.programs - 1));
            }
            self.since = self.programs + 1;
            (self.suppressed, self.failure_recorded) = (true, None);
        }
    }

    /// The durable intervals, with what this mount knows: all up to `sequence`.
    fn known_up_to(&self, sequence: u64) -> Vec<Interval> {
        let mut known = self.known.clone();
        known.retain(|&(from, _)| from != self.since);
        // Always the last, be it empty: a clean mount goes on with it.
        known.push((self.since, sequence));
        // Of intervals that are forgotten the pages are looked at once more.
        let extra = known.len().saturating_sub(MOST_KNOWN);
        known.drain(..extra);
        known
    }

    /// The durable intervals if the chip were synced now.
    pub(crate) fn known_now(&self) -> Vec<Interval> {
        self.known_up_to(self.programs)
    }

    /// The durable intervals as the log recorded them last, without later syncs.
    pub(crate) fn known_before(&self) -> &[Interval] {
        &self.known
    }

    /// The durable intervals with the watermark.
    pub(crate) fn known(&self) -> Vec<Interval> {
        // Of this mount nothing may be known to be durable yet.
        if self.watermark < self.since {
            self.known.clone()
        } else {
            self.known_up_to(self.watermark)
        }
    }

    /// A head of the log records [what is known now](Self::known_now): all before it is on the chip.
    pub(crate) fn head_recorded(&mut self, known: Vec<Interval>) {
        self.known = known;
        self.failure_recorded = self.suppressed.then_some(self.programs);
        self.watermark_recorded();
    }

    /// The log has recorded the watermark, and what a mount learned.
    pub(crate) const fn watermark_recorded(&mut self) {
        self.unrecorded = false;
        self.recorded = self.watermark;
    }

    /// The background has recorded it.
    pub(crate) const fn recorded_at(&mut self, now: u64) {
        self.recorded_at = Some(now);
    }

    /// Whether no page carries the watermark, for a program failed.
    pub(crate) const fn is_suppressed(&self) -> bool {
        self.suppressed
    }

    /// Whether the log has to record what a mount learned before anything is erased.
    pub(crate) const fn is_unrecorded(&self) -> bool {
        self.unrecorded
    }

    /// Whether only data pages, not the log, carry the newest watermark.
    pub(crate) const fn is_ahead_of_log(&self) -> bool {
        self.recorded < self.watermark && !self.suppressed
    }

    /// Whether the background should record the watermark: nothing was programmed since the last sync
    /// that could carry it, the log does not have it, and the last time was not a moment ago.
    pub(crate) fn is_record_due(&self, now: u64) -> bool {
        let is_due = self.recorded_at.is_none_or(|then| now.saturating_sub(then) >= QUIET_NS);
        let is_news = self.watermark == self.programs && self.recorded < self.watermark;
        is_due && is_news && !self.suppressed
    }
}

/// Adds to the known intervals what pages carried: `watermarks` are the greatest of each epoch. Whether
/// anything was new.
pub(crate) fn learn(known: &mut Vec<Interval>, watermarks: &[u64]) -> bool {
    learn_in_epochs_of(EPOCH, known, watermarks)
}

fn learn_in_epochs_of(epoch: u64, known: &mut Vec<Interval>, watermarks: &[u64]) -> bool {
    known.sort_unstable();
    let before = known.clone();
    for &durable in watermarks {
        // There was a crash between numbers of two epochs, or there may have been.
        let same = known.iter_mut().filter(|(_, to)| to / epoch == durable / epoch);
        match same.max_by_key(|(_, to)| *to) {
            Some((from, to)) => {
                if durable >= *from {
                    *to = durable.max(*to);
                }
            }
            None => known.push((durable / epoch * epoch, durable)),
        }
    }
    known.sort_unstable();
    let extra = known.len().saturating_sub(MOST_KNOWN);
    known.drain(..extra);
    *known != before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermarks_of_another_epoch_prolong_no_interval() {
        let mut known = alloc::vec![(0, 10), (12, 40)];
        assert!(learn_in_epochs_of(100, &mut known, &[50, 108]));
        assert_eq!(known, [(0, 10), (12, 50), (100, 108)]);
        assert!(!learn_in_epochs_of(100, &mut known, &[45]), "what is known is not learned");
    }
}

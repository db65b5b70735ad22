//! What is known to last, written beside the pages themselves.
//!
//! Problem. After a crash a page whose payload cannot be read was either cut off, and the copy before it
//! counts, or it was flushed and has faded since, and an older copy must not pass for it. Idea. The
//! first page programmed after a sync says so: the highest bits of its sequence number tell up to
//! which number everything lasts. Such a page costs nothing, and proves what it says by being there.
//! Consequence. A mount takes the greatest such word of each run of numbers for known. Blocks opened
//! later repeat it, so that cleaning never erases the last one. Where nothing is programmed after a flush
//! the log says it instead, in the background and once a minute at most ([`QUIET_NS`]).
//!
//! After a program that failed nothing is said until the log has told which number does not count.

use alloc::vec::Vec;

use thermocline_flash::Chip;
use thermocline_policy::placement::Placement;

use super::{
    PageMapped,
    index::{
        Index, Interval, Kind,
        record::{Header, MOST_KNOWN},
    },
    mount::EPOCH,
};
use crate::FtlError;

/// Bits of a sequence number that are the number: what is above is the word.
const NUMBER_BITS: u32 = 52;
/// Distances below two to the power of one more are exact, others rounded up to this power of steps a
/// doubling.
const STEPS_BITS: u32 = 7;

/// The least time between two words in the log, in nanoseconds of the layer's clock.
const QUIET_NS: u64 = 60_000_000_000;

/// The number in the sequence number beside a page of data; above it may stand up to where everything
/// lasts.
#[must_use]
pub const fn number(sequence: u64) -> u64 {
    sequence & ((1 << NUMBER_BITS) - 1)
}

/// A sequence number that says that everything up to `lasting` lasts, or something close below it.
fn with_word(number: u64, lasting: u64) -> u64 {
    let distance = number.saturating_sub(lasting).max(1);
    let steps = 1_u64 << STEPS_BITS;
    let code = if distance < 2 * steps {
        distance
    } else {
        let shift = (distance.ilog2() - STEPS_BITS) as u64;
        let mantissa = distance.div_ceil(1 << shift);
        // Rounded up to the next power of two, it is the first step of the next doubling.
        shift * steps + mantissa
    };
    if code >> (u64::BITS - NUMBER_BITS) != 0 { number } else { code << NUMBER_BITS | number }
}

/// Up to which number everything lasts, if a page's sequence number says so. Of an earlier mount
/// than its own no page speaks: what seems to was rounded too far.
pub(super) fn word(sequence: u64) -> Option<u64> {
    let code = sequence >> NUMBER_BITS;
    let steps = 1_u64 << STEPS_BITS;
    let distance = match code {
        0 => return None,
        code if code < 2 * steps => code,
        code => (steps + code % steps) << (code / steps - 1),
    };
    let said = number(sequence).checked_sub(distance)?;
    (said / EPOCH == number(sequence) / EPOCH).then_some(said)
}

/// What a layer with a log knows of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lasting {
    /// Everything up to this number lasts; 0 for nothing of this mount.
    synced: u64,
    /// What the log has said of it, and when.
    told: u64,
    told_at: Option<u64>,
    /// A program failed, and the log does not tell yet, or what tells does not last yet.
    is_mute: bool,
    /// How much had been programmed when the log told of the failure.
    told_failure: Option<u64>,
    /// A mount learned something from pages that may be erased before the log says it.
    owes: bool,
}

impl Lasting {
    /// After a mount that learned from pages what the log does not say.
    pub(super) fn owing(owes: bool) -> Self {
        Self { owes, ..Self::default() }
    }

    /// A program failed.
    pub(super) fn failed(&mut self) {
        (self.is_mute, self.told_failure) = (true, None);
    }

    /// The log tells all that is known, after so many programs.
    pub(super) fn all_told(&mut self, programs: u64) {
        self.told_failure = self.is_mute.then_some(programs);
        self.owes = false;
        self.told = self.synced;
    }

    /// The chip was synced after so many programs: of a sync that was begun later than the log told of
    /// a failure, what tells lasts.
    fn synced(&mut self, programs: u64) {
        if self.told_failure.is_some_and(|told| programs > told) {
            (self.is_mute, self.told_failure) = (false, None);
        }
        self.synced = programs;
    }
}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// The chip was synced after so many programs.
    pub(super) fn note_lasting(&mut self, programs: u64) {
        if let Some(index) = &mut self.index {
            let lasting = &mut index.word;
            if programs > lasting.synced && programs >= index.since {
                lasting.synced(programs);
                self.says = !lasting.is_mute;
            }
        }
    }

    /// A block was opened: its first page repeats the word.
    pub(super) fn repeat_lasting(&mut self) {
        let word = self.index.as_ref().map(|index| index.word);
        self.says = word.is_some_and(|word| word.synced > 0 && !word.is_mute);
    }

    /// The number of the page that is programmed next, with the word.
    #[cold]
    pub(super) fn number_with_word(&mut self) -> u64 {
        self.says = false;
        let Some(index) = &self.index else { return self.programs };
        let sequence = with_word(self.programs, index.word.synced);
        // Rounded down below what this mount, or the time since a failure, can speak of.
        if word(sequence).is_some_and(|said| said >= index.since) {
            sequence
        } else {
            self.programs
        }
    }

    /// Before an erase: what a mount learned from pages stands in the log.
    pub(super) fn pay_word(&mut self, index: &mut Index) -> Result<(), FtlError> {
        if index.word.owes { self.write_word(index) } else { Ok(()) }
    }

    /// Where nothing was programmed since the last sync, the log says that it was one. False if there
    /// is nothing to say, or it was said a moment ago.
    pub(super) fn tell_lasting(&mut self, now: u64) -> Result<bool, FtlError> {
        let Some(index) = &self.index else { return Ok(false) };
        let word = index.word;
        let is_due = word.told_at.is_none_or(|then| now.saturating_sub(then) >= QUIET_NS);
        let has_news = word.synced == self.programs && word.told < word.synced;
        if !is_due || !has_news || word.is_mute || index.asleep || self.writable == 0 {
            return Ok(false);
        }
        self.with_index(|layer, index| {
            index.time = now;
            layer.keep_log_room(index)?;
            layer.write_word(index)?;
            index.word.told_at = Some(now);
            Ok(())
        })?;
        Ok(true)
    }

    fn write_word(&mut self, index: &mut Index) -> Result<(), FtlError> {
        if index.word.is_mute {
            // What was programmed before a failure is among what is known, and may not last yet.
            self.chip.sync()?;
        }
        self.log(index, Kind::InUse, |layer, index, page| {
            // Of this mount nothing may be known to last yet.
            let synced = index.word.synced;
            let known =
                if synced < index.since { index.known.clone() } else { index.known_up_to(synced) };
            page.in_use(&Header::plain(Kind::InUse, layer.programs), &known);
        })?;
        index.word.owes = false;
        index.word.told = index.word.synced;
        Ok(())
    }
}

/// Adds to the known intervals what pages said: `words` are the greatest of each run of 2^32 numbers.
/// Whether anything was new.
pub(super) fn learn(known: &mut Vec<Interval>, words: &[u64], epoch: u64) -> bool {
    known.sort_unstable();
    let before = known.clone();
    for &word in words {
        // A crash lies between numbers of two such runs, or nobody knows that none does.
        let same = known.iter_mut().filter(|(_, to)| to / epoch == word / epoch);
        match same.max_by_key(|(_, to)| *to) {
            Some((from, to)) => {
                if word >= *from {
                    *to = word.max(*to);
                }
            }
            None => known.push((word / epoch * epoch, word)),
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
    fn a_word_says_no_more_than_is_true_and_little_less() {
        for number in [1_u64, 2, 300, 5000, 3 << 31, (1 << 45) + (1 << 30) + 12_345] {
            for lasting in (0..70).map(|n| number.saturating_sub(n * n * n * 7 + n)) {
                let sequence = with_word(number, lasting);
                assert_eq!(super::number(sequence), number);
                let says = word(sequence).unwrap_or(0);
                assert!(says <= lasting.min(number - 1), "{number}, {lasting}: {says}");
                let distance = (number - lasting).max(1);
                assert!(number - says <= distance + distance / 64, "{number}, {lasting}: {says}");
                assert!(distance > 255 || says == number - distance, "{number}, {lasting}: {says}");
            }
        }
        assert_eq!(word(77), None, "most numbers say nothing");
    }

    #[test]
    fn a_word_never_speaks_of_an_earlier_mount() {
        for epoch in [EPOCH, 5 * EPOCH] {
            for lasting in (0..200).map(|n| epoch + n) {
                for number in (0..60).map(|n| lasting + 1 + n * n * n) {
                    let said = word(with_word(number, lasting));
                    assert!(
                        said.is_none_or(|said| (epoch..=lasting).contains(&said)),
                        "{number}, {lasting}: {said:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn words_of_another_run_of_numbers_prolong_no_interval() {
        let mut known = alloc::vec![(0, 10), (12, 40)];
        assert!(learn(&mut known, &[50, 108], 100));
        assert_eq!(known, [(0, 10), (12, 50), (100, 108)]);
        assert!(!learn(&mut known, &[45], 100), "what is known is not learned");
    }
}

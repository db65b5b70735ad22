//! Which programs are durable, by the areas of pages. After a crash an unreadable page was either cut off, and
//! the copy before it counts, or it was flushed and is damaged, and then no older copy may replace it.
//!
//! Each page records the programs since the mount, or since one failed: the first, and the last that a sync has
//! covered. A mount says nothing about earlier programs, which a loss of power may have cut off. Both numbers are in
//! the high bits of the area's time, as distances from the page's own number, 12 bits each.

/// Bits of a distance.
const BITS: u32 = 12;
/// Distances up to two to the power of one more are exact, others in that power of steps a doubling.
const STEPS_BITS: u32 = 7;
const STEPS: u64 = 1 << STEPS_BITS;
/// Bits of the time, which is in steps of two to the power of [`TIME_STEP`] nanoseconds: a millisecond, about.
const TIME_BITS: u32 = 64 - 2 * BITS;
const TIME_STEP: u32 = 20;
/// The least time between two pages that background work writes to record a sync, in nanoseconds.
const QUIET_NS: u64 = 60_000_000_000;

/// The programs known to be durable.
#[derive(Clone, Debug, Default)]
pub(super) struct Lasting {
    /// First and last numbers, of programs without a mount or a failure between them.
    known: Vec<(u64, u64)>,
    /// The first program of those that are being done now.
    began: Option<u64>,
    /// The last one of these up to which all last.
    until: u64,
    /// The last one.
    last: u64,
    /// The number up to which a page has recorded durability.
    told: u64,
    /// When background work last recorded it.
    told_at: Option<u64>,
}

impl Lasting {
    /// Begins a new range of programs: after a mount or a failed program.
    pub(super) const fn begin(&mut self) {
        self.began = None;
    }

    /// Programs up to that number last.
    pub(super) fn synced(&mut self, number: u64) {
        self.until = self.until.max(number.min(self.last));
    }

    /// All that was programmed so far lasts.
    pub(super) fn all_synced(&mut self) {
        self.until = self.last;
    }

    /// The time field of the area of that program.
    pub(super) fn program(&mut self, number: u64, time_ns: u64) -> u64 {
        let began = *self.began.get_or_insert(number);
        self.last = number;
        let time = (time_ns >> TIME_STEP).min((1 << TIME_BITS) - 1);
        let (until, began) = match self.until >= began {
            true => (above(number.saturating_sub(self.until)), below(number - began)),
            false => (0, 0),
        };
        if until > 0 {
            self.told = number.saturating_sub(distance(until));
        }
        (until << BITS | began) << TIME_BITS | time
    }

    /// Whether to record the last sync in a page: nothing was programmed after it, and the last record is old enough.
    pub(super) fn is_record_due(&mut self, now: u64) -> bool {
        let is_news =
            self.until == self.last && self.began.is_some_and(|began| began <= self.until);
        let is_late = self.told_at.is_none_or(|then| now.saturating_sub(then) >= QUIET_NS);
        let is_due = is_news && is_late && self.told < self.until;
        if is_due {
            self.told_at = Some(now);
        }
        is_due
    }

    /// Takes the record of a page. Returns its time.
    pub(super) fn learn(&mut self, number: u64, beside: u64) -> u64 {
        if let Some((from, until)) = told(number, beside) {
            self.add(from, until);
        }
        time_ns(beside)
    }

    /// The program of that number lasted, whatever became of its page.
    pub(super) fn lasted(&mut self, number: u64) {
        self.add(number, number);
    }

    fn add(&mut self, from: u64, until: u64) {
        if until < from || self.has(from) && self.has(until) {
            return;
        }
        let overlaps = |&(first, last): &(u64, u64)| first <= until + 1 && from <= last + 1;
        let mut all = (from, until);
        for known in self.known.extract_if(.., |known| overlaps(known)) {
            all = (all.0.min(known.0), all.1.max(known.1));
        }
        self.known.push(all);
    }

    /// Whether the program of that number lasts.
    pub(super) fn has(&self, number: u64) -> bool {
        self.known.iter().any(|known| (known.0..=known.1).contains(&number))
    }
}

/// The durable programs by the area of a page, if it records any.
pub(super) fn told(number: u64, beside: u64) -> Option<(u64, u64)> {
    let code = beside >> TIME_BITS;
    let (until, began) = (code >> BITS, code & ((1 << BITS) - 1));
    let of = |code| number.saturating_sub(distance(code));
    (until > 0).then(|| (of(began), of(until)))
}

/// The latest possible time of an area's time field, in nanoseconds.
pub(super) const fn time_ns(beside: u64) -> u64 {
    let time = beside & ((1 << TIME_BITS) - 1);
    if time == 0 { 0 } else { time << TIME_STEP | ((1 << TIME_STEP) - 1) }
}

/// A distance in 12 bits, rounded down.
fn below(distance: u64) -> u64 {
    if distance < 2 * STEPS {
        return distance;
    }
    let shift = u64::from(distance.ilog2() - STEPS_BITS);
    (shift * STEPS + (distance >> shift)).min((1 << BITS) - 1)
}

/// A distance in 12 bits, rounded up; 0 if it is too great.
fn above(distance: u64) -> u64 {
    let code = below(distance);
    let code = if self::distance(code) < distance { code + 1 } else { code };
    if code >> BITS == 0 { code } else { 0 }
}

fn distance(code: u64) -> u64 {
    if code < 2 * STEPS { code } else { (STEPS + code % STEPS) << (code / STEPS - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_rounded_to_the_safe_side_and_little() {
        for exponent in 0..38 {
            for more in [0, 1, 77, 12_345] {
                let number = (1_u64 << exponent) + more;
                let (low, high) = (distance(below(number)), distance(above(number)));
                assert!(low <= number && number - low <= number / 100, "{number}: {low}");
                assert!(high >= number && high - number <= number / 100, "{number}: {high}");
            }
        }
        assert_eq!(above(1 << 39), 0, "it says nothing");
    }

    #[test]
    fn times_of_years_are_kept_and_those_beyond_are_the_last_that_there_is() {
        const DAY: u64 = 86_400_000_000_000;
        let mut writer = Lasting::default();
        writer.program(1, 0);
        writer.all_synced();
        for (number, days) in (2..).zip([1, 53, 400, 12_000, 200_000]) {
            let beside = writer.program(number, days * DAY);
            let time = time_ns(beside);
            assert!(time >= (days * DAY).min(13_000 * DAY) && told(number, beside) == Some((1, 1)));
        }
    }

    #[test]
    fn nothing_is_said_of_programs_before_a_mount_or_behind_a_sync() {
        let mut writer = Lasting::default();
        assert_eq!(writer.program(1000, 0), 0, "nothing lasts yet");
        writer.program(1001, 0);
        writer.synced(1001);
        let one = writer.program(1002, 5 << 20);
        writer.begin();
        let other = writer.program(1500, 7 << 20);
        writer.all_synced();
        let last = writer.program(9000, 9 << 20);
        let mut reader = Lasting::default();
        assert_eq!(reader.learn(1002, one) >> 20, 5);
        assert_eq!(reader.learn(1500, other) >> 20, 7);
        let lasts = |reader: &Lasting| [999, 1000, 1001, 1002, 1499, 1500].map(|n| reader.has(n));
        assert_eq!(lasts(&reader), [false, true, true, false, false, false]);
        reader.learn(9000, last);
        assert!(!reader.has(1499) && !reader.has(1501));
        assert!(!reader.has(9000));
    }
}

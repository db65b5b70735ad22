//! The time written into directory entries: the host's, counted from 2008.

use crate::host::Nanoseconds;
use fatfs::{Date, DateTime, Time, TimeProvider};
use std::cell::Cell;

thread_local! {
    /// The current time. `fatfs` requires a clock with a static lifetime and cannot ask a
    /// particular host, so the host sets this before each operation.
    static NOW: Cell<Nanoseconds> = const { Cell::new(0) };
}

/// The clock passed to `fatfs`.
#[derive(Debug)]
pub(crate) struct HostClock;

pub(crate) static HOST_CLOCK: HostClock = HostClock;

pub(crate) fn set(now: Nanoseconds) {
    NOW.set(now);
}

/// The year of the experiments in the thesis.
const FIRST_YEAR: u64 = 2008;

impl TimeProvider for HostClock {
    fn get_current_date(&self) -> Date {
        let (mut year, mut day) = (FIRST_YEAR, NOW.get() / 86_400_000_000_000);
        while day >= days_of(year) && year < 2107 {
            day -= days_of(year);
            year += 1;
        }
        let mut month = 1;
        while month < 12 && day >= days_in(year, month) {
            day -= days_in(year, month);
            month += 1;
        }
        // Beyond the range of FAT dates the clock stays at the last day.
        Date { year: year as u16, month: month as u16, day: day.min(30) as u16 + 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        let millis = NOW.get() / 1_000_000 % 86_400_000;
        let time = Time {
            hour: (millis / 3_600_000) as u16,
            min: (millis / 60_000 % 60) as u16,
            sec: (millis / 1000 % 60) as u16,
            millis: (millis % 1000) as u16,
        };
        DateTime { date: self.get_current_date(), time }
    }
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64) -> u64 {
    365 + u64::from(leap(year))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let day = 86_400_000_000_000;
        for (days, year, month, of_month) in [
            (0, 2008, 1, 1),
            (59, 2008, 2, 29),
            (60, 2008, 3, 1),
            (365, 2008, 12, 31),
            (366, 2009, 1, 1),
        ] {
            set(days * day + day - 1);
            let now = HOST_CLOCK.get_current_date_time();
            assert_eq!((now.date.year, now.date.month, now.date.day), (year, month, of_month));
            assert_eq!((now.time.hour, now.time.min, now.time.sec), (23, 59, 59));
        }
    }
}

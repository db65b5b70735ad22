//! Lifetime of the flash, extrapolated from the erases of a run.
//!
//! A lifetime follows from the mean erase count. An integer median would be equal for policies that
//! differ by half, and zero if most blocks are not erased. Time is that of the arrivals or the
//! user's rate. With the device's own time, an overloaded device with the worst policy would live
//! longest.

/// A device is overloaded if it is busy for more than this multiple of the trace's duration.
const OVERLOADED: f64 = 1.05;

/// Number of requests that may be outstanding at the last arrival, as many as a host queues: a
/// short burst is no overload.
const QUEUED: f64 = 32.0;

/// The warranty period for drive writes per day.
const WARRANTY_DAYS: f64 = 5.0 * 365.25;

/// Nanoseconds of a day.
pub(crate) const DAY_NS: f64 = 86400e9;

/// Days of a year.
pub(crate) const YEAR_DAYS: f64 = 365.25;

/// The data from which a lifetime is extrapolated.
pub(crate) struct Life<'a> {
    /// Erases of each data block in the run.
    pub erases: &'a [u32],
    /// Rated endurance.
    pub endurance: u32,
    /// By how much the device programs, and so erases, more than was counted.
    pub more_programs: f64,
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Bytes the device exports.
    pub logical_bytes: u64,
    /// Duration of the run, without the initial wait.
    pub elapsed_ns: u64,
    /// The last arrival, with arrivals.
    pub arrivals_ns: Option<u64>,
    /// Requests of the run.
    pub requests: u64,
    /// Bytes a day as given by the user.
    pub daily_writes: Option<u64>,
}

impl Life<'_> {
    /// How often the run fits into the life of a block with this many erases in the run.
    fn runs(&self, erases: f64) -> Option<f64> {
        (erases > 0.0).then(|| f64::from(self.endurance) / (erases * self.more_programs))
    }

    /// How often the run fits into the life of the most erased block.
    pub(crate) fn first_block(&self) -> Option<f64> {
        self.runs(f64::from(self.erases.iter().copied().max().unwrap_or(0)))
    }

    /// How often the run fits into the life of the median block.
    pub(crate) fn median_block(&self) -> Option<f64> {
        let mut sorted = self.erases.to_vec();
        sorted.sort_unstable();
        self.runs(f64::from(sorted.get(sorted.len() / 2).copied().unwrap_or(0)))
    }

    /// All erases of the run.
    pub(crate) fn total_erases(&self) -> u64 {
        self.erases.iter().map(|&erases| u64::from(erases)).sum()
    }

    /// Whether there are fewer erases than blocks.
    pub(crate) fn few_erases(&self) -> bool {
        self.total_erases() < self.erases.len() as u64
    }

    /// Bytes that the host can write until the mean erase count reaches the endurance.
    pub(crate) fn tbw_bytes(&self) -> Option<f64> {
        let runs = self.runs(self.total_erases() as f64 / self.erases.len() as f64);
        runs.map(|runs| runs * self.host_bytes as f64)
    }

    /// The same as full-device writes per day over the warranty period.
    pub(crate) fn dwpd(&self) -> Option<f64> {
        self.tbw_bytes().map(|bytes| bytes / self.logical_bytes as f64 / WARRANTY_DAYS)
    }

    /// Bytes that the host writes in a day: as given by the user, or by the arrivals.
    pub(crate) fn bytes_per_day(&self) -> Option<f64> {
        let own = || {
            let ns = self.arrivals_ns.filter(|&ns| ns > 0)?;
            Some(self.host_bytes as f64 / (ns as f64 / DAY_NS))
        };
        self.daily_writes.map(|bytes| bytes as f64).or_else(own).filter(|&bytes| bytes > 0.0)
    }

    fn at_this_rate(&self, bytes: Option<f64>) -> Option<f64> {
        bytes.zip(self.bytes_per_day()).map(|(bytes, a_day)| bytes / a_day / YEAR_DAYS)
    }

    /// Years until the mean erase count reaches the endurance, at this rate.
    pub(crate) fn years(&self) -> Option<f64> {
        self.at_this_rate(self.tbw_bytes())
    }

    /// Years until the most erased block reaches the endurance, at this rate.
    pub(crate) fn most_worn_years(&self) -> Option<f64> {
        self.at_this_rate(self.first_block().map(|runs| runs * self.host_bytes as f64))
    }

    /// The time that the device needs, relative to the time of the arrivals.
    pub(crate) fn time_factor(&self) -> Option<f64> {
        let arrivals = self.arrivals_ns.filter(|&ns| ns > 0)?;
        Some(self.elapsed_ns as f64 / arrivals as f64)
    }

    /// Whether the device cannot keep up with the arrivals.
    pub(crate) fn overloaded(&self) -> bool {
        // Number of requests served after the last arrival, at the pace of the run.
        let left = |factor: f64| (1.0 - 1.0 / factor) * self.requests as f64;
        self.time_factor().is_some_and(|factor| factor > OVERLOADED && left(factor) > QUEUED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    /// Ten blocks of 100,000 cycles on a device of 4 GB that the host wrote once in a day.
    fn life(erases: &[u32]) -> Life<'_> {
        Life {
            erases,
            endurance: 100_000,
            more_programs: 1.0,
            host_bytes: 4_000_000_000,
            logical_bytes: 4_000_000_000,
            elapsed_ns: DAY,
            arrivals_ns: Some(DAY),
            requests: 1_000_000,
            daily_writes: None,
        }
    }

    #[test]
    fn years_follow_from_the_mean_and_not_from_the_median() {
        // The same median, and half as many erases again.
        let (few, many) = ([1, 1, 1, 1], [1, 1, 1, 3]);
        let (few, many) = (life(&few), life(&many));
        assert_eq!(few.median_block(), many.median_block());
        let years = |life: &Life<'_>| life.years().expect("erased");
        assert!((years(&few) - 100_000.0 / YEAR_DAYS).abs() < 1e-9);
        assert!((years(&few) / years(&many) - 1.5).abs() < 1e-12);
        // Total endurance over the mean erase rate.
        let rate_a_year = many.total_erases() as f64 * YEAR_DAYS;
        assert!((years(&many) / (4.0 * 100_000.0 / rate_a_year) - 1.0).abs() < 1e-12);
        assert!(
            (many.most_worn_years().expect("erased") - 100_000.0 / 3.0 / YEAR_DAYS).abs() < 1e-9
        );
        // A lifetime exists even if the median block was never erased.
        let sparse = [0, 0, 0, 9];
        assert_eq!(life(&sparse).median_block(), None);
        assert!(life(&sparse).years().is_some());
    }

    #[test]
    fn endurance_is_told_in_the_units_in_which_storage_is_bought() {
        let erases = [2, 2];
        let life = Life { daily_writes: Some(50_000_000_000), ..life(&erases) };
        assert_eq!(life.tbw_bytes(), Some(4e9 * 50_000.0));
        assert!((life.dwpd().expect("erased") - 50_000.0 / (5.0 * 365.25)).abs() < 1e-9);
        assert_eq!(life.bytes_per_day(), Some(50e9));
        assert!((life.years().expect("erased") - 2e14 / 50e9 / 365.25).abs() < 1e-9);
    }

    #[test]
    fn on_the_devices_own_clock_there_are_no_years_unless_a_rate_is_given() {
        let erases = [1, 1];
        let own = Life { arrivals_ns: None, ..life(&erases) };
        assert_eq!((own.years(), own.bytes_per_day(), own.time_factor()), (None, None, None));
        assert!(own.tbw_bytes().is_some() && !own.overloaded());
        assert!(Life { daily_writes: Some(1), ..own }.years().is_some());
    }

    #[test]
    fn a_device_that_is_busy_after_the_trace_is_overloaded_and_lives_no_longer_for_it() {
        let erases = [1, 1];
        let late = Life { elapsed_ns: 3 * DAY, ..life(&erases) };
        assert!(late.overloaded() && late.time_factor() == Some(3.0));
        assert_eq!(late.years(), life(&erases).years());
        assert!(!life(&erases).overloaded());
        // Two thirds of the requests were outstanding at the last arrival: a queue, if they are
        // few.
        let of = |requests| Life { requests, elapsed_ns: 3 * DAY, ..life(&erases) };
        assert!(!of(2).overloaded() && !of(48).overloaded() && of(49).overloaded());
    }

    #[test]
    fn erases_are_few_until_each_block_had_one() {
        assert!(life(&[0, 1]).few_erases() && !life(&[1, 1]).few_erases());
        assert_eq!((life(&[0]).tbw_bytes(), life(&[0]).total_erases()), (None, 0));
    }
}

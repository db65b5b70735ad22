//! How worn the blocks are, and how long they last.

use crate::{
    facts::Facts,
    metric::{Format, Look, Trust, part},
};

/// How many times as long as the trace a device may be busy before it is overloaded.
const OVERLOADED: f64 = 1.05;

/// The warranty over which drive writes per day are counted.
const WARRANTY_DAYS: f64 = 5.0 * 365.25;

const DAY_NS: f64 = 86400e9;
const YEAR_DAYS: f64 = 365.25;

part! {
    /// Erase counts of all blocks since the fill.
    #[derive(Copy)]
    pub struct Wear ("wear (erases a block)") of facts {
        /// Mean erases of a block.
        pub mean: f64 = mean(&facts.erases) => Look::line("mean", Format::Fixed(2)),
        /// Sample standard deviation over all blocks: the papers' degree of uneven wearing.
        pub stddev: f64 = deviation(&facts.erases)
            => Look::line("standard deviation", Format::Fixed(2)).column("wear\nstddev", 4).less(),
        /// Least.
        pub min: u32 = facts.erases.iter().copied().min().unwrap_or(0)
            => Look::line("least", Format::Count),
        /// Most.
        pub max: u32 = facts.erases.iter().copied().max().unwrap_or(0)
            => Look::line("most", Format::Count).column("most\nworn", 15).less(),
        /// 99th percentile: the erases of the block that 99 % of the blocks do not exceed.
        pub p99: u32 = percentile(&facts.erases, 0.99)
            => Look::line("99th percentile", Format::Count),
    }
}

part! {
    /// How long the device lasts if it goes on like this: an extrapolation from the erases of the run.
    #[derive(Copy)]
    pub struct Lifetime ("lifetime, extrapolated") of facts {
        /// Years of `elapsed_us` until the most erased block reaches its rated endurance; `null` where
        /// nothing was erased or no time passed.
        pub first_block_years: Option<f64> = in_years(facts, facts.life().first_block())
            => Look::HIDDEN,
        /// The same for half of the blocks. Erase counts are whole numbers and so is their median:
        /// `years` is the better figure.
        pub median_block_years: Option<f64> = in_years(facts, facts.life().median_block())
            => Look::HIDDEN,
        /// Bytes the host has written when the most erased block reaches its rated endurance.
        pub first_block_host_bytes: Option<f64> = in_bytes(facts, facts.life().first_block())
            => Look::line("written when the first block wears out", Format::DecimalBytes)
                .trust(Trust::EnoughErases)
                .more(),
        /// Bytes the host has written when half of the blocks have; `tbw_bytes` is the better figure.
        pub median_block_host_bytes: Option<f64> = in_bytes(facts, facts.life().median_block())
            => Look::HIDDEN,
        /// TBW: bytes the host has written when the mean erase count reaches the rated endurance;
        /// `null` where nothing was erased.
        pub tbw_bytes: Option<f64> = facts.life().tbw_bytes()
            => Look::line("TBW (mean block worn out)", Format::DecimalBytes)
                .column("TBW", 3)
                .trust(Trust::EnoughErases)
                .more(),
        /// Drive writes per day: how often a day the exported capacity can be written for five years.
        pub dwpd: Option<f64> = facts.life().dwpd()
            => Look::line("DWPD over five years", Format::Short)
                .column("DWPD", 16)
                .trust(Trust::EnoughErases)
                .more(),
        /// Years until the mean erase count reaches the rated endurance, at `at_bytes_per_day`.
        pub years: Option<f64> = facts.life().years()
            => Look::line("until the mean block wears out", Format::Years)
                .column("lifetime", 3)
                .trust(Trust::EnoughErasesInTime)
                .more(),
        /// Years until the most erased block reaches it, at the same rate.
        pub most_worn_years: Option<f64> = facts.life().most_worn_years()
            => Look::line("until the most worn block does", Format::Years)
                .column("first\nblock", 18)
                .trust(Trust::EnoughErasesInTime)
                .more(),
        /// Host bytes a day behind the years: those asked for, or the trace's own; `null` on the
        /// device's own clock.
        pub at_bytes_per_day: Option<f64> = facts.life().bytes_per_day()
            => Look::line("at host writes a day of", Format::DecimalBytes),
        /// Erases of the run that all this is extrapolated from.
        pub from_erases: u64 = facts.life().from_erases()
            => Look::line("from erases", Format::Count),
        /// Whether these are fewer than there are blocks: too few to compare lifetimes.
        pub few_erases: bool = facts.life().few_erases() => Look::HIDDEN,
        /// Whether the device cannot keep up with the arrivals. Its years are not to be compared.
        pub overloaded: bool = facts.life().overloaded() => Look::HIDDEN,
        /// The time the device needs over the time the trace has; `null` without arrivals.
        pub time_factor: Option<f64> = facts.life().time_factor() => Look::HIDDEN,
    }
}

part! {
    /// RAM of the layer's tables and of its policies, as allocated.
    #[derive(Copy)]
    pub struct Memory ("RAM of the layer") of facts {
        /// For each logical page.
        pub bytes_per_page: f64 =
            facts.memory_bytes.unwrap_or(0) as f64 / f64::from(facts.setup.logical_pages)
            => Look::line("bytes a page", Format::Fixed(1)).column("RAM,\nB/page", 6).less(),
        /// In all.
        pub total_bytes: u64 = facts.memory_bytes.unwrap_or(0)
            => Look::line("in all", Format::Bytes).column("RAM\nin all", 19).less(),
    }
}

/// What a lifetime is extrapolated from.
pub(crate) struct Life<'a> {
    /// Erases of each data block in the run.
    pub erases: &'a [u32],
    /// Rated endurance.
    pub endurance: u32,
    /// Bytes the host wrote.
    pub host_bytes: u64,
    /// Bytes the device exports.
    pub logical_bytes: u64,
    /// What the run took.
    pub elapsed_ns: u64,
    /// The last arrival, where requests arrive.
    pub arrivals_ns: Option<u64>,
    /// Bytes a day that the user reckons with.
    pub daily_writes: Option<u64>,
}

impl Life<'_> {
    /// How many times the run fits into the life of a block erased so often in it.
    fn runs(&self, erases: f64) -> Option<f64> {
        (erases > 0.0).then(|| f64::from(self.endurance) / erases)
    }

    fn first_block(&self) -> Option<f64> {
        self.runs(f64::from(self.erases.iter().copied().max().unwrap_or(0)))
    }

    fn median_block(&self) -> Option<f64> {
        let mut sorted = self.erases.to_vec();
        sorted.sort_unstable();
        self.runs(f64::from(sorted.get(sorted.len() / 2).copied().unwrap_or(0)))
    }

    fn from_erases(&self) -> u64 {
        self.erases.iter().map(|&erases| u64::from(erases)).sum()
    }

    fn few_erases(&self) -> bool {
        self.from_erases() < self.erases.len() as u64
    }

    fn tbw_bytes(&self) -> Option<f64> {
        let runs = self.runs(self.from_erases() as f64 / self.erases.len() as f64);
        runs.map(|runs| runs * self.host_bytes as f64)
    }

    fn dwpd(&self) -> Option<f64> {
        self.tbw_bytes().map(|bytes| bytes / self.logical_bytes as f64 / WARRANTY_DAYS)
    }

    fn bytes_per_day(&self) -> Option<f64> {
        let own = || {
            let ns = self.arrivals_ns.filter(|&ns| ns > 0)?;
            Some(self.host_bytes as f64 / (ns as f64 / DAY_NS))
        };
        self.daily_writes.map(|bytes| bytes as f64).or_else(own).filter(|&bytes| bytes > 0.0)
    }

    fn at_this_rate(&self, bytes: Option<f64>) -> Option<f64> {
        bytes.zip(self.bytes_per_day()).map(|(bytes, a_day)| bytes / a_day / YEAR_DAYS)
    }

    fn years(&self) -> Option<f64> {
        self.at_this_rate(self.tbw_bytes())
    }

    fn most_worn_years(&self) -> Option<f64> {
        self.at_this_rate(self.first_block().map(|runs| runs * self.host_bytes as f64))
    }

    fn time_factor(&self) -> Option<f64> {
        let arrivals = self.arrivals_ns.filter(|&ns| ns > 0)?;
        Some(self.elapsed_ns as f64 / arrivals as f64)
    }

    fn overloaded(&self) -> bool {
        self.time_factor().is_some_and(|factor| factor > OVERLOADED)
    }
}

/// So many runs in years, where the run took time.
fn in_years(facts: &Facts<'_>, runs: Option<f64>) -> Option<f64> {
    let ns = facts.measured.elapsed_ns;
    runs.filter(|_| ns > 0).map(|runs| runs * ns as f64 / (YEAR_DAYS * DAY_NS))
}

fn in_bytes(facts: &Facts<'_>, runs: Option<f64>) -> Option<f64> {
    runs.map(|runs| runs * facts.measured.bytes_written as f64)
}

fn mean(erases: &[u32]) -> f64 {
    erases.iter().map(|&e| f64::from(e)).sum::<f64>() / erases.len() as f64
}

fn deviation(erases: &[u32]) -> f64 {
    let mean = mean(erases);
    let squares: f64 = erases.iter().map(|&e| (f64::from(e) - mean).powi(2)).sum();
    if erases.len() > 1 { (squares / (erases.len() as f64 - 1.0)).sqrt() } else { 0.0 }
}

/// The least value that so large a share of all does not exceed.
fn percentile(erases: &[u32], share: f64) -> u32 {
    let mut sorted = erases.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    /// Ten blocks of 100,000 cycles on a device of 4 GB, which the host wrote once in a day.
    fn life(erases: &[u32]) -> Life<'_> {
        Life {
            erases,
            endurance: 100_000,
            host_bytes: 4_000_000_000,
            logical_bytes: 4_000_000_000,
            elapsed_ns: DAY,
            arrivals_ns: Some(DAY),
            daily_writes: None,
        }
    }

    #[test]
    fn wear_is_the_sample_deviation() {
        let erases = [2, 4, 4, 4, 5, 5, 7, 9];
        assert!((deviation(&erases) - 2.138_089_935).abs() < 1e-9);
        assert_eq!(
            (mean(&erases), percentile(&erases, 0.99), percentile(&erases, 0.5)),
            (5.0, 9, 4)
        );
        assert_eq!((deviation(&[3]), percentile(&[], 0.99)), (0.0, 0));
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
        let rate_a_year = many.from_erases() as f64 * YEAR_DAYS;
        assert!((years(&many) / (4.0 * 100_000.0 / rate_a_year) - 1.0).abs() < 1e-12);
        assert!(
            (many.most_worn_years().expect("erased") - 100_000.0 / 3.0 / YEAR_DAYS).abs() < 1e-9
        );
        // Where the median block was not erased at all there is a life all the same.
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
    }

    #[test]
    fn erases_are_few_until_each_block_had_one() {
        assert!(life(&[0, 1]).few_erases() && !life(&[1, 1]).few_erases());
        assert_eq!((life(&[0]).tbw_bytes(), life(&[0]).from_erases()), (None, 0));
    }
}

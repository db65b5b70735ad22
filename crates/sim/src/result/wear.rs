//! Wear of the blocks, and lifetime.

use crate::{
    facts::Facts,
    life::{DAY_NS, YEAR_DAYS},
    metric::{Format, Look, Trust, part},
    statistics::{deviation, mean, percentile},
};

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
        pub from_erases: u64 = facts.life().total_erases()
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
            facts.memory_bytes.unwrap_or(0) as f64 / f64::from(facts.setup.plan.logical_pages)
            => Look::line("bytes a page", Format::Fixed(1)).column("RAM,\nB/page", 6).less(),
        /// In all.
        pub total_bytes: u64 = facts.memory_bytes.unwrap_or(0)
            => Look::line("in all", Format::Bytes).column("RAM\nin all", 19).less(),
    }
}

/// A number of runs in years, if the run took time.
fn in_years(facts: &Facts<'_>, runs: Option<f64>) -> Option<f64> {
    let ns = facts.measured.elapsed_ns;
    runs.filter(|_| ns > 0).map(|runs| runs * ns as f64 / (YEAR_DAYS * DAY_NS))
}

fn in_bytes(facts: &Facts<'_>, runs: Option<f64>) -> Option<f64> {
    runs.map(|runs| runs * facts.host_bytes() as f64)
}

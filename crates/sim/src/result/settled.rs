//! Whether write amplification had settled.

use crate::{
    facts::Facts,
    metric::{Format, Look, part},
    settling::Stretch,
};

part! {
    /// Whether write amplification has settled (the test: `sim::settling`).
    pub struct Settled ("settled") {
        /// Whether it has: the last two stretches differ by at most 2 % (passes) or 5 % (quarters), and as many
        /// blocks were erased as there are.
        pub settled: bool => Look::line("has settled", Format::Plain).among("write amplification"),
        /// The stretches: `passes` of a trace that was replayed, or `quarters` of the host writes.
        pub stretch: String => Look::HIDDEN,
        /// Write amplification of the last stretch but one.
        pub before: f64 => Look::HIDDEN,
        /// Write amplification of the last.
        pub last: f64 => Look::HIDDEN,
        /// How often the input was run until it settled; `null` where that was not asked for.
        pub passes: Option<u64> => Look::line("passes until settled", Format::Count).among("write amplification"),
    }
}

impl Settled {
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let settling = facts.measured.settling.filter(|_| facts.layer.erases > 0)?;
        let asked = facts.measured.passes.is_some();
        Some(Self {
            settled: settling.is_level() && (asked || !facts.life().few_erases()),
            stretch: match settling.stretch {
                Stretch::Passes => "passes",
                Stretch::Quarters => "quarters",
            }
            .to_owned(),
            before: settling.before,
            last: settling.last,
            passes: facts.measured.passes.map(u64::from),
        })
    }
}

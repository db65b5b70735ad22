//! Estimates for the whole device from a sample of the pages.
//!
//! Blocks with fewer pages vary more in their share of valid pages, so cleaning finds better
//! victims and copies less. The copies per page written are corrected by a factor of the block's
//! size. The factor and the interval were fitted on half of the traces in docs/sampling.md and
//! validated on the others.

use crate::{
    Input,
    facts::Facts,
    metric::{Format, Look, part},
};

/// By how much copies decrease with one over the square root of a block's pages.
const FALL: f64 = 0.6;
/// Half-width of the 95 % interval, as parts of the copies and of the pages written.
const UNSURE_COPIES: f64 = 0.15;
const UNSURE_WRITES: f64 = 0.01;

part! {
    /// The sample that a run was of; absent otherwise. `write_amplification` is then an estimate for the
    /// whole device, and so are lifetimes; all counts are those of the sample.
    #[derive(Copy)]
    pub struct Sample ("sample") of facts {
        /// One page of this many.
        pub one_of: u32 = facts.job.input.sampled()
            => Look::line("one page of", Format::Count),
        /// Pages written by the sample, over its share of all pages written.
        pub share_of_writes: f64 = share_of_writes(facts)
            => Look::line("of its share of the writes", Format::Percent),
        /// (host + copied page programs) / host page writes of the sample itself.
        pub write_amplification: Option<f64> = facts.programs_a_write()
            => Look::line("of the sample", Format::Fixed(3)).among(super::AMPLIFICATION),
        /// The least that the whole device's write amplification is, at 95 %.
        pub least: Option<f64> = interval(facts, -1.0)
            => Look::line("at least", Format::Fixed(3)).among(super::AMPLIFICATION).column("at\nleast", 1),
        /// The most that it is.
        pub most: Option<f64> = interval(facts, 1.0)
            => Look::line("at most", Format::Fixed(3)).among(super::AMPLIFICATION).column("at\nmost", 1),
    }
}

/// The estimated write amplification of the whole device.
pub(super) fn estimate(facts: &Facts<'_>) -> Option<f64> {
    let (programs, first) = (facts.programs_a_write()?, facts.first_programs_a_write()?);
    let of = facts.job.input.sampled();
    if of == 1 {
        return Some(programs);
    }
    let kept = f64::from(facts.pages());
    let more_copies = (FALL * (kept.sqrt().recip() - (kept * f64::from(of)).sqrt().recip())).exp();
    Some(first + (programs - first) * more_copies)
}

/// By how much the whole device programs more than was counted; 1 without a sample.
pub(crate) fn more_programs(facts: &Facts<'_>) -> f64 {
    let programs = estimate(facts).zip(facts.programs_a_write());
    programs.map_or(1.0, |(whole, counted)| whole / counted)
}

fn interval(facts: &Facts<'_>, side: f64) -> Option<f64> {
    let (estimate, first) = (estimate(facts)?, facts.first_programs_a_write()?);
    Some((estimate + side * (UNSURE_COPIES * (estimate - first) + UNSURE_WRITES)).max(first))
}

fn share_of_writes(facts: &Facts<'_>) -> f64 {
    match facts.job.input {
        Input::Trace(trace, _) => trace.share_of_writes(),
        Input::Workload(_) => 1.0,
    }
}

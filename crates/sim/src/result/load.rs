//! The load of the device.

use crate::{
    facts::Facts,
    load::Rate,
    metric::{Format, Look, part},
};

part! {
    /// The rate at which requests arrive, where it was asked for as a share of what the device
    /// sustains.
    #[derive(Copy)]
    pub struct Load ("load") {
        /// Share of the sustained rate.
        pub share: f64 => Look::line("of the sustained rate", Format::Percent),
        /// Requests a second that the device sustains in the mean: the same input, each request started when
        /// another ends, under greedy cleaning of whole victims.
        pub sustained_per_s: f64 => Look::line("sustained requests a second", Format::Short),
        /// Requests that arrived in a second, in the mean.
        pub arrivals_per_s: f64 => Look::line("arrivals a second", Format::Short),
        /// Share of the time in which the banks worked, under this policy.
        pub busy_share: f64 => Look::line("banks busy", Format::Percent).column("banks\nbusy", 25).less(),
    }
}

impl Load {
    pub(super) fn of(facts: &Facts<'_>, rate: &Rate) -> Self {
        let profile = &facts.setup.plan.device.profile;
        let banks = f64::from(profile.geometry.banks);
        let time = facts.measured.elapsed_ns.max(1) as f64 * banks;
        Self {
            share: rate.load,
            sustained_per_s: rate.sustained_per_s,
            arrivals_per_s: facts.measured.requests as f64 * 1e9
                / facts.measured.last_arrival_ns.unwrap_or(0).max(1) as f64,
            busy_share: facts.chip.time_ns(&profile.timing) as f64 / time,
        }
    }
}

//! Response times of requests.

use crate::{
    facts::Facts,
    metric::{Format, Look, Trust, part},
};

part! {
    /// Response times of one kind of request, in microseconds; `null` where there was no such request.
    #[derive(Copy, Default)]
    pub struct ResponseTimes ("response times") {
        /// Requests.
        pub count: u64 => Look::line("samples", Format::Count).quiet(),
        /// Mean.
        pub mean: Option<f64> => time("mean").column("mean", 10),
        /// Median.
        pub p50: Option<f64> => time("median").column("median", 22),
        /// 99th percentile.
        pub p99: Option<f64> => time("99 %").column("p99", 5),
        /// 99.9th percentile.
        pub p999: Option<f64> => time("99.9 %").column("p99.9", 11),
        /// 99.99th percentile; `null` of fewer than 10,000 requests.
        pub p9999: Option<f64> => time("99.99 %"),
        /// Longest.
        pub max: Option<f64> => time("longest").column("max", 12),
    }
}

part! {
    /// Response times, in microseconds.
    #[derive(Copy)]
    pub struct Responses ("response times") of facts {
        /// Of writes.
        pub write: ResponseTimes = whole(facts, facts.measured.write)
            => Look::part("response times", "write", 0),
        /// Of reads.
        pub read: ResponseTimes = whole(facts, facts.measured.read)
            => Look::part("response times", "read", 40),
    }
}

part! {
    /// What all reads and writes together waited (the measures of the SLAC and FSAF thesis,
    /// chapter 6).
    #[derive(Copy)]
    pub struct Application ("all requests together") of facts {
        /// Application response time: the sum of all times from arrival to end.
        pub response_us: f64 = us(facts.measured.application.response_ns)
            => Look::line("response times", Format::Micros).column("response\nin all", 30).less(),
        /// Device delay: the same, but from the end of the request before where that is later; what the
        /// device took, the waiting for cleaning in idle time included.
        pub device_delay_us: f64 = us(facts.measured.application.delay_ns)
            => Look::line("device delay", Format::Micros).column("device\ndelay", 31).less(),
        /// Average memory write access time (W-AMAT): device delay of the writes, per page written;
        /// `null` without writes.
        pub page_write_us: Option<f64> = (facts.layer.host_writes > 0).then(|| {
            us(facts.measured.application.write_delay_ns) / facts.layer.host_writes as f64
        }).filter(|_| facts.job.stands_for() == 1) => Look::line("delay of a page written", Format::Micros),
    }
}

/// A time that is meaningless if the device cannot keep up.
const fn time(title: &'static str) -> Look {
    Look::line(title, Format::Micros).less().trust(Trust::InTime)
}

/// Response times. A sample has only parts of requests, and therefore no times.
fn whole(facts: &Facts<'_>, times: ResponseTimes) -> ResponseTimes {
    if facts.job.stands_for() == 1 { times } else { ResponseTimes::default() }
}

fn us(ns: u128) -> f64 {
    ns as f64 / 1000.0
}

//! Clocks of a file that wrap: counters of 16 and 32 bits, and times of day.

use super::{context::Context, decode::Decode};
use crate::{Contents, Request, TraceError};

/// Periods after which clocks wrap, in nanoseconds and in words; ascending.
const PERIODS: [(u64, &str); 11] = [
    (1 << 16, "65.536 µs, 16 bits of nanoseconds"),
    (100 << 16, "6.5536 ms, 16 bits of 100 ns"),
    (1_000 << 16, "65.536 ms, 16 bits of microseconds"),
    (1 << 32, "4.294967296 s, 32 bits of nanoseconds"),
    (1_000_000 << 16, "65.536 s, 16 bits of milliseconds"),
    (100 << 32, "429.4967296 s, 32 bits of 100 ns"),
    (1_000 << 32, "4294.967296 s, 32 bits of microseconds"),
    (1_000_000_000 << 16, "65536 s, 16 bits of seconds"),
    (86_400_000_000_000, "midnight"),
    (1_000_000 << 32, "4294967.296 s, 32 bits of milliseconds"),
    (1_000_000_000 << 32, "4294967296 s, 32 bits of seconds"),
];

/// The requests of a file, with its clock continued where it wraps.
pub(super) struct Carried {
    source: Box<dyn Decode>,
    clock: Clock,
}

impl Carried {
    pub(super) fn new(source: Box<dyn Decode>) -> Self {
        Self { source, clock: Clock::default() }
    }
}

impl Decode for Carried {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        let result = self.source.decode(cx, out, limit);
        self.clock.carry(out, cx);
        result
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }

    fn is_full(&self) -> bool {
        self.source.is_full()
    }
}

/// The history of a clock.
#[derive(Debug, Default)]
struct Clock {
    first: u64,
    last: u64,
    highest: u64,
    requests: u64,
    /// The period, once the clock has wrapped.
    period: Option<u64>,
    /// Offset added to all times since the last wrap.
    carried: u64,
}

impl Clock {
    fn carry(&mut self, batch: &mut [Request], cx: &mut Context) {
        if self.requests == 0 {
            self.first = batch.first().map_or(0, |request| request.time_ns);
        }
        let before = self.requests;
        self.requests += batch.len() as u64;
        let mut at = 0;
        if self.period.is_none() {
            let mut last = self.last;
            let back = batch.iter().position(|request| {
                let goes_back = request.time_ns < last;
                last = request.time_ns;
                goes_back
            });
            match back {
                Some(back) => at = back,
                None => {
                    self.last = last;
                    return;
                }
            }
            if at > 0 {
                self.last = batch[at - 1].time_ns;
            }
        }
        for (at, request) in batch.iter_mut().enumerate().skip(at) {
            let shown = request.time_ns;
            if shown < self.last {
                self.highest = self.highest.max(self.last);
                self.goes_back(shown, before + at as u64, cx);
            }
            let is_late = self.period.is_some_and(|period| {
                let edge = period / 1024;
                self.carried > 0 && self.last < edge && shown < period && shown > period - edge
            });
            let carried = match (is_late, self.period) {
                // A request from before the wrap, overtaken by later ones.
                (true, Some(period)) => self.carried - period,
                _ => self.carried,
            };
            request.time_ns = shown.saturating_add(carried);
            if !is_late {
                self.last = shown;
            }
        }
    }

    /// Determines whether a clock that steps back has wrapped.
    #[cold]
    fn goes_back(&mut self, shown: u64, requests: u64, cx: &mut Context) {
        let step =
            |period: u64| period.checked_sub(self.last).map(|left| left.saturating_add(shown));
        let pause = (self.highest - self.first.min(self.highest)) / requests.max(1);
        let wraps = |period: u64| {
            // After a wrap it continues at about the same rate.
            let most = (pause.saturating_mul(16).min(period / 64)).max(period / 1024);
            self.highest < period && step(period).is_some_and(|step| step <= most)
        };
        let found = match self.period {
            Some(period) => step(period).filter(|&step| step <= period / 2).map(|_| period),
            None => PERIODS.iter().map(|(period, _)| *period).find(|&period| wraps(period)),
        };
        if let Some(period) = found {
            self.period = Some(period);
            self.carried = self.carried.saturating_add(period);
            let known = PERIODS.iter().find(|(known, _)| *known == period);
            let words = known.map_or("", |(_, words)| words);
            cx.remark(format!("the clock wraps at {words}; it was carried on there"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    /// The continued times, given in batches of this size, and the warnings.
    fn carried(times: &[u64], size: usize) -> (Vec<u64>, Vec<String>) {
        let mut clock = Clock::default();
        let mut cx = Context::default();
        let mut out = Vec::new();
        for part in times.chunks(size) {
            let request = |&time_ns| Request {
                time_ns,
                op: Op::Write,
                offset: 0,
                len: 512,
                volume: 0,
                hint: 0,
            };
            let mut batch: Vec<Request> = part.iter().map(request).collect();
            clock.carry(&mut batch, &mut cx);
            out.extend(batch.iter().map(|request| request.time_ns));
        }
        (out, cx.warnings())
    }

    #[test]
    fn clocks_of_every_width_continue_after_a_wrap() {
        for (period, words) in PERIODS {
            let pause = period / 100;
            // The pause does not divide the period; there are three wraps.
            let real: Vec<u64> = (0..350).map(|n| period / 3 + n * pause).collect();
            let shown: Vec<u64> = real.iter().map(|time| time % period).collect();
            for size in [1, 7, 350] {
                let (out, said) = carried(&shown, size);
                assert_eq!(out, real, "{words}, {size} at a time");
                assert_eq!(said, [format!("the clock wraps at {words}; it was carried on there")]);
            }
        }
    }

    #[test]
    fn requests_out_of_order_stay_so_around_a_wrap() {
        let period = 1_000 << 32;
        let real =
            [9_000_000, 10_000_000, 10_500_000, 9_900_000, 11_000_000, 10_900_000, 12_000_000]
                .map(|time: u64| time + period - 10_000_000);
        let shown = real.map(|time| time % period);
        for size in [1, 3, 7] {
            assert_eq!(carried(&shown, size).0, real, "{size} at a time");
        }
    }

    #[test]
    fn a_clock_that_steps_back_without_a_wrap_is_unchanged() {
        let hour = 3_600_000_000_000;
        for times in [
            &[5, 3, 9, 8][..],
            &[hour, 2 * hour, 0, hour],
            // Absolute times exceed every counter that may have wrapped.
            &[1_700_000_000_000_000_000, 1_700_000_000_500_000_000, 0],
            // The end of a counter, but much later: several wraps may be missing.
            &[4_200_000_000_000, 4_290_000_000_000, 300_000_000_000],
        ] {
            assert_eq!(carried(times, 2), (times.to_vec(), Vec::new()), "{times:?}");
        }
    }
}

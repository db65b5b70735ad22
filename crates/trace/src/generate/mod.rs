//! Workload generators.
//!
//! One seed gives the same bytes on every machine: the generator is xoshiro256++, integers are drawn
//! by Lemire's method, and logarithms come from the `libm` crate rather than from the system.

mod arrivals;
mod catalogue;
mod desktop;
mod fio;
mod permutation;
pub mod random;
mod sampler;
mod spec;
mod zipf;
mod zones;

pub use arrivals::Arrivals;
pub use catalogue::{WorkloadInfo, patterns};
pub use desktop::Desktop;
pub use fio::Fio;
pub use permutation::Permutation;
pub use spec::{Pattern, PatternSpec, Phase};
pub use zones::Zones;

use crate::{Op, Request, Source, TraceError};
use rand_xoshiro::Xoshiro256PlusPlus;
use random::{Chance, Streams};
use sampler::{Layout, Sampler};

/// The options of a generator besides the pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneratorOptions {
    /// Number of bytes addressed, from offset 0. A rest smaller than a request is not used.
    pub span_bytes: u64,
    /// Total bytes to write, rounded up to whole requests. `None` is the sum of the phases. If it
    /// exceeds that sum, the phases repeat.
    pub bytes: Option<u64>,
    /// Bytes of a request, which is also its alignment; `None` is a page.
    pub request_bytes: Option<u64>,
    /// Bytes of a page. A page is hot or cold as a whole, even if requests are smaller.
    pub page_bytes: u64,
    /// Mean gap of a Poisson process, in nanoseconds. `None` leaves all times at 0, so that a
    /// device gets each request when the last has ended.
    pub interarrival_ns: Option<f64>,
    /// Selects the random numbers and the hot set.
    pub seed: u64,
    /// Share of reads among the requests, at addresses of the same pattern; at least 0, below 1.
    pub read_share: f64,
}

impl GeneratorOptions {
    /// Writes of one 4 KiB page each within `span_bytes`, seed 1.
    #[must_use]
    pub fn new(span_bytes: u64) -> Self {
        GeneratorOptions {
            span_bytes,
            bytes: None,
            request_bytes: None,
            page_bytes: 4096,
            interarrival_ns: None,
            seed: 1,
            read_share: 0.0,
        }
    }
}

/// A workload as a [`Source`]; all requests are on volume 0.
pub struct Generator {
    layout: Layout,
    permutation: Permutation,
    rng: Xoshiro256PlusPlus,
    arrivals: Option<Arrivals>,
    reads: Option<(Chance, Xoshiro256PlusPlus)>,
    /// Pattern and number of writes of each phase. A steady workload has one phase.
    phases: Vec<(Sampler, u64)>,
    phase: usize,
    phase_left: u64,
    /// Writes left.
    left: u64,
    /// Next address of the sequential pattern.
    cursor: u64,
}

impl Generator {
    /// Prepares a workload.
    ///
    /// # Errors
    /// [`TraceError::Usage`] if sizes, shares or the length contradict each other.
    pub fn new(spec: &PatternSpec, options: &GeneratorOptions) -> Result<Self, TraceError> {
        check_numbers(options)?;
        let request_bytes = options.request_bytes.unwrap_or(options.page_bytes);
        let layout = Layout::new(options.span_bytes, options.page_bytes, request_bytes)?;
        let streams = Streams::new(options.seed);
        let (phases, total) = match spec {
            PatternSpec::Steady(pattern) => {
                let bytes = options.bytes.ok_or_else(|| {
                    TraceError::usage(
                        format!("{spec} has no end of its own"),
                        "say how many bytes to write, such as ‹bytes 192MiB›",
                    )
                })?;
                let writes = bytes.div_ceil(request_bytes);
                (vec![(Sampler::new(*pattern, &layout, writes, streams.keys)?, writes)], writes)
            }
            PatternSpec::Phases(list) => {
                let phases = list
                    .iter()
                    .map(|phase| {
                        let writes = phase.bytes.div_ceil(request_bytes);
                        Ok((Sampler::new(phase.pattern, &layout, writes, streams.keys)?, writes))
                    })
                    .collect::<Result<Vec<_>, TraceError>>()?;
                let sum = phases.iter().fold(0u64, |sum, (_, writes)| sum.saturating_add(*writes));
                if sum == 0 {
                    return Err(TraceError::usage(
                        "phases that write nothing",
                        "give at least one phase, and each some bytes",
                    ));
                }
                (phases, options.bytes.map_or(sum, |bytes| bytes.div_ceil(request_bytes)))
            }
        };
        Ok(Generator {
            permutation: Permutation::new(layout.units, streams.keys),
            layout,
            rng: streams.addresses,
            arrivals: options.interarrival_ns.map(|mean| Arrivals::new(streams.arrivals, mean)),
            reads: (options.read_share > 0.0)
                .then(|| (Chance::new(options.read_share), streams.ops)),
            phase: 0,
            phase_left: phases[0].1,
            phases,
            left: total,
            cursor: 0,
        })
    }

    /// Number of writes left.
    #[must_use]
    pub fn writes_left(&self) -> u64 {
        self.left
    }
}

fn check_numbers(options: &GeneratorOptions) -> Result<(), TraceError> {
    if !(0.0..1.0).contains(&options.read_share) {
        return Err(TraceError::usage(
            format!("a share of reads of {}", options.read_share),
            "give a share of at least 0 and below 1: the length counts written bytes",
        ));
    }
    match options.interarrival_ns {
        Some(mean) if !(mean.is_finite() && mean > 0.0) => Err(TraceError::usage(
            format!("a mean gap of {mean} ns"),
            "give a positive time, such as ‹interarrival 20ms›",
        )),
        _ => Ok(()),
    }
}

impl Source for Generator {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < limit && self.left > 0 {
            while self.phase_left == 0 {
                self.phase = (self.phase + 1) % self.phases.len();
                self.phase_left = self.phases[self.phase].1;
            }
            // At most the writes left in the phase: the phase ends here if all of these are writes.
            // Reads and trims only make it longer.
            let count = self.left.min(self.phase_left).min((limit - batch.len()) as u64);
            let first = batch.len();
            self.phases[self.phase].0.extend(
                batch,
                count as usize,
                &self.layout,
                &self.permutation,
                &mut self.rng,
                &mut self.cursor,
            );
            if let Some((chance, rng)) = &mut self.reads {
                for request in &mut batch[first..] {
                    if request.op == Op::Write && chance.draw(rng) {
                        request.op = Op::Read;
                    }
                }
            }
            // Pure writes are the common case and are not counted singly.
            let all_write = self.reads.is_none() && !self.phases[self.phase].0.trims();
            let is_write = |request: &&Request| request.op == Op::Write;
            let writes = if all_write {
                count
            } else {
                batch[first..].iter().filter(is_write).count() as u64
            };
            self.left -= writes;
            self.phase_left -= writes;
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.stamp(batch);
        }
        Ok(())
    }
}

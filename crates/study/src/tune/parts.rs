//! The part of an input that is searched, and the rest.

use thermocline_sim::SimError;
use thermocline_trace::Source;

use crate::{
    Context, Counted, opening,
    settings::{run::RunSpec, transform::Part},
    usage,
};

/// Requests read at a time.
const STEP: usize = 4096;

/// The two parts of an input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parts {
    /// Requests of a trace: this many, and this many more.
    Trace(u64, u64),
    /// A workload, with two seeds.
    Workload,
}

impl Parts {
    pub(super) fn of(
        settings: &RunSpec,
        share: f64,
        context: Context<'_>,
    ) -> Result<Self, SimError> {
        let Some(path) = settings.one.input.trace.as_deref() else { return Ok(Self::Workload) };
        if path.as_os_str() == "-" {
            return Err(usage(
                "standard input cannot be read twice; write the trace to a file (`thermocline trace \
                 convert - trace.tct`)",
            ));
        }
        let simulation = &settings.simulation;
        let count = |source: &mut dyn Source| {
            let message = format!("counting {}", path.display());
            let mut source = Counted::new(context, message, source);
            let (mut batch, mut requests) = (Vec::new(), 0_u64);
            loop {
                source.next_batch(&mut batch, STEP)?;
                context.check()?;
                if batch.is_empty() {
                    return Ok(requests);
                }
                requests += batch.len() as u64;
            }
        };
        let (reading, transforms) = (simulation.reading.options(), &simulation.transforms);
        let (requests, _) = opening::with_trace(path, &reading, transforms, context, count)?;
        let searched = (requests as f64 * share) as u64;
        if searched == 0 || searched >= requests {
            return Err(usage(format!(
                "‹part› leaves {searched} of {requests} requests to search; take a share such as 60%"
            )));
        }
        Ok(Self::Trace(searched, requests - searched))
    }

    /// The settings of a run on the part that is searched, or on the rest.
    pub(super) fn apply(self, settings: &mut RunSpec, rest: bool) {
        let simulation = &mut settings.simulation;
        match (self, rest) {
            (Self::Trace(first, _), false) => simulation.transforms.part = Part::First(first),
            (Self::Trace(first, _), true) => simulation.transforms.part = Part::After(first),
            (Self::Workload, false) => {}
            (Self::Workload, true) => simulation.seed = simulation.seed.wrapping_add(1),
        }
    }
}

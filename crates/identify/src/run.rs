//! A measurement with its traffic and the initial state of the drive.

use thermocline_measured::{MeasuredError, Measurement};
use thermocline_sim::{Fill, Input, PreparedTrace, Workload};

use crate::curve::Curve;

/// The traffic of a measurement.
#[derive(Debug)]
pub enum RunInput {
    /// Generated, at the size of the real drive.
    Workload(Workload),
    /// Recorded, as a sample of one page in as many as the simulated drives are smaller.
    Trace(Box<PreparedTrace>),
}

/// A measurement and its circumstances.
#[derive(Debug)]
pub struct MeasuredRun {
    /// Its name.
    pub name: String,
    /// The measured curve.
    pub curve: Curve,
    /// Bytes programmed per second, if times were measured.
    pub bytes_per_second: Option<f64>,
    /// The traffic.
    pub input: RunInput,
    /// How the drive was filled before; `None` if unknown.
    pub state: Option<Fill>,
    /// Bytes in use, the first ones; `None` for all.
    pub used: Option<u64>,
}

impl MeasuredRun {
    /// A measurement under this traffic, whose length is set to that of the measurement.
    ///
    /// # Errors
    /// If it does not count both the host's bytes and the flash's.
    pub fn new(
        name: &str,
        measurement: &Measurement,
        input: RunInput,
        state: Option<Fill>,
        used: Option<u64>,
    ) -> Result<Self, MeasuredError> {
        let points = measurement.curve()?;
        let seconds = measurement.points.last().map_or(0.0, |point| point.seconds);
        let programmed = points.last().map_or(0, |(_, physical)| *physical);
        let total = points.last().map_or(0, |(host, _)| *host);
        let input = match input {
            RunInput::Workload(workload) => {
                RunInput::Workload(Workload { bytes: Some(total), ..workload })
            }
            trace @ RunInput::Trace(_) => trace,
        };
        Ok(Self {
            name: name.to_owned(),
            curve: Curve::measured(&points),
            bytes_per_second: (seconds > 0.0).then(|| programmed as f64 / seconds),
            input,
            state,
            used,
        })
    }

    /// The input of a simulation on a device whose pages stand for `bytes` each.
    pub(crate) fn input(&self, bytes: f64) -> Input<'_> {
        match &self.input {
            RunInput::Workload(workload) => Input::Workload(workload),
            RunInput::Trace(trace) => {
                let whole = trace.page_writes.max(1) as f64 * bytes;
                Input::Trace(trace, (self.curve.total() / whole).ceil().clamp(1.0, 1e6) as u32)
            }
        }
    }

    /// The initial states to try.
    pub(crate) fn states(&self) -> Vec<Fill> {
        self.state
            .map_or_else(|| vec![Fill::Logical, Fill::Shuffled, Fill::Nothing], |one| vec![one])
    }
}

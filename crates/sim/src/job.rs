//! The description of one simulation: a policy, a device, an input, and all other settings.

use thermocline_policy::trigger::Watermarks;
use thermocline_units::USUAL_OVER_PROVISIONING;

use crate::{DelayLog, Device, Input, PolicySpec, Watch, load::Rate};

/// How much of the device holds data before the statistics begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// All logical pages in order; over-provisioning determines their number.
    Logical,
    /// All logical pages in random order.
    Shuffled,
    /// This share of the data pages minus the reserve: the papers' utilization.
    Share(f64),
    /// Nothing: a new device, with the number of logical pages given by over-provisioning.
    Nothing,
}

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A request starts when the last has ended.
    Device,
    /// Requests arrive at the times of the trace or the Poisson process.
    Arrivals,
}

/// Which of the filled pages are written as read-only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadOnly {
    /// None.
    None,
    /// This share of them, which the workload does not write.
    Share(f64),
    /// Those that the trace never writes.
    Unwritten,
}

/// One simulation.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The device.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// The input.
    pub input: Input<'a>,
    /// Content of the device at the start.
    pub fill: Fill,
    /// Physical over logical pages, minus 1, where nothing else fixes the sizes.
    pub over_provisioning: f64,
    /// Number of logical pages, if the device is already formatted.
    pub logical_pages: Option<u32>,
    /// Number of logical pages in use, the first ones. The rest is trimmed after the fill.
    pub used: Option<u64>,
    /// Number of pages that each page of the device stands for, if blocks have fewer pages than
    /// those of the modelled device. Sizes of a workload are those of the modelled device.
    pub scale: u32,
    /// The time scale of age transformations, in nanoseconds; by default derived from the input and
    /// the device.
    pub time_scale_ns: Option<f64>,
    /// Bytes of RAM for changes of a map on the chip, of DFTL for entries of it; by default the map is in RAM.
    pub map_cache: Option<u64>,
    /// Bytes that the host writes before the statistics begin, in addition to the fill.
    pub warm_up: u64,
    /// Repeats the input until write amplification has settled, at most this many times. Statistics
    /// are those of the last pass.
    pub settle: Option<u32>,
    /// Takes trace addresses beyond the device modulo its size.
    pub wrap: bool,
    /// The clock; by default arrivals if the input has them.
    pub clock: Option<Clock>,
    /// Read-only data.
    pub read_only: ReadOnly,
    /// Number of requests that the device works on at once. The default is one on the device's
    /// clock, and all that have arrived with arrivals.
    pub queue_depth: Option<u32>,
    /// Most reads that pass a program, a copy or an erase; by default none does.
    pub reads_first: Option<u32>,
    /// Time to suspend an operation for a read, in nanoseconds; by default the profile's.
    pub suspend: Option<u64>,
    /// Poisson arrivals at this share of the rate that the device sustains, instead of the input's.
    pub load: Option<f64>,
    /// The rate that follows from it; measured before the run.
    pub rate: Option<Rate>,
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// Blocks fail at their rated endurance.
    pub wears_out: bool,
    /// Recounts everything at the end.
    pub check: bool,
    /// Bytes that the host writes in a day, for lifetimes in years; by default from the input's
    /// arrivals.
    pub daily_writes: Option<u64>,
    /// Records a [`History`](crate::History) for charts. It does not change results.
    pub history: bool,
    /// The log of the delay of each request.
    pub delays: Option<&'a DelayLog>,
    /// The observer.
    pub watch: Option<&'a dyn Watch>,
    /// The seed of random numbers.
    pub seed: u64,
}

impl<'a> Job<'a> {
    /// Number of pages that each page stands for.
    #[must_use]
    pub fn stands_for(&self) -> u32 {
        self.input.sampled() * self.scale
    }

    /// A job with all settings at their defaults.
    #[must_use]
    pub fn new(device: Device, policy: PolicySpec, input: Input<'a>) -> Self {
        Self {
            device,
            policy,
            input,
            fill: Fill::Logical,
            over_provisioning: USUAL_OVER_PROVISIONING,
            logical_pages: None,
            used: None,
            scale: 1,
            time_scale_ns: None,
            map_cache: None,
            warm_up: 0,
            settle: None,
            wrap: false,
            clock: None,
            read_only: ReadOnly::None,
            queue_depth: None,
            reads_first: None,
            suspend: None,
            load: None,
            rate: None,
            watermarks: Watermarks::default(),
            wears_out: false,
            check: false,
            daily_writes: None,
            history: false,
            delays: None,
            watch: None,
            seed: 1,
        }
    }
}

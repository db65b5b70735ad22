//! What one simulation is: a policy, a device, an input, and every choice beside them.

use thermocline_policy::trigger::Watermarks;

use crate::{DelayLog, Device, Input, PolicySpec, Watch};

/// How much of the device holds data before the statistics begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// All logical pages in order, of which over-provisioning says how many there are.
    Logical,
    /// The same in random order.
    Shuffled,
    /// This share of the data pages less the reserve: the papers' utilization.
    Share(f64),
    /// Nothing: the device is as it left the factory, with as many logical pages as
    /// over-provisioning says.
    Nothing,
}

/// Which clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A request starts when the last has ended.
    Device,
    /// Requests arrive when the trace or the Poisson process says.
    Arrivals,
}

/// Which of the filled pages are written as read-only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadOnly {
    /// None.
    None,
    /// This share of them, which the workload leaves alone.
    Share(f64),
    /// Those the trace never writes.
    Unwritten,
}

/// One simulation.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The device.
    pub device: Device,
    /// The policies.
    pub policy: PolicySpec,
    /// What drives it.
    pub input: Input<'a>,
    /// What it holds at the start.
    pub fill: Fill,
    /// Physical over logical pages, less 1, where nothing else fixes the sizes.
    pub over_provisioning: f64,
    /// Logical pages, where the device is formatted already.
    pub logical_pages: Option<u32>,
    /// Logical pages that are used, the first ones; the rest is trimmed after the fill.
    pub used: Option<u64>,
    /// Pages that each page of the device stands for, where blocks have fewer than those of the device that is meant.
    /// The sizes of a workload are those of that device.
    pub scale: u32,
    /// The time scale of age transformations, in nanoseconds; by default worked out from the input and
    /// the device.
    pub time_scale_ns: Option<f64>,
    /// Bytes of RAM for changes of a map that lies on the chip; by default the map is in RAM.
    pub map_cache: Option<u64>,
    /// Bytes the host writes before the statistics begin, beside the fill.
    pub warm_up: u64,
    /// Repeat the input until write amplification has settled, this many times at most; statistics are those of the
    /// last time.
    pub settle: Option<u32>,
    /// Trace addresses beyond the device are taken modulo its size.
    pub wrap: bool,
    /// The clock; by default arrivals where there are any.
    pub clock: Option<Clock>,
    /// Read-only data.
    pub read_only: ReadOnly,
    /// Requests the device works on at once; by default one on its own clock, and all that have
    /// arrived where they arrive.
    pub queue_depth: Option<u32>,
    /// When cleaning starts and stops, in each bank.
    pub watermarks: Watermarks,
    /// Blocks die at their rated endurance.
    pub wears_out: bool,
    /// Count everything again at the end.
    pub check: bool,
    /// Bytes the host writes in a day, by which lifetimes are told in years; by default as many as the
    /// input's arrivals come to.
    pub daily_writes: Option<u64>,
    /// Record a [`History`](crate::History) for pictures. It changes no result.
    pub history: bool,
    /// Where the delay of each request is written down.
    pub delays: Option<&'a DelayLog>,
    /// Who looks on.
    pub watch: Option<&'a dyn Watch>,
    /// The seed.
    pub seed: u64,
}

impl<'a> Job<'a> {
    /// Pages that each page stands for.
    #[must_use]
    pub fn stands_for(&self) -> u32 {
        self.input.sampled() * self.scale
    }

    /// A job with every choice at its default.
    #[must_use]
    pub fn new(device: Device, policy: PolicySpec, input: Input<'a>) -> Self {
        Self {
            device,
            policy,
            input,
            fill: Fill::Logical,
            over_provisioning: 0.15,
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

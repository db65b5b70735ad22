//! The settings of a comparison.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use thermocline_sim::answer::{Aim, Buildable, Wish};
use thermocline_sweep::{Shard, Volume};

use super::{
    input::ManyInputs,
    simulation::SimulationArgs,
    values::{self, Suggest},
};

const HEADING: &str = "Policies";
const FLEET: &str = "Many volumes";
const RUNNING: &str = "Running";

/// Many policies on many inputs.
#[derive(Args, Debug)]
pub struct ManyPolicies {
    /// The inputs.
    #[command(flatten)]
    pub inputs: ManyInputs,
    /// Policies with commas between, each with parameters in brackets; `all` is every preset
    /// [default: the page-mapped presets that do not know the future].
    #[arg(long, visible_alias = "policy", value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::presets), hide_possible_values = true)]
    pub policies: Vec<String>,
    /// Victim policies with commas between: every one with every placement, in place of the
    /// policies' own, or on a plain log where no policies are named; `all` is every one.
    #[arg(long, value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::victims), hide_possible_values = true)]
    pub victim: Vec<String>,
    /// Placements with commas between: every one with every victim policy; `all` is every one.
    #[arg(long, value_name = "NAMES", help_heading = HEADING)]
    #[arg(value_parser = Suggest(values::placements), hide_possible_values = true)]
    pub placement: Vec<String>,
    /// Each volume of a trace is a device of its own: a table of the volumes, and percentiles over all.
    #[arg(long, help_heading = FLEET, conflicts_with_all = ["aim", "buildable", "workload"])]
    pub per_volume: bool,
    /// Leave out volumes with a smaller footprint [default: those too small for the over-provisioning, whose
    /// devices would have to be larger; 0 takes them all].
    #[arg(long, value_name = "SIZE", requires = "per_volume", help_heading = FLEET)]
    #[arg(value_parser = values::size)]
    pub min_volume: Option<u64>,
    /// Which volumes.
    #[command(flatten)]
    pub which: WhichVolumes,
    /// Only this part of the volumes, about equal in requests, as in 3/16; the rows of the parts one
    /// behind another are the whole.
    #[arg(long, value_name = "N/OF", requires = "per_volume", help_heading = FLEET)]
    pub shard: Option<Shard>,
    /// Folder that keeps the results of each volume: what is in it is not computed again.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = FLEET)]
    #[arg(requires = "per_volume")]
    pub store: Option<PathBuf>,
    /// Do not measure the policies against the oracle, which knows the future: saves its run.
    #[arg(long, help_heading = HEADING)]
    pub no_oracle: bool,
    /// What the policy is chosen for: the longest life of the flash, the shortest write responses
    /// (99th percentile), the least RAM, or the three together.
    #[arg(long, value_name = "AIM", default_value = "endurance", help_heading = HEADING)]
    #[arg(value_parser = values::aim())]
    pub aim: Aim,
    /// Who builds the policy that is chosen: a controller alone, a host that places its own data
    /// (multi-stream), or any.
    #[arg(long, value_name = "WHO", default_value = "controller", help_heading = HEADING)]
    #[arg(value_parser = values::buildable())]
    pub buildable: Buildable,
    /// Run everything with this many seeds, from --seed on: figures are means with 95 % intervals.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = RUNNING)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
}

/// Volumes of a fleet, by what is asked of them.
#[derive(Args, Clone, Debug, Default)]
pub struct WhichVolumes {
    /// Leave out volumes to which less is written.
    #[arg(long, value_name = "SIZE", requires = "per_volume", help_heading = FLEET)]
    #[arg(value_parser = values::size)]
    pub min_written: Option<u64>,
    /// Leave out volumes to which more is written.
    #[arg(long, value_name = "SIZE", requires = "per_volume", help_heading = FLEET)]
    #[arg(value_parser = values::size)]
    pub max_written: Option<u64>,
    /// Leave out volumes with a smaller share of reads among their reads and writes.
    #[arg(long, value_name = "SHARE", requires = "per_volume", help_heading = FLEET)]
    #[arg(value_parser = values::share)]
    pub min_reads: Option<f64>,
    /// Leave out volumes with a larger share of reads.
    #[arg(long, value_name = "SHARE", requires = "per_volume", help_heading = FLEET)]
    #[arg(value_parser = values::share)]
    pub max_reads: Option<f64>,
}

impl WhichVolumes {
    /// Whether a volume is among them.
    #[must_use]
    pub fn has(&self, volume: &Volume) -> bool {
        let (reads, written) = (volume.read_share(), volume.bytes_written);
        self.min_written.is_none_or(|least| written >= least)
            && self.max_written.is_none_or(|most| written <= most)
            && self.min_reads.is_none_or(|least| reads >= least)
            && self.max_reads.is_none_or(|most| reads <= most)
    }
}

impl ManyPolicies {
    /// The policy that is looked for.
    #[must_use]
    pub const fn wish(&self) -> Wish {
        Wish { aim: self.aim, buildable: self.buildable }
    }
}

/// The settings of a comparison.
#[derive(Args, Debug)]
pub struct CompareSettings {
    /// The policies and the inputs.
    #[command(flatten)]
    pub many: ManyPolicies,
    /// Everything else.
    #[command(flatten)]
    pub simulation: SimulationArgs,
}

//! The settings of a comparison.

use std::path::PathBuf;

use thermocline_report::number;
use thermocline_sim::answer::{Aim, Buildable, Wish};
use thermocline_spec::{
    group,
    input::ManyInputs,
    run::SimulationArgs,
    table::{Codec, Values},
    values::{FOLDER, PLACEMENT, POLICY, SHARE, SIZE, VICTIM},
};
use thermocline_sweep::{Shard, Volume};
use thermocline_units::show_size;

const FLEET: &str = "Many volumes";
const RUNNING: &str = "Running";

group! {
    /// Many policies on many inputs.
    pub struct ManyPolicies, "Policies" {
        /// The inputs.
        inputs: ManyInputs = flat();
        /// Policies with commas between, each with parameters in brackets; `all` is every preset
        /// [default: the page-mapped presets that do not know the future].
        policies: Vec<String> = one("policies", "NAMES", POLICY).also(None, Some("policy"));
        /// Victim policies with commas between: every one with every placement, in place of the
        /// policies' own, or on a plain log where no policies are named; `all` is every one.
        victim: Vec<String> = one("victim", "NAMES", VICTIM);
        /// Placements with commas between: every one with every victim policy; `all` is every one.
        placement: Vec<String> = one("placement", "NAMES", PLACEMENT);
        /// Each volume of a trace is a device of its own: a table of the volumes, and percentiles over all.
        per_volume: bool = flag("per-volume").under(FLEET).without(&["aim", "buildable", "workload"]);
        /// Which volumes.
        which: WhichVolumes = flat();
        /// Only this part of the volumes, about equal in requests, as in 3/16; the rows of the parts one
        /// behind another are the whole.
        shard: Option<Shard> = one("shard", "N/OF", SHARD).under(FLEET).needs("per-volume");
        /// Folder that keeps the results of each volume: what is in it is not computed again.
        store: Option<PathBuf> = one("store", "DIR", FOLDER).under(FLEET).needs("per-volume");
        /// Do not measure the policies against the oracle, which knows the future: saves its run.
        no_oracle: bool = flag("no-oracle");
        /// What the policy is chosen for: the longest life of the flash, the shortest write responses
        /// (99th percentile), the least RAM, or the three together.
        aim: Aim = one("aim", "AIM", AIM).default("endurance");
        /// Who builds the policy that is chosen: a controller alone, a host that places its own data
        /// (multi-stream), or any.
        buildable: Buildable = one("buildable", "WHO", BUILDABLE).default("controller");
        /// Ask what this many placement handles of NVMe FDP would bring: places by the trace's hints, beside
        /// what a drive infers by itself, and answers in a sentence.
        fdp: Option<u32> = one("fdp", "N", FDP).without(&["per-volume"]);
        /// Run everything with this many seeds, from ‹seed› on: figures are means with 95 % intervals.
        seeds: u64 = one("seeds", "N", SEEDS).under(RUNNING).default("1");
    }
}

group! {
    /// Volumes of a fleet, by what is asked of them.
    pub struct WhichVolumes, "Many volumes" {
        /// Leave out volumes with a smaller footprint [default: those too small for the over-provisioning, whose
        /// devices would have to be larger; 0 takes them all].
        min_volume: Option<u64> = one("min-volume", "SIZE", SIZE).under(FLEET).needs("per-volume");
        /// Leave out volumes to which less is written.
        min_written: Option<u64> = one("min-written", "SIZE", SIZE).under(FLEET).needs("per-volume");
        /// Leave out volumes to which more is written.
        max_written: Option<u64> = one("max-written", "SIZE", SIZE).under(FLEET).needs("per-volume");
        /// Leave out volumes with a smaller share of reads among their reads and writes.
        min_reads: Option<f64> = one("min-reads", "SHARE", SHARE).under(FLEET).needs("per-volume");
        /// Leave out volumes with a larger share of reads.
        max_reads: Option<f64> = one("max-reads", "SHARE", SHARE).under(FLEET).needs("per-volume");
    }
}

group! {
    /// The settings of a comparison.
    pub struct CompareSettings, "Policies" {
        /// The policies and the inputs.
        many: ManyPolicies = flat();
        /// Everything else.
        simulation: SimulationArgs = flat();
    }
}

const SHARD: Codec<Shard> = Codec { read: str::parse, show: Shard::to_string, values: Values::Any };
const AIM: Codec<Aim> = Codec {
    read: |text| Aim::ALL.into_iter().find(|aim| aim.name() == text).ok_or_else(|| no_choice(text)),
    show: |aim| aim.name().to_owned(),
    values: Values::Listed(|| Aim::ALL.map(Aim::name).into()),
};
const BUILDABLE: Codec<Buildable> = Codec {
    read: |text| {
        Buildable::ALL.into_iter().find(|who| who.name() == text).ok_or_else(|| no_choice(text))
    },
    show: |who| who.name().to_owned(),
    values: Values::Listed(|| Buildable::ALL.map(Buildable::name).into()),
};
const SEEDS: Codec<u64> = Codec {
    read: |text| {
        let seeds = text.parse().ok().filter(|seeds| (1..=1000).contains(seeds));
        seeds.ok_or_else(|| format!("`{text}` is no whole number from 1 to 1000"))
    },
    show: u64::to_string,
    values: Values::Any,
};

const FDP: Codec<u32> = Codec {
    read: |text| {
        let handles = text.parse().ok().filter(|handles| (1..=15).contains(handles));
        handles.ok_or_else(|| format!("`{text}` is no number of handles from 1 to 15"))
    },
    show: u32::to_string,
    values: Values::Any,
};

fn no_choice(text: &str) -> String {
    format!("`{text}` is none of them")
}

impl WhichVolumes {
    /// Whether a volume of `bytes` bytes is too small; `is_enlarged` if its device would have more
    /// blocks than the over-provisioning asks for.
    #[must_use]
    pub fn is_too_small(&self, bytes: u64, is_enlarged: bool) -> bool {
        self.min_volume.map_or(is_enlarged, |least| bytes < least)
    }

    /// The remark on volumes that are too small.
    #[must_use]
    pub fn about_small(
        &self,
        excluded: usize,
        of: usize,
        over_provisioning: Option<f64>,
    ) -> String {
        let spare = over_provisioning
            .map_or(String::new(), |spare| format!(" of {}", number::percent(spare)));
        let why = match self.min_volume {
            Some(least) => format!("their footprints are below {}", show_size(least)),
            None => format!(
                "their over-provisioning{spare} is less than a log needs beside its data; ‹min-volume 0› takes \
                 them with more, and smaller blocks leave out fewer"
            ),
        };
        format!("{excluded} of {} are left out: {why}", number::counted(of as u64, "volume"))
    }

    /// The remark on excluded volumes.
    #[must_use]
    pub fn about_others(&self, others: usize, of: usize) -> Option<String> {
        (others > 0).then(|| {
            format!(
                "{others} of {} are left out by ‹min-written›, ‹max-written›, ‹min-reads› or ‹max-reads›",
                number::counted(of as u64, "volume")
            )
        })
    }

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

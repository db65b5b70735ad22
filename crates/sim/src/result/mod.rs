//! The result of a run, as stable JSON: keys do not change, and names include units.
//!
//! Each part is declared by `part!` (see [`metric`](crate::metric)). A new figure is a field there.
//! Keys are added, never renamed, and their meaning does not change.

mod cleaning;
mod config;
mod front;
mod load;
mod sample;
mod settled;
mod stored;
mod times;
mod traffic;
mod wear;

use thermocline_flash::BlockId;

pub use cleaning::{Cleaning, DeadData, Map, Nftl, Predictions};
pub use config::{Config, Device, Idle, Trigger};
pub use front::{SlcCache, WriteBuffer};
pub use load::Load;
pub use sample::Sample;
pub(crate) use sample::more_programs;
pub use settled::Settled;
pub use stored::StoredResult;
pub use times::{Application, ResponseTimes, Responses};
pub use traffic::{Flash, Host, TraceInfo};
pub use wear::{Lifetime, Memory, Wear};

use crate::{
    facts::Facts,
    metric::{Format, Look, part},
};

/// Version of the structure of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 1;

/// Titles of groups in the list of one run.
const AMPLIFICATION: &str = "write amplification";
const TOGETHER: &str = "all requests together";

part! {
    /// Everything a run found out. Statistics begin after the fill.
    pub struct RunResult ("result") of facts {
        /// Version of this shape.
        pub schema_version: u32 = SCHEMA_VERSION => Look::HIDDEN,
        /// The settings of the run, with every default filled in.
        pub config: Config = Config::of(facts) => Look::HIDDEN,
        /// What it was driven by.
        pub trace: TraceInfo = TraceInfo::of(facts) => Look::HIDDEN,
        /// What the host asked.
        pub host: Host = Host::of(facts) => Look::HIDDEN,
        /// What the chip did.
        pub flash: Flash = Flash::of(facts) => Look::HIDDEN,
        /// (host + copied + metadata page programs) / host page writes; `null` without host writes.
        /// Of a sample it is an estimate for the whole device.
        pub write_amplification: Option<f64> = sample::estimate(facts) => Look::line("programs a page written", Format::Fixed(3))
            .among(AMPLIFICATION)
            .column("write\namplif.", 1)
            .less(),
        /// The same with what a drive programs beside its pages (parity, metadata): what its own counters would say.
        /// Absent for a chip without either.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub drive_write_amplification: Option<f64> = on_drive(facts)
            => Look::line("with the drive's overhead", Format::Fixed(3)).among(AMPLIFICATION).less(),
        /// Whether write amplification has settled; absent where nothing was cleaned, or too little was written to tell.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub settled: Option<Settled> = Settled::of(facts) => Look::HIDDEN,
        /// The distance to knowing the future; absent where it was not measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub oracle: Option<OracleDistance> = None => Look::HIDDEN,
        /// The sample that it was a run of; absent otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sample: Option<Sample> =
            (facts.job.input.sampled() > 1).then(|| Sample::of(facts)) => Look::HIDDEN,
        /// How cleaning went.
        pub cleaning: Cleaning = Cleaning::of(facts) => Look::HIDDEN,
        /// What the device's write buffer did; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub write_buffer: Option<WriteBuffer> =
            facts.write_buffer.map(|did| WriteBuffer::of(facts, did)) => Look::HIDDEN,
        /// What the device's SLC cache did; absent where it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub slc_cache: Option<SlcCache> =
            facts.slc_cache.map(|did| SlcCache::of(facts, did)) => Look::HIDDEN,
        /// What a map on the chip cost; absent where the map is in RAM.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub map: Option<Map> = facts.job.map_cache.map(|_| Map::of(facts)) => Look::HIDDEN,
        /// What the block-mapped layer did; absent for others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub nftl: Option<Nftl> = facts.is_nftl().then(|| Nftl::of(facts)) => Look::HIDDEN,
        /// The rate at which requests arrive; absent where it was not asked for as a load.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<Load> = facts.job.rate.as_ref().map(|rate| Load::of(facts, rate)) => Look::HIDDEN,
        /// How well the idle policy foretold the silence between requests; absent where none predicts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub predictions: Option<Predictions> =
            (facts.measured.predictions.made > 0).then(|| Predictions::of(facts)) => Look::HIDDEN,
        /// Data found dead before they were overwritten. Absent where none were.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dead_data: Option<DeadData> = facts.dead_data => Look::HIDDEN,
        /// Erase counts of all blocks since the fill.
        pub wear: Wear = Wear::of(facts) => Look::HIDDEN,
        /// How long the device lasts.
        pub lifetime: Lifetime = Lifetime::of(facts) => Look::HIDDEN,
        /// Response times, in microseconds.
        pub response_us: Responses = Responses::of(facts) => Look::HIDDEN,
        /// What all requests together waited.
        pub application: Application = Application::of(facts) => Look::HIDDEN,
        /// From the start to the end of the last request.
        pub elapsed_us: f64 = facts.measured.elapsed_ns as f64 / 1000.0
            => Look::line("elapsed", Format::Micros).among(TOGETHER),
        /// Host bytes written per second of that, in KiB; `null` where no time passed.
        pub throughput_kib_s: Option<f64> = throughput(facts)
            => Look::line("written, KiB/s", Format::Short)
                .among(TOGETHER)
                .column("KiB/s\nwritten", 23)
                .more(),
        /// Energy of the chip's operations; `null` where no source gives the device's.
        pub energy_mj: Option<f64> =
            facts.setup.plan.device.profile.energy.as_ref().map(|energy| facts.chip.energy_mj(energy))
            => Look::line("of the chip, mJ", Format::Short)
                .among("energy")
                .column("energy,\nmJ", 17)
                .less(),
        /// RAM of the layer and its policies; absent where the program's allocator does not count.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory: Option<Memory> = facts.memory_bytes.map(|_| Memory::of(facts)) => Look::HIDDEN,
        /// Each bank.
        pub banks: Vec<Bank> = banks(facts) => Look::HIDDEN,
        /// What the run itself cost; the only part that differs from run to run.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub perf: Option<Perf> = None => Look::HIDDEN,
    }
}

part! {
    /// How much more a run writes than one that knows the future, on the same input and device.
    pub struct OracleDistance ("write amplification") {
        /// The policy it was measured against.
        pub policy: String => Look::line("the oracle", Format::Plain),
        /// The write amplification of that.
        pub write_amplification: f64 => Look::line("of the oracle", Format::Fixed(3)),
        /// This run's write amplification over that one's, less 1.
        pub excess: f64
            => Look::line("over the oracle", Format::Excess).column("over\noracle", 2).less(),
    }
}

/// A bank.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Bank {
    /// Blocks erased.
    pub erases: u64,
    /// Share of its data pages that hold valid data.
    pub utilization: f64,
}

part! {
    /// What the run itself cost; the only part that differs from run to run.
    #[derive(Copy)]
    pub struct Perf ("perf (of this program)") {
        /// Seconds of the run, the fill included.
        pub wall_s: f64 => Look::line("wall time", Format::Seconds),
        /// Host page writes per second, after the fill.
        pub host_pages_per_s: f64 => Look::line("host pages a second", Format::Fixed(0)),
        /// Page programs per second, after the fill.
        pub pages_programmed_per_s: f64 => Look::line("page programs a second", Format::Fixed(0)),
        /// Most memory the process used so far.
        pub peak_rss_bytes: u64 => Look::line("most memory", Format::Bytes),
    }
}

impl RunResult {
    /// The result as a JSON value, without the part that differs from run to run.
    ///
    /// # Panics
    /// Never: all keys are strings.
    #[must_use]
    pub fn stable_json(&self) -> serde_json::Value {
        let stable = Self { perf: None, ..self.clone() };
        serde_json::to_value(stable).expect("all keys are strings")
    }

    /// Whether the policy knew the future, so that it is a reference and not a choice.
    #[must_use]
    pub fn knows_future(&self) -> bool {
        self.placement().is_some_and(thermocline_policy::placement::sees_future)
    }

    /// Whether the policy models a host that places its data, which a controller alone cannot do.
    #[must_use]
    pub fn models_host(&self) -> bool {
        self.placement().is_some_and(thermocline_policy::placement::models_host)
    }

    /// The placement, without its parameters.
    fn placement(&self) -> Option<&str> {
        self.config.placement.as_deref().and_then(|call| call.split('(').next())
    }

    /// Whether write amplification had not settled at the end of the run.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.settled.as_ref().is_some_and(|settled| !settled.settled)
    }
}

fn on_drive(facts: &Facts<'_>) -> Option<f64> {
    let profile = &facts.setup.plan.device.profile;
    let (metadata, parity) = (profile.metadata(), profile.parity());
    metadata.or(parity)?;
    let beside = |share: Option<f64>| 1.0 + share.unwrap_or(0.0);
    sample::estimate(facts).map(|pages| pages * beside(metadata) * beside(parity))
}

fn throughput(facts: &Facts<'_>) -> Option<f64> {
    let seconds = facts.measured.elapsed_ns as f64 / 1e9;
    (seconds > 0.0).then(|| facts.host_bytes() as f64 / 1024.0 / seconds)
}

fn banks(facts: &Facts<'_>) -> Vec<Bank> {
    let geometry = &facts.setup.plan.device.profile.geometry;
    let bank = |bank: u32| {
        let blocks = bank * geometry.blocks_per_bank..(bank + 1) * geometry.blocks_per_bank;
        let data = blocks.clone().filter(|b| *b < geometry.data_blocks()).count() as f64;
        let valid: u64 = blocks.clone().map(|b| u64::from(facts.valid_pages(BlockId(b)))).sum();
        Bank {
            erases: blocks.map(|b| u64::from(facts.erases[b as usize])).sum(),
            utilization: valid as f64 / (data * f64::from(facts.pages())).max(1.0),
        }
    };
    (0..geometry.banks).map(bank).collect()
}

//! The result of a run, as JSON by contract: keys are stable, units stand in their names.

use std::collections::BTreeMap;

use serde::Serialize;
use thermocline_flash::{Energy, Geometry, Kind, Profile, Rules};

use crate::metrics::{Lifetime, ResponseTimes, Wear};

/// Version of the shape of [`RunResult`].
pub const SCHEMA_VERSION: u32 = 1;

/// Everything a run found out. Statistics begin after the fill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Version of this shape.
    pub schema_version: u32,
    /// What was run, resolved: every default filled in.
    pub config: Config,
    /// What it was driven by.
    pub trace: TraceInfo,
    /// What the host asked.
    pub host: Host,
    /// What the chip did.
    pub flash: Flash,
    /// (host + copied + metadata page programs) / host page writes; absent without host writes.
    pub write_amplification: Option<f64>,
    /// The distance to knowing the future; absent where it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OracleDistance>,
    /// How cleaning went.
    pub cleaning: Cleaning,
    /// What the block-mapped layer did; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nftl: Option<Nftl>,
    /// What was known to be dead before it was overwritten; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_data: Option<DeadData>,
    /// Erase counts of all blocks since the fill.
    pub wear: Wear,
    /// Years until blocks wear out at this rate.
    pub lifetime: Lifetime,
    /// Response times, in microseconds.
    pub response_us: Responses,
    /// What all requests together waited.
    pub application: Application,
    /// From the start to the end of the last request.
    pub elapsed_us: f64,
    /// Host bytes written per second of that, in KiB; absent where no time passed.
    pub throughput_kib_s: Option<f64>,
    /// Energy of the chip's operations; absent where no source gives the device's.
    pub energy_mj: Option<f64>,
    /// Each bank.
    pub banks: Vec<Bank>,
    /// What the run itself cost; the only part that differs from run to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perf: Option<Perf>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// What the user called it.
    pub policy: String,
    /// Translation layer.
    pub layer: &'static str,
    /// Victim policy with its arguments, on the block-mapped layer the choice among pairs; `null` for
    /// the in-place baseline.
    pub victim: Option<String>,
    /// Placement with its arguments; `null` for all but the page-mapped layer.
    pub placement: Option<String>,
    /// Read-only and writable data in separate blocks.
    pub read_only_separation: bool,
    /// `none`, `swap`, or `gap` (of erase counts, on the block-mapped layer).
    pub wear_leveling: &'static str,
    /// What makes cleaning start, and the watermarks of each bank.
    pub trigger: Trigger,
    /// `static` or `dynamic`: how pages are spread over banks.
    pub bank_assignment: String,
    /// Requests worked on at once; absent where it was left open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
    /// Cleaning in idle time; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Whom the layer believes that data are dead.
    pub dead_data: String,
    /// The device.
    pub device: Device,
    /// Logical pages the device exports in this run.
    pub logical_pages: u32,
    /// Pages written in sequence before the statistics began.
    pub filled_pages: u32,
    /// Physical over logical data pages, less 1.
    pub over_provisioning: f64,
    /// Filled share of the capacity the papers speak of: data pages less the reserve.
    pub utilization: f64,
    /// `device` or `arrivals`.
    pub clock: &'static str,
    /// Time scale of age transformations where none was named.
    pub time_scale_us: f64,
    /// The seed.
    pub seed: u64,
}

/// Cleaning in idle time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idle {
    /// The idle policy with its arguments.
    pub policy: String,
    /// Free blocks in each bank at which it ends, on a page-mapped layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks: Option<u32>,
}

/// When cleaning starts and stops, in free blocks of a bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// `lazy`, `eager` or `falling`.
    pub kind: String,
    /// Blocks kept for the cleaner.
    pub reserve_blocks: u32,
    /// Cleaning starts below.
    pub low_blocks: u32,
    /// Cleaning stops at.
    pub high_blocks: u32,
    /// Blocks cleaned at once, where the placement sorts survivors.
    pub batch_blocks: u32,
}

/// The device of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// Profile.
    pub name: String,
    /// NOR or NAND.
    pub kind: Kind,
    /// Shape.
    pub geometry: Geometry,
    /// Rules of the medium.
    pub rules: Rules,
    /// Whole read of a page.
    pub read_us: f64,
    /// Whole program of a page.
    pub program_us: f64,
    /// Moving a page during cleaning.
    pub copy_us: f64,
    /// Whole erase of a block.
    pub erase_us: f64,
    /// Energy of the operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

impl From<&Profile> for Device {
    fn from(p: &Profile) -> Self {
        let us = |ns: u64| ns as f64 / 1000.0;
        Self {
            name: p.name.clone(),
            kind: p.kind,
            geometry: p.geometry,
            rules: p.rules,
            read_us: us(p.timing.read()),
            program_us: us(p.timing.program()),
            copy_us: us(p.timing.copy_ns),
            erase_us: us(p.timing.erase()),
            energy: p.energy,
        }
    }
}

/// What a run was driven by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The trace's file, or the workload's specification.
    pub path: String,
    /// SHA-256 of the decoded requests of a trace; absent for workloads, which their
    /// specification and the seed determine.
    pub digest: Option<String>,
    /// Requests of all kinds, in all loops.
    pub requests: u64,
    /// From the start to the last arrival; absent on the device's own clock.
    pub arrivals_us: Option<f64>,
}

/// What the host asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Requests of all kinds.
    pub requests: u64,
    /// Bytes of all writes, as asked.
    pub bytes_written: u64,
    /// Pages written, those written in part included.
    pub pages_written: u64,
    /// Pages read that held data, those read to be modified included.
    pub pages_read: u64,
    /// Pages trimmed.
    pub pages_trimmed: u64,
    /// Flushes.
    pub flushes: u64,
}

/// What the chip did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flash {
    /// Pages programmed, for the host and for the layer.
    pub pages_programmed: u64,
    /// Pages read, for the host and for the layer.
    pub pages_read: u64,
    /// Valid pages the layer moved; part of both.
    pub pages_copied: u64,
    /// Out-of-band areas read by themselves.
    pub oob_read: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
}

/// What the block-mapped layer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Nftl {
    /// Primary and replacement blocks folded into one.
    pub folds: u64,
    /// Those that a write to a full replacement block forced; part of `folds`.
    pub forced_folds: u64,
}

/// What was known to be dead before it was overwritten, and what knowing it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeadData {
    /// Sectors found dead.
    pub sectors_marked: u64,
    /// Sectors of those that turned out alive, before anything was lost.
    pub sectors_revived: u64,
    /// Pages that cleaning left behind because their data were dead.
    pub pages_left: u64,
    /// Blocks of nothing but dead data that were erased without a fold.
    pub blocks_reclaimed: u64,
    /// Pages read to see what a write changes.
    pub extra_reads: u64,
    /// Times a file system was recognised, since the device was new: mostly before the statistics
    /// begin.
    pub armed: u64,
    /// Times one was let go since then, for its writer did what no such file system does.
    pub disarmed: u64,
    /// Memory of the tables that this takes.
    pub memory_bytes: u64,
}

/// What all reads and writes together waited (the measures of the SLAC and FSAF thesis, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Application {
    /// Application response time: the sum of all times from arrival to end.
    pub response_us: f64,
    /// Device delay: the same, but from the end of the request before where that is later; what the
    /// device took, the waiting for cleaning in idle time included.
    pub device_delay_us: f64,
    /// Average memory write access time (W-AMAT): device delay of the writes, per page written;
    /// absent without writes.
    pub page_write_us: Option<f64>,
}

/// How much more a run writes than one that knows the future, on the same input and device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OracleDistance {
    /// The policy it was measured against.
    pub policy: String,
    /// The write amplification of that.
    pub write_amplification: f64,
    /// This run's write amplification over that one's, less 1.
    pub excess: f64,
}

/// How cleaning went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cleaning {
    /// Times cleaning was begun.
    pub runs: u64,
    /// Blocks cleaned.
    pub victims: u64,
    /// Mean share of valid pages in them; absent without victims.
    pub mean_victim_utilization: Option<f64>,
    /// The papers' simplified cleaning cost: erases + copies · ω / pages a block, ω = 0.75 being
    /// the ratio of writing a whole block to erasing it.
    pub cost: f64,
    /// The same with the device's own ratio, from its timing.
    pub cost_on_device: f64,
    /// Blocks cleaned by each rule, for policies that choose among several.
    pub choices: BTreeMap<String, u64>,
    /// Blocks cleaned in idle time; part of `victims`.
    pub idle_victims: u64,
    /// Survivors that went to another stream for want of a free block.
    pub spills: u64,
    /// Blocks erased to swap the most and the least erased.
    pub swap_erases: u64,
    /// Pages moved by those swaps.
    pub swap_copies: u64,
    /// Blocks that wore out.
    pub retired_blocks: u64,
}

/// Response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Responses {
    /// Of writes.
    pub write: ResponseTimes,
    /// Of reads.
    pub read: ResponseTimes,
}

/// A bank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bank {
    /// Blocks erased.
    pub erases: u64,
    /// Share of its data pages that hold current data.
    pub utilization: f64,
}

/// What the run itself cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Perf {
    /// Seconds of the run, the fill included.
    pub wall_s: f64,
    /// Host page writes per second, after the fill.
    pub host_pages_per_s: f64,
    /// Page programs per second, after the fill.
    pub pages_programmed_per_s: f64,
    /// Most memory the process used so far.
    pub peak_rss_bytes: u64,
}

impl RunResult {
    /// The result as a JSON value, without what differs from run to run.
    ///
    /// # Panics
    /// Never: all keys are strings.
    #[must_use]
    pub fn stable_json(&self) -> serde_json::Value {
        let stable = Self { perf: None, ..self.clone() };
        serde_json::to_value(stable).expect("all keys are strings")
    }
}

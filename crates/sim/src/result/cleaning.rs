//! Results of cleaning (garbage collection).

use std::collections::BTreeMap;

use crate::{
    facts::Facts,
    metric::{Format, Look, part},
};

/// The papers' ratio of writing a whole block to erasing it.
const OMEGA: f64 = 0.75;

part! {
    /// How cleaning (garbage collection) went.
    pub struct Cleaning ("cleaning") of facts {
        /// Times cleaning was begun.
        pub runs: u64 = facts.layer.cleaning_runs
            => Look::line("runs", Format::Count).column("cleaning\nruns", 24).less(),
        /// Blocks cleaned.
        pub victims: u64 = facts.layer.victims => Look::line("victims", Format::Count),
        /// Mean share of valid pages in them; `null` without victims.
        pub mean_victim_utilization: Option<f64> = victim_utilization(facts)
            => Look::line("victims' utilization", Format::Percent)
                .column("victims'\nutiliz.", 13)
                .less(),
        /// The papers' simplified cleaning cost: erases + copies · ω / pages a block, ω = 0.75 being
        /// the ratio of writing a whole block to erasing it.
        pub cost: f64 = cost(facts, OMEGA)
            => Look::line("cost (erases + copies · 0.75 / pages a block)", Format::Fixed(1))
                .column("cleaning\ncost", 14)
                .less(),
        /// The same with the device's own ratio, from its timing.
        pub cost_on_device: f64 = cost(facts, device_omega(facts))
            => Look::line("cost by this device's times", Format::Fixed(1)),
        /// Most flash operations that one page of the host waited for: its program, and the copies and erases
        /// before it was acknowledged. Absent where victims are cleaned whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub worst_page_operations: Option<u64> = facts.page_work.map(|work| work.worst)
            => Look::line("worst page: flash operations", Format::Count).less(),
        /// The bound of that, which holds unless the chip fails, a worn block is swapped or the layer writes
        /// records of its own. Absent where victims are cleaned whole, or steps are set too short.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bound_page_operations: Option<u64> = facts.page_work.and_then(|work| work.bound)
            => Look::line("worst page: bound", Format::Count).less(),
        /// Blocks cleaned by each rule, for policies that choose among several.
        pub choices: BTreeMap<String, u64> = facts.choices.clone() => Look::HIDDEN,
        /// What the policy reports of itself at the end of the run, in words.
        #[serde(default)]
        pub policy: BTreeMap<String, String> = facts.report.clone() => Look::HIDDEN,
        /// Blocks cleaned in idle time; part of `victims`.
        pub idle_victims: u64 = facts.layer.idle_victims
            => Look::line("victims in idle time", Format::Count).quiet(),
        /// Survivors that went to another stream for want of a free block.
        pub spills: u64 = facts.layer.spills
            => Look::line("survivors in another stream for want of room", Format::Count).quiet(),
        /// Blocks erased to swap the most and the least erased.
        pub swap_erases: u64 = facts.layer.swap_erases
            => Look::line("blocks erased by wear swaps", Format::Count).quiet(),
        /// Pages moved by those swaps.
        pub swap_copies: u64 = facts.layer.swap_copies
            => Look::line("pages copied by wear swaps", Format::Count).quiet(),
        /// Blocks that wore out.
        pub retired_blocks: u64 = facts.layer.retired
            => Look::line("blocks worn out", Format::Count).quiet(),
    }
}

part! {
    /// What a map on the chip cost; absent where the map is in RAM.
    #[derive(Copy)]
    pub struct Map ("map on the chip") of facts {
        /// Pages of the map that were programmed.
        pub pages_programmed: u64 = facts.layer.map_programs
            => Look::line("pages of it programmed", Format::Count).column("map\nprograms", 10).less(),
        /// Times it was read from the chip: an entry, or a page.
        pub reads: u64 = facts.layer.map_reads
            => Look::line("times it was read", Format::Count).column("map\nreads", 11).less(),
        /// Pages of it programmed for each page that the host wrote; `null` without host writes.
        pub programs_a_write: Option<f64> = (facts.layer.host_writes > 0)
            .then(|| facts.layer.map_programs as f64 / facts.layer.host_writes as f64)
            => Look::line("of it, a page written", Format::Fixed(3)).among("write amplification"),
        /// Share of look-ups that the cached mapping table answered; absent where there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hit_ratio: Option<f64> = facts.mapping_table
            .filter(|table| table.lookups > 0)
            .map(|table| table.hits as f64 / table.lookups as f64)
            => Look::line("look-ups that the table answered", Format::Percent).less(),
        /// Entries that left that table changed, each of which wrote a page of the map; absent where there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dirty_evictions: Option<u64> = facts.mapping_table.map(|table| table.dirty_evictions)
            => Look::line("changed entries that left the table", Format::Count),
        /// Pages of the map that garbage collection wrote; absent where there is no such table.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub gc_programs: Option<u64> = facts.mapping_table.map(|table| table.gc_programs)
            => Look::line("pages of it written by garbage collection", Format::Count),
        /// RAM that the layer takes in all, as it is on a microcontroller.
        pub ram_bytes: u64 = facts.setup.map_ram(facts.job)
            => Look::line("RAM in all", Format::Bytes),
    }
}

part! {
    /// What the block-mapped layer did; absent for others.
    #[derive(Copy, Eq)]
    pub struct Nftl ("block mapping") of facts {
        /// Primary and replacement blocks folded into one.
        pub folds: u64 = facts.layer.folds
            => Look::line("folds", Format::Count).among("cleaning").column("folds", 8).less(),
        /// Those that a write to a full replacement block forced; part of `folds`.
        pub forced_folds: u64 = facts.layer.forced_folds
            => Look::line("folds forced by a write", Format::Count).among("cleaning"),
    }
}

part! {
    /// How well the idle policy foretold the silence between requests, from arrival to arrival.
    #[derive(Copy)]
    pub struct Predictions ("predicted silence") of facts {
        /// Gaps that were predicted.
        pub gaps: u64 = facts.measured.predictions.made
            => Look::line("gaps predicted", Format::Count),
        /// Share of them of which it was right whether the longest step of cleaning (a fold) fits.
        pub right_share: f64 = share(facts.measured.predictions.right, facts)
            => Look::line("right about a step", Format::Percent).more(),
        /// Share of them in which fewer steps fitted than predicted, so that a request may have waited.
        pub too_long_share: f64 = share(facts.measured.predictions.too_long, facts)
            => Look::line("too long", Format::Percent).less(),
        /// Share of all steps that fitted into these gaps for which the predictions left room; `null`
        /// where none fitted.
        pub foreseen_share: Option<f64> = {
            let predictions = &facts.measured.predictions;
            (predictions.steps > 0).then(|| predictions.steps_foreseen as f64 / predictions.steps as f64)
        } => Look::line("of the steps that fitted", Format::Percent).more(),
        /// Mean of what the predictions missed, where the gap or the prediction is a step or longer counted in
        /// full and else not at all, in microseconds.
        pub mean_miss_us: f64 = {
            let predictions = &facts.measured.predictions;
            predictions.missed_ns as f64 / 1000.0 / predictions.made as f64
        } => Look::line("missed by, in the mean", Format::Micros).less(),
    }
}

part! {
    /// Data found dead before they were overwritten, and the cost of finding them. Absent where no
    /// policy looked for dead data and none were found.
    #[derive(Copy, Eq)]
    pub struct DeadData ("dead data") {
        /// Sectors found dead.
        pub sectors_marked: u64 => Look::line("sectors found dead", Format::Count),
        /// Sectors of those that turned out alive, before anything was lost.
        pub sectors_revived: u64 => Look::line("sectors revived", Format::Count),
        /// Pages that cleaning left behind because their data were dead.
        pub pages_left: u64 => Look::line("dead pages left behind", Format::Count),
        /// Blocks of nothing but dead data that were erased without a fold.
        pub blocks_reclaimed: u64 => Look::line("blocks erased ahead", Format::Count),
        /// Pages read to see what a write changes.
        pub extra_reads: u64 => Look::line("pages read to find them", Format::Count),
        /// Times a file system was recognised, since the device was new: mostly before the statistics
        /// begin.
        pub armed: u64 => Look::HIDDEN,
        /// Times one was let go since then, for its writer did what no such file system does.
        pub disarmed: u64 => Look::HIDDEN,
        /// Memory of the tables that this takes.
        pub memory_bytes: u64 => Look::line("memory", Format::Bytes),
    }
}

/// A share of the predicted gaps, of which there is at least one.
fn share(count: u64, facts: &Facts<'_>) -> f64 {
    count as f64 / facts.measured.predictions.made as f64
}

fn victim_utilization(facts: &Facts<'_>) -> Option<f64> {
    let layer = &facts.layer;
    (layer.victims > 0)
        .then(|| layer.victims_valid as f64 / (layer.victims as f64 * f64::from(facts.pages())))
}

fn cost(facts: &Facts<'_>, omega: f64) -> f64 {
    let layer = &facts.layer;
    layer.erases as f64 + layer.copies as f64 * omega / f64::from(facts.pages())
}

/// Time to copy a whole block relative to the time to erase it, on this device.
fn device_omega(facts: &Facts<'_>) -> f64 {
    let timing = &facts.setup.plan.device.profile.timing;
    let (copy, erase) = (timing.copy_ns, timing.erase());
    if erase > 0 { copy as f64 * f64::from(facts.pages()) / erase as f64 } else { 0.0 }
}

//! From counts and measurements to a result.

use std::collections::BTreeMap;

use thermocline_flash::{BlockId, CountingChip, Counts};
use thermocline_ftl::{Counters, DeadDataCounters, Layer};
use thermocline_policy::{params::ParamValue, preset::LayerKind};

use crate::{
    Input, RunResult,
    engine::Measured,
    job::{Clock, Job},
    metrics::{Lifetime, Wear},
    result,
    setup::Setup,
};

/// The state after the fill, where statistics begin.
pub(crate) struct Snapshot {
    counters: Counters,
    choices: Vec<(&'static str, u64)>,
    counts: Counts,
    dead_data: Option<DeadDataCounters>,
    erases: Vec<u32>,
}

impl Snapshot {
    pub(crate) fn of<L: Layer<Chip = CountingChip>>(layer: &L) -> Self {
        Self {
            counters: *layer.inspect().counters(),
            choices: layer.inspect().choices(),
            counts: *layer.chip().counts(),
            dead_data: layer.dead_data(),
            erases: layer.chip().erase_counts().to_vec(),
        }
    }

    /// Blocks chosen by each rule since then.
    fn choices<L: Layer>(&self, job: &Job<'_>, layer: &L, victims: u64) -> BTreeMap<String, u64> {
        let rules = layer.inspect().choices();
        if rules.is_empty() {
            let only = (job.policy.victim.name.clone(), victims);
            let chooses = job.policy.layer != LayerKind::InPlace;
            return chooses.then_some(only).into_iter().collect();
        }
        let before = |rule| self.choices.iter().find(|(r, _)| *r == rule).map_or(0, |(_, n)| *n);
        rules.into_iter().map(|(rule, n)| (rule.to_owned(), n - before(rule))).collect()
    }

    /// What was known to be dead, where anything was or somebody looked.
    fn dead_data<L: Layer>(&self, layer: &L, did: &Counters) -> Option<result::DeadData> {
        // A file system is mostly found before the statistics begin.
        let watched = layer.dead_data().zip(self.dead_data).map(|(now, then)| DeadDataCounters {
            armed: now.armed,
            disarmed: now.disarmed,
            ..now.since(&then)
        });
        if watched.is_none() && did.dead_left == 0 && did.reclaimed == 0 {
            return None;
        }
        let watched = watched.unwrap_or_default();
        Some(result::DeadData {
            sectors_marked: watched.sectors_marked,
            sectors_revived: watched.sectors_revived,
            pages_left: did.dead_left,
            blocks_reclaimed: did.reclaimed,
            extra_reads: watched.extra_reads,
            armed: watched.armed,
            disarmed: watched.disarmed,
            memory_bytes: watched.memory_bytes,
        })
    }

    /// The result of a run of `job` on `layer`, which held `self` after the fill.
    pub(crate) fn report<L: Layer<Chip = CountingChip>>(
        &self,
        job: &Job<'_>,
        setup: &Setup,
        layer: &L,
        measured: &Measured,
    ) -> RunResult {
        let profile = &setup.device.profile;
        let geometry = &profile.geometry;
        let pages = geometry.data_pages_per_block();
        let layer_did = layer.inspect().counters().since(&self.counters);
        let chip_did = layer.chip().counts().since(&self.counts);
        let erases: Vec<u32> = layer
            .chip()
            .erase_counts()
            .iter()
            .zip(&self.erases)
            .map(|(now, then)| now - then)
            .collect();
        let programs = layer_did.host_writes + layer_did.copies;
        let dead_data = self.dead_data(layer, &layer_did);
        let extra_reads = dead_data.as_ref().map_or(0, |dead| dead.extra_reads);
        let timing = &profile.timing;
        let ratio = |write: u64, erase: u64| {
            if erase > 0 { write as f64 * f64::from(pages) / erase as f64 } else { 0.0 }
        };
        let cost = |omega: f64| {
            layer_did.erases as f64 + layer_did.copies as f64 * omega / f64::from(pages)
        };
        let data_pages = u64::from(geometry.data_blocks()) * u64::from(pages);
        let page_size = u64::from(geometry.page_size);
        let page_mapped = job.policy.layer == LayerKind::PageMapped;
        let nftl = job.policy.layer == LayerKind::Nftl;
        let arrivals_us = measured.last_arrival_ns.map(|ns| ns as f64 / 1000.0);
        let seconds = measured.elapsed_ns as f64 / 1e9;
        RunResult {
            schema_version: result::SCHEMA_VERSION,
            config: result::Config {
                policy: job.policy.name.clone(),
                layer: job.policy.layer.name(),
                victim: (page_mapped || nftl).then(|| job.policy.victim.show()),
                placement: page_mapped.then(|| job.policy.placement.show()),
                read_only_separation: job.policy.read_only_separation,
                wear_leveling: match job.policy.layer {
                    LayerKind::Nftl if setup.levels_wear => "gap",
                    LayerKind::Nftl => "none",
                    _ if job.policy.swap => "swap",
                    _ => "none",
                },
                trigger: result::Trigger {
                    kind: job.policy.trigger.show(),
                    reserve_blocks: setup.watermarks.reserve,
                    low_blocks: setup.watermarks.low,
                    high_blocks: setup.watermarks.high,
                    batch_blocks: job.policy.batch,
                },
                bank_assignment: job.policy.bank_assignment.show(),
                queue_depth: job.queue_depth,
                // On its own clock a device is never idle, and pages in place leave nothing to clean.
                idle: job
                    .policy
                    .idle
                    .as_ref()
                    .filter(|_| measured.last_arrival_ns.is_some() && (page_mapped || nftl))
                    .map(|idle| result::Idle {
                        policy: idle.show(),
                        free_blocks: page_mapped.then_some(setup.idle_free),
                    }),
                dead_data: job.policy.dead_data.show(),
                device: profile.into(),
                logical_pages: setup.logical_pages,
                filled_pages: setup.filled_pages,
                over_provisioning: data_pages as f64 / f64::from(setup.logical_pages) - 1.0,
                utilization: f64::from(setup.filled_pages) / setup.capacity as f64,
                clock: if setup.clock == Clock::Arrivals { "arrivals" } else { "device" },
                time_scale_us: setup.time_scale_ns / 1000.0,
                seed: job.seed,
            },
            trace: match job.input {
                Input::Trace(trace, _) => result::TraceInfo {
                    path: trace.path.clone(),
                    digest: Some(trace.digest.clone()),
                    requests: measured.requests,
                    arrivals_us,
                },
                Input::Workload(workload) => result::TraceInfo {
                    path: workload.on(u64::from(setup.logical_pages) * page_size).name(),
                    digest: None,
                    requests: measured.requests,
                    arrivals_us,
                },
            },
            host: result::Host {
                requests: measured.requests,
                bytes_written: measured.bytes_written,
                pages_written: layer_did.host_writes,
                // Those of a watcher go through the same door.
                pages_read: layer_did.host_reads - extra_reads,
                pages_trimmed: layer_did.trims,
                flushes: measured.flushes,
            },
            flash: result::Flash {
                pages_programmed: chip_did.programs + chip_did.copies,
                pages_read: chip_did.reads + chip_did.copies,
                pages_copied: layer_did.copies,
                oob_read: chip_did.oob_reads,
                blocks_erased: layer_did.erases,
            },
            write_amplification: (layer_did.host_writes > 0)
                .then(|| programs as f64 / layer_did.host_writes as f64),
            oracle: None,
            cleaning: result::Cleaning {
                runs: layer_did.cleaning_runs,
                victims: layer_did.victims,
                mean_victim_utilization: (layer_did.victims > 0).then(|| {
                    layer_did.victims_valid as f64 / (layer_did.victims as f64 * f64::from(pages))
                }),
                cost: cost(0.75),
                cost_on_device: cost(ratio(timing.copy_ns, timing.erase())),
                choices: self.choices(job, layer, layer_did.victims),
                idle_victims: layer_did.idle_victims,
                spills: layer_did.spills,
                swap_erases: layer_did.swap_erases,
                swap_copies: layer_did.swap_copies,
                retired_blocks: layer_did.retired,
            },
            nftl: nftl.then_some(result::Nftl {
                folds: layer_did.folds,
                forced_folds: layer_did.forced_folds,
            }),
            dead_data,
            wear: Wear::of(&erases),
            lifetime: Lifetime::of(
                &erases[..geometry.data_blocks() as usize],
                profile.rules.endurance,
                measured.elapsed_ns,
                measured.bytes_written,
            ),
            response_us: result::Responses { write: measured.write, read: measured.read },
            application: {
                let us = |ns: u128| ns as f64 / 1000.0;
                let sums = &measured.application;
                result::Application {
                    response_us: us(sums.response_ns),
                    device_delay_us: us(sums.delay_ns),
                    page_write_us: (layer_did.host_writes > 0)
                        .then(|| us(sums.write_delay_ns) / layer_did.host_writes as f64),
                }
            },
            elapsed_us: measured.elapsed_ns as f64 / 1000.0,
            throughput_kib_s: (seconds > 0.0)
                .then(|| measured.bytes_written as f64 / 1024.0 / seconds),
            energy_mj: profile.energy.as_ref().map(|energy| chip_did.energy_mj(energy)),
            banks: (0..geometry.banks)
                .map(|bank| {
                    let blocks =
                        bank * geometry.blocks_per_bank..(bank + 1) * geometry.blocks_per_bank;
                    let data =
                        blocks.clone().filter(|b| *b < geometry.data_blocks()).count() as f64;
                    let valid: u64 = blocks
                        .clone()
                        .map(|b| u64::from(layer.inspect().valid_pages(BlockId(b))))
                        .sum();
                    result::Bank {
                        erases: blocks.map(|b| u64::from(erases[b as usize])).sum(),
                        utilization: valid as f64 / (data * f64::from(pages)).max(1.0),
                    }
                })
                .collect(),
            perf: None,
        }
    }
}

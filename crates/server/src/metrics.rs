//! Counters of a server and the state of its chips, as OpenMetrics text.
//!
//! It keeps no state: connections and layers count anyway, and a request sums their counters.

use std::{fmt, sync::Arc, sync::atomic::Ordering::Relaxed};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text::encode},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::{Registry, Unit},
};
use thermocline_ftl::{BankState, Counters as LayerCounters, DeadDataCounters};
use thermocline_media::Health;

use crate::{
    counters::{Counters, Kind, LATENCIES, latency_limit},
    device::SERVED,
    server::Shared,
    wear::{CLASSES, Wear},
};

/// Everything, in the format of OpenMetrics (Prometheus).
pub(crate) fn text(shared: &Shared) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("thermocline");
    registry.register_collector(Box::new(Snapshot::of(shared)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// The server's fault, if any.
pub(crate) fn ailment(shared: &Shared) -> Option<String> {
    if shared.stopping.load(Relaxed) {
        return Some("stopping".into());
    }
    shared.exports.iter().find_map(|export| {
        let what = export.device.ailment()?;
        Some(format!("export {:?}: {what}", export.device.name()))
    })
}

#[derive(Debug)]
struct Snapshot {
    exports: Vec<Export>,
    refused: u64,
    displaced: u64,
    stalled: u64,
    buffer_bytes: usize,
}

/// An export at one time.
#[derive(Debug)]
struct Export {
    name: Arc<str>,
    connections: usize,
    opened: u64,
    requests: Counters,
    layer: LayerCounters,
    dead_data: Option<DeadDataCounters>,
    health: Health,
    free_blocks: Option<u32>,
    choices: Vec<(&'static str, u64)>,
    banks: Vec<(String, BankState)>,
    blocks: u32,
    read_only: bool,
    worn_out: bool,
    spare_blocks: Option<u32>,
    wear: Wear,
    endurance: u32,
    recovery_s: Option<f64>,
    flushes: u64,
    flushes_idle: u64,
    syncs: u64,
    served: [u64; SERVED],
    bytes: u64,
    /// Pages verified in rounds, those that failed, and rounds.
    verified: [u64; 3],
}

impl Snapshot {
    fn of(shared: &Shared) -> Self {
        let export = |export: &crate::server::Export| {
            let device = &export.device;
            let (requests, connections, opened) = export.registry.sum();
            let commits = device.commits();
            device.look(|layer| Export {
                name: device.name().into(),
                connections,
                opened,
                requests,
                layer: *layer.inspect().counters(),
                dead_data: layer.dead_data(),
                health: layer.chip().health(),
                free_blocks: layer.inspect().free_blocks(),
                choices: layer.inspect().choices(),
                banks: (0..).map(|n: u32| n.to_string()).zip(layer.inspect().banks()).collect(),
                blocks: device.blocks(),
                read_only: device.is_read_only() || layer.inspect().is_read_only(),
                worn_out: layer.inspect().end_of_life().is_some(),
                spare_blocks: layer.inspect().spare_blocks(),
                wear: Wear::default(),
                endurance: device.about().endurance,
                recovery_s: device.recovery().map(|time| time.as_secs_f64()),
                flushes: commits.flushes.load(Relaxed),
                flushes_idle: commits.idle.load(Relaxed),
                syncs: commits.syncs.load(Relaxed),
                served: std::array::from_fn(|class| commits.served[class].load(Relaxed)),
                bytes: device.size(),
                verified: device.rounds().map_or([0; 3], |rounds| {
                    let [verified, failed] =
                        [&rounds.verified, &rounds.failed].map(|count| count.load(Relaxed));
                    [verified, failed, rounds.over(device.pages())]
                }),
            })
        };
        let mut exports: Vec<_> = shared.exports.iter().map(export).collect();
        for (one, export) in exports.iter_mut().zip(&shared.exports) {
            one.wear = Wear::of(&export.device);
        }
        Self {
            exports,
            refused: shared.refused.load(Relaxed),
            displaced: shared.displaced.load(Relaxed),
            stalled: shared.stalled.load(Relaxed),
            buffer_bytes: shared.budget.leased(),
        }
    }
}

type Labels<'a> = [(&'static str, &'a str)];

/// Writes families.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    /// A family of counters: each of `rows` is its labels and its value.
    fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Vec<(&'static str, &'l str)>, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in rows {
            let labels: &Labels<'_> = &labels;
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        rows: impl IntoIterator<Item = (Vec<(&'static str, &'l str)>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in rows {
            let labels: &Labels<'_> = &labels;
            ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Writer(encoder);
        self.requests(&mut out)?;
        self.flushes(&mut out)?;
        self.flash(&mut out)?;
        self.policy(&mut out)?;
        self.health(&mut out)?;
        self.wear(&mut out)
    }
}

impl Snapshot {
    fn by_kind<'a>(
        &'a self,
        of: impl Fn(&crate::counters::Operations) -> u64 + 'a,
    ) -> impl Iterator<Item = (Vec<(&'static str, &'a str)>, u64)> {
        self.exports.iter().flat_map(move |export| {
            let row = |kind: Kind| {
                let labels = vec![("export", &*export.name), ("operation", kind.name())];
                (labels, of(export.requests.of(kind)))
            };
            Kind::ALL.map(row)
        })
    }

    fn each<'a, T>(
        &'a self,
        of: impl Fn(&Export) -> T + 'a,
    ) -> impl Iterator<Item = (Vec<(&'static str, &'a str)>, T)> {
        self.exports.iter().map(move |export| (vec![("export", &*export.name)], of(export)))
    }

    fn each_that<'a>(
        &'a self,
        of: impl Fn(&Export) -> Option<f64> + 'a,
    ) -> impl Iterator<Item = (Vec<(&'static str, &'a str)>, f64)> {
        self.exports
            .iter()
            .filter_map(move |export| Some((vec![("export", &*export.name)], of(export)?)))
    }

    fn requests(&self, out: &mut Writer<'_>) -> fmt::Result {
        out.counters("requests", "Requests answered", self.by_kind(|it| it.answered.get()))?;
        out.counters(
            "request_bytes",
            "Bytes that requests asked for and got",
            self.by_kind(|it| it.bytes.get()),
        )?;
        out.counters(
            "request_errors",
            "Requests answered with an error",
            self.by_kind(|it| it.failed.get()),
        )?;
        let in_flight = self.each(|export| {
            let of =
                |it: &crate::counters::Operations| it.begun.get().saturating_sub(it.answered.get());
            export.requests.kinds.iter().map(of).sum::<u64>() as f64
        });
        out.gauges("requests_in_flight", "Requests begun and not answered", None, in_flight)?;
        out.gauges("connections", "Connections open", None, self.each(|e| e.connections as f64))?;
        out.counters(
            "connections_opened",
            "Connections that chose an export",
            self.each(|e| e.opened),
        )?;
        for (name, help, count) in [
            (
                "connections_refused",
                "Connections turned away, as there were too many",
                self.refused,
            ),
            ("handshakes_displaced", "Handshakes cut off to let others in", self.displaced),
            ("connections_stalled", "Connections cut off for want of progress", self.stalled),
        ] {
            let descriptor = out.0.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(count).encode(descriptor)?;
        }
        let help = "Memory that connections use for large buffers";
        let unit = Some(&Unit::Bytes);
        let descriptor =
            out.0.encode_descriptor("connection_buffers", help, unit, MetricType::Gauge)?;
        ConstGauge::new(self.buffer_bytes as f64).encode(descriptor)?;
        out.counters(
            "receive_calls",
            "System calls that received",
            self.each(|e| e.requests.receives.get()),
        )?;
        out.counters(
            "send_calls",
            "System calls that sent",
            self.each(|e| e.requests.sends.get()),
        )?;
        out.counters(
            "device_delay_nanoseconds",
            "From the receipt of a request, or the answer before it if that is later, to its answer",
            self.by_kind(|it| it.delay_ns.get()),
        )?;
        let mut family = out.0.encode_descriptor(
            "request_duration",
            "From the receipt of a request to its answer",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        for export in &self.exports {
            for kind in Kind::ALL {
                let it = export.requests.of(kind);
                let labels: &Labels<'_> = &[("export", &*export.name), ("operation", kind.name())];
                let mut buckets: [(f64, u64); LATENCIES] =
                    std::array::from_fn(|class| (latency_limit(class), it.latency[class].get()));
                buckets[LATENCIES - 1].0 = f64::INFINITY;
                let count = buckets.iter().map(|bucket| bucket.1).sum();
                let sum = it.latency_ns.get() as f64 / 1e9;
                family
                    .encode_family(&labels)?
                    .encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)?;
            }
        }
        Ok(())
    }

    fn flushes(&self, out: &mut Writer<'_>) -> fmt::Result {
        out.counters(
            "flushes",
            "Flushes, and writes that had to last, by hosts",
            self.each(|e| e.flushes),
        )?;
        out.counters(
            "flushes_idle",
            "Those that found everything lasting already",
            self.each(|e| e.flushes_idle),
        )?;
        out.counters(
            "fua_requests",
            "Writes and the like that had to last before their answer (FUA)",
            self.each(|e| e.requests.fua.get()),
        )?;
        out.counters("syncs", "Syncs of the chip for them", self.each(|e| e.syncs))?;
        let mut family = out.0.encode_descriptor(
            "flushes_per_sync",
            "Flushes that one sync served",
            None,
            MetricType::Histogram,
        )?;
        for export in &self.exports {
            let labels: &Labels<'_> = &[("export", &*export.name)];
            let mut buckets: [(f64, u64); SERVED] =
                std::array::from_fn(|class| ((1_u64 << class) as f64, export.served[class]));
            buckets[SERVED - 1].0 = f64::INFINITY;
            let served = (export.flushes - export.flushes_idle) as f64;
            family.encode_family(&labels)?.encode_histogram::<[(&str, &str); 0]>(
                served,
                export.syncs,
                &buckets,
                None,
            )?;
        }
        Ok(())
    }

    fn flash(&self, out: &mut Writer<'_>) -> fmt::Result {
        let l = |of: fn(&LayerCounters) -> u64| self.each(move |export| of(&export.layer));
        out.counters("host_pages_written", "Pages that hosts wrote", l(|c| c.host_writes))?;
        out.counters("host_pages_read", "Pages with data that hosts read", l(|c| c.host_reads))?;
        out.counters("host_pages_trimmed", "Pages with data that hosts trimmed", l(|c| c.trims))?;
        out.counters(
            "flash_pages_programmed",
            "Pages written for hosts or moved",
            l(|c| c.host_writes + c.fills + c.copies),
        )?;
        out.counters(
            "index_pages_programmed",
            "Pages of the index log written: trims, checkpoints; in no other figure",
            l(|c| c.index_programs),
        )?;
        out.counters("flash_pages_copied", "Pages moved by cleaning", l(|c| c.copies))?;
        out.counters("flash_blocks_erased", "Blocks erased", l(|c| c.erases))?;
        out.counters("folds", "Pairs of blocks folded into one (NFTL)", l(|c| c.folds))?;
        out.counters("folds_forced", "Folds that a write waited for", l(|c| c.forced_folds))?;
        out.counters("cleaning_runs", "Times cleaning was begun", l(|c| c.cleaning_runs))?;
        out.counters("cleaning_victims", "Blocks cleaned", l(|c| c.victims))?;
        out.counters(
            "cleaning_victims_idle",
            "Blocks cleaned in idle time",
            l(|c| c.idle_victims),
        )?;
        out.counters(
            "blocks_scrubbed",
            "Blocks whose data were moved as they were hard to read",
            l(|c| c.scrubbed),
        )?;
        out.counters(
            "pages_lost",
            "Pages found that cannot be read any more",
            l(|c| c.pages_lost),
        )?;
        out.counters(
            "pages_misplaced",
            "Reads and moves that found another page's data or older ones, and were refused",
            l(|c| c.misplaced),
        )?;
        for (at, name, help) in [
            (0, "scrub_pages_verified", "Pages with data that the scrubber read and verified"),
            (1, "scrub_pages_failed", "Pages that the scrubber could not read"),
            (2, "scrub_rounds", "Times that the scrubber went through all pages"),
        ] {
            out.counters(name, help, self.each(|e| e.verified[at]))?;
        }
        let found = self.each(|e| e.dead_data.map_or(0, |dead| dead.sectors_marked));
        out.counters("dead_sectors_found", "Sectors found dead without a trim", found)?;
        let free = self.each_that(|e| e.free_blocks.map(f64::from));
        out.gauges("free_blocks", "Erased blocks to write to", None, free)?;
        out.gauges("blocks", "Erase blocks of the chip", None, self.each(|e| f64::from(e.blocks)))?;
        out.gauges(
            "export_size",
            "Size of the export",
            Some(&Unit::Bytes),
            self.each(|e| e.bytes as f64),
        )?;
        let read_only = self.each(|e| f64::from(u8::from(e.read_only)));
        out.gauges("read_only", "1 if the export takes no writes", None, read_only)?;
        let worn_out = self.each(|e| f64::from(u8::from(e.worn_out)));
        let help = "1 if the chip takes no more writes: too few blocks, or no index log, are left";
        out.gauges("worn_out", help, None, worn_out)?;
        let spare = self.each_that(|e| e.spare_blocks.map(f64::from));
        let help = "Blocks that may fail before the chip takes no more writes";
        out.gauges("spare_blocks", help, None, spare)?;
        let recovery = self.each_that(|e| e.recovery_s);
        out.gauges("recovery", "What the last mount took", Some(&Unit::Seconds), recovery)
    }

    /// Decisions of the policies, and their results in each bank.
    fn policy(&self, out: &mut Writer<'_>) -> fmt::Result {
        let l = |of: fn(&LayerCounters) -> u64| self.each(move |export| of(&export.layer));
        let choices = self.exports.iter().flat_map(|export| {
            let row = |(rule, count): &(&'static str, u64)| {
                (vec![("export", &*export.name), ("rule", *rule)], *count)
            };
            export.choices.iter().map(row)
        });
        out.counters(
            "victim_choices",
            "Blocks that each rule of the victim policy chose",
            choices,
        )?;
        let help = "Survivors that went to another stream than their own for want of a free block";
        out.counters("pages_spilled", help, l(|c| c.spills))?;
        let help = "Blocks erased to swap the most and the least erased";
        out.counters("swap_erases", help, l(|c| c.swap_erases))?;
        out.counters("swap_copies", "Pages moved by those swaps", l(|c| c.swap_copies))?;
        let help = "Erased blocks to write to, by bank";
        out.gauges("bank_free_blocks", help, None, self.by_bank(|bank| bank.free_blocks.into()))?;
        let help = "Pages with current data, by bank";
        out.gauges("bank_current_pages", help, None, self.by_bank(|b| b.current_pages.into()))?;
        let help = "Blocks of read-only data, by bank";
        let blocks = self.by_bank(|bank| bank.read_only_blocks.into());
        out.gauges("bank_read_only_blocks", help, None, blocks)?;
        let help = "Pages with current data in blocks of read-only data, by bank";
        let pages = self.by_bank(|bank| bank.read_only_pages.into());
        out.gauges("bank_read_only_pages", help, None, pages)?;
        let help = "Blocks erased, by bank";
        out.counters("bank_blocks_erased", help, self.by_bank(|bank| bank.erases))
    }

    fn by_bank<'a, T: 'a>(
        &'a self,
        of: fn(&BankState) -> T,
    ) -> impl Iterator<Item = (Vec<(&'static str, &'a str)>, T)> {
        self.exports.iter().flat_map(move |export| {
            let row = move |(number, bank): &'a (String, BankState)| {
                (vec![("export", &*export.name), ("bank", &**number)], of(bank))
            };
            export.banks.iter().map(row)
        })
    }

    fn health(&self, out: &mut Writer<'_>) -> fmt::Result {
        let h = |of: fn(&Health) -> u64| self.each(move |export| of(&export.health));
        out.counters(
            "corrected_reads",
            "Reads in which bits were corrected",
            h(|h| h.corrected_reads),
        )?;
        out.counters("failed_reads", "Reads that could not be corrected", h(|h| h.failed_reads))?;
        out.counters(
            "failed_programs",
            "Pages that could not be programmed",
            // A medium may not count, and the layer does not count failures in its index log.
            self.each(|e| e.health.failed_programs.max(e.layer.programs_failed)),
        )?;
        let erases = self.each(|e| e.health.failed_erases.max(e.layer.erases_failed));
        out.counters("failed_erases", "Blocks that could not be erased", erases)?;
        out.counters("medium_syncs", "Syncs of the system below", h(|h| h.syncs))?;
        let bad = self.each(|e| f64::from(e.health.bad_blocks));
        out.gauges("bad_blocks", "Blocks that must not be used", None, bad)
    }

    fn wear(&self, out: &mut Writer<'_>) -> fmt::Result {
        let help = "Erase count of the block erased least";
        out.gauges("wear_min", help, None, self.each(|e| f64::from(e.wear.min)))?;
        out.gauges("wear_mean", "Mean erase count", None, self.each(|e| e.wear.mean()))?;
        let help = "Erase count of the block erased most";
        out.gauges("wear_max", help, None, self.each(|e| f64::from(e.wear.max)))?;
        let help = "Erases that a block is rated for";
        out.gauges("wear_rating", help, None, self.each(|e| f64::from(e.endurance)))?;
        let help = "Blocks by erase count";
        let mut family = out.0.encode_descriptor("wear", help, None, MetricType::Histogram)?;
        for export in &self.exports {
            let labels: &Labels<'_> = &[("export", &*export.name)];
            let limit = |class: usize| match class {
                0 => 0.0,
                class if class == CLASSES - 1 => f64::INFINITY,
                class => (1_u64 << (class - 1)) as f64,
            };
            let buckets: [(f64, u64); CLASSES] =
                std::array::from_fn(|class| (limit(class), export.wear.classes[class]));
            let (sum, count) = (export.wear.sum as f64, export.wear.blocks);
            family
                .encode_family(&labels)?
                .encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}

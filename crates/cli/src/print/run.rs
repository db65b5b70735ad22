//! One run for people: names and values, grouped as in the JSON result.

use thermocline_sim::{RunResult, metrics::ResponseTimes, units};

use super::{
    number::{self, NONE, grouped, percent, time_us},
    table::Pairs,
};
use crate::output::Output;

/// The run as text.
pub fn show(run: &RunResult, output: &Output) -> String {
    let mut pairs = Pairs::new(output);
    config(run, &mut pairs);
    traffic(run, &mut pairs);
    cleaning(run, &mut pairs);
    life(run, &mut pairs);
    times(run, &mut pairs);
    perf(run, &mut pairs);
    pairs.finish()
}

fn config(run: &RunResult, pairs: &mut Pairs) {
    let config = &run.config;
    pairs.group("config");
    pairs.add("policy", &config.policy);
    match (&config.victim, &config.placement) {
        (Some(victim), Some(placement)) => {
            pairs.add("victim, placement", format!("{victim}, {placement}"));
        }
        (Some(victim), None) => pairs.add("layer, victims", format!("{}, {victim}", config.layer)),
        _ => {}
    }
    if config.dead_data != "trim" {
        pairs.add("dead data", &config.dead_data);
    }
    if config.read_only_separation || config.wear_leveling != "none" {
        let apart = config.read_only_separation.then_some("read-only data apart");
        let wear = format!("wear leveling: {}", config.wear_leveling);
        let wear = (config.wear_leveling != "none").then_some(wear.as_str());
        pairs.add("also", apart.into_iter().chain(wear).collect::<Vec<_>>().join(", "));
    }
    let geometry = &config.device.geometry;
    pairs.add(
        "device",
        format!(
            "{}: {}, pages of {}, blocks of {}",
            config.device.name,
            units::show_size(geometry.capacity()),
            units::show_size(geometry.page_size.into()),
            units::show_size(geometry.block_size()),
        ),
    );
    let filled = u64::from(config.filled_pages) * u64::from(geometry.page_size);
    pairs.add(
        "filled",
        format!(
            "{} ({} utilization, {} over-provisioning)",
            units::show_size(filled),
            percent(config.utilization),
            percent(config.over_provisioning)
        ),
    );
    if geometry.banks > 1 {
        let channels = match geometry.channels {
            1 => "1 channel".to_owned(),
            n => format!("{n} channels"),
        };
        let banks =
            format!("{} on {channels}, {} assignment", geometry.banks, config.bank_assignment);
        pairs.add("banks", banks);
    }
    let trigger = &config.trigger;
    if trigger.kind != "lazy" || trigger.batch_blocks > 1 || config.idle.is_some() {
        let mut how = vec![trigger.kind.clone()];
        how.extend(
            (trigger.batch_blocks > 1).then(|| format!("{} blocks at once", trigger.batch_blocks)),
        );
        how.extend(config.idle.as_ref().map(|idle| match idle.free_blocks {
            Some(free) => format!("idle: {} until {free} blocks are free", idle.policy),
            None => format!("idle: {}", idle.policy),
        }));
        pairs.add("cleaning starts", how.join(", "));
    }
    pairs.add("clock, seed", format!("{}, {}", config.clock, config.seed));
    pairs.add("input", format!("{} ({} requests)", run.trace.path, grouped(run.trace.requests)));
}

fn traffic(run: &RunResult, pairs: &mut Pairs) {
    let (host, flash) = (&run.host, &run.flash);
    pairs.group("host");
    pairs.add("pages written", grouped(host.pages_written));
    pairs.add("pages read", grouped(host.pages_read));
    pairs.add("pages trimmed", grouped(host.pages_trimmed));
    pairs.add("flushes", grouped(host.flushes));
    pairs.group("flash");
    pairs.add("pages programmed", grouped(flash.pages_programmed));
    pairs.add("pages read", grouped(flash.pages_read));
    pairs.add("pages copied", grouped(flash.pages_copied));
    pairs.add("blocks erased", grouped(flash.blocks_erased));
    pairs.group("write amplification");
    let amplification = run.write_amplification;
    pairs.add("programs a page written", optional(amplification, |x| number::fixed(x, 3)));
    if let Some(oracle) = &run.oracle {
        let (excess, least) =
            (number::excess(oracle.excess), number::fixed(oracle.write_amplification, 3));
        pairs.add("over the oracle", format!("{excess} ({least} by {})", oracle.policy));
    }
}

fn cleaning(run: &RunResult, pairs: &mut Pairs) {
    let cleaning = &run.cleaning;
    pairs.group("cleaning");
    pairs
        .add("runs, victims", format!("{}, {}", grouped(cleaning.runs), grouped(cleaning.victims)));
    pairs.add("victims' utilization", optional(cleaning.mean_victim_utilization, percent));
    pairs.add("cost (erases + copies · 0.75 / pages a block)", number::fixed(cleaning.cost, 1));
    pairs.add("cost by this device's times", number::fixed(cleaning.cost_on_device, 1));
    if cleaning.choices.len() > 1 {
        for (rule, count) in &cleaning.choices {
            pairs.add(&format!("chosen by {rule}"), grouped(*count));
        }
    }
    if cleaning.idle_victims > 0 {
        pairs.add("victims in idle time", grouped(cleaning.idle_victims));
    }
    if let Some(nftl) = &run.nftl {
        let folds = (grouped(nftl.folds), grouped(nftl.forced_folds));
        pairs.add("folds, forced by a write", format!("{}, {}", folds.0, folds.1));
    }
    if let Some(dead) = &run.dead_data {
        let sectors = (grouped(dead.sectors_marked), grouped(dead.sectors_revived));
        pairs.add("sectors found dead, revived", format!("{}, {}", sectors.0, sectors.1));
        pairs.add("dead pages left behind", grouped(dead.pages_left));
        pairs.add("blocks erased ahead", grouped(dead.blocks_reclaimed));
        let cost = (grouped(dead.extra_reads), units::show_size(dead.memory_bytes));
        pairs.add("cost: pages read, memory", format!("{}, {}", cost.0, cost.1));
    }
    if cleaning.spills > 0 {
        pairs.add("survivors in another stream for want of room", grouped(cleaning.spills));
    }
    if cleaning.swap_erases > 0 {
        let swaps = (grouped(cleaning.swap_erases), grouped(cleaning.swap_copies));
        pairs.add("swaps for wear: erases, copies", format!("{}, {}", swaps.0, swaps.1));
    }
    if cleaning.retired_blocks > 0 {
        pairs.add("blocks worn out", grouped(cleaning.retired_blocks));
    }
}

fn life(run: &RunResult, pairs: &mut Pairs) {
    let wear = &run.wear;
    pairs.group("wear (erases a block)");
    pairs.add("mean", number::fixed(wear.mean, 2));
    pairs.add("standard deviation", number::fixed(wear.stddev, 2));
    pairs.add("least, most", format!("{}, {}", grouped(wear.min.into()), grouped(wear.max.into())));
    pairs.group("lifetime at this rate");
    let life = &run.lifetime;
    let until = |time: Option<f64>, bytes: Option<f64>| match bytes {
        Some(bytes) => {
            let written = units::show_size(bytes as u64);
            format!("{}, {written} written", optional(time, years))
        }
        None => NONE.into(),
    };
    pairs.add("first block worn out", until(life.first_block_years, life.first_block_host_bytes));
    pairs.add("half of the blocks", until(life.median_block_years, life.median_block_host_bytes));
}

fn times(run: &RunResult, pairs: &mut Pairs) {
    pairs.group("response times");
    let row = |t: &ResponseTimes| {
        format!(
            "mean {}, median {}, 99 % {}, 99.9 % {}, longest {}",
            optional(t.mean, time_us),
            optional(t.p50, time_us),
            optional(t.p99, time_us),
            optional(t.p999, time_us),
            optional(t.max, time_us)
        )
    };
    if run.response_us.write.mean.is_some() {
        pairs.add("writes", row(&run.response_us.write));
    }
    if run.response_us.read.mean.is_some() {
        pairs.add("reads", row(&run.response_us.read));
    }
    let application = &run.application;
    pairs.add("all together", time_us(application.response_us));
    pairs.add("device delay", time_us(application.device_delay_us));
    pairs.add("delay of a page written", optional(application.page_write_us, time_us));
    pairs.add("elapsed", time_us(run.elapsed_us));
    let throughput = optional(run.throughput_kib_s, |k| format!("{} KiB/s", number::short(k)));
    pairs.add("written", throughput);
    if let Some(energy) = run.energy_mj {
        pairs.group("energy");
        pairs.add("of the chip", format!("{} mJ", number::short(energy)));
    }
}

fn perf(run: &RunResult, pairs: &mut Pairs) {
    let Some(perf) = &run.perf else { return };
    pairs.group("perf (of this program)");
    pairs.add("wall time", time_us(perf.wall_s * 1e6));
    pairs.add("page programs a second", number::fixed(perf.pages_programmed_per_s, 0));
    pairs.add("most memory", units::show_size(perf.peak_rss_bytes));
}

/// Years as people think of them.
pub fn years(years: f64) -> String {
    const DAYS: f64 = 365.25;
    if years >= 1.0 {
        format!("{} years", number::short(years))
    } else {
        format!("{} days", number::short(years * DAYS))
    }
}

fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| NONE.into(), show)
}

//! One run for people: names and values, grouped as in the JSON result.

use thermocline_chart::show::plain;
use thermocline_sim::{
    RunResult,
    metric::{self, Format},
};
use thermocline_study::Door;
use thermocline_units as units;

use super::{
    figure,
    number::{self, grouped, percent},
    table::{Pairs, USUAL_WIDTH, heading, wrap},
};
use crate::output::Output;

/// The run as text.
pub fn show(run: &RunResult, output: &Output) -> String {
    let mut pairs = Pairs::new(output);
    config(run, &mut pairs);
    metrics(run, &mut pairs);
    let width = output.width().unwrap_or(USUAL_WIDTH);
    format!("{}{}\n", pairs.finish(), heading(&wrap(&life(run), width)))
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
    pairs.add(
        "input",
        format!("{} ({} requests)", plain(&run.trace.path), grouped(run.trace.requests)),
    );
}

/// A group of metrics, each with its value as text.
type Group = (&'static str, Vec<(&'static str, String)>);

/// Every metric that has a title, in its group.
fn groups(run: &RunResult) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for metric in metric::metrics().iter().filter(|metric| !metric.title.is_empty()) {
        let value = metric.of(run);
        let is_zero = value.as_f64() == Some(0.0);
        if metric.optional && value.is_null() || metric.look.quiet && is_zero {
            continue;
        }
        let mut shown = figure::show(metric.look.format, &value);
        if metric.is_of_queue(run) && !value.is_null() {
            shown += " (overloaded)";
        }
        let member = (metric.title.as_str(), shown);
        match groups.iter_mut().find(|(name, _)| *name == metric.group()) {
            Some((_, members)) => members.push(member),
            None => groups.push((metric.group(), vec![member])),
        }
    }
    groups
}

fn metrics(run: &RunResult, pairs: &mut Pairs) {
    for (name, members) in groups(run) {
        pairs.group(name);
        for (title, value) in members {
            pairs.add(title, value);
        }
        if name == "cleaning" {
            choices(run, pairs);
            for (name, what) in &run.cleaning.policy {
                pairs.add(name, what.clone());
            }
        }
    }
}

/// The metrics as a Markdown table.
pub fn markdown(run: &RunResult) -> String {
    let mut text = format!("{} on {}\n\n", run.config.policy, plain(&run.trace.path));
    text += "| metric | value |\n|---|---:|\n";
    for (name, members) in groups(run) {
        for (title, value) in members {
            text += &format!("| {name}: {title} | {value} |\n");
        }
    }
    format!("{text}\n{}\n", life(run))
}

/// The victims chosen by each of several rules.
fn choices(run: &RunResult, pairs: &mut Pairs) {
    let choices = &run.cleaning.choices;
    for (rule, count) in choices.iter().filter(|_| choices.len() > 1) {
        pairs.add(&format!("chosen by {rule}"), grouped(*count));
    }
}

/// How long the flash lasts, in a sentence.
fn life(run: &RunResult) -> String {
    let life = &run.lifetime;
    let Some(tbw) = life.tbw_bytes else {
        return "Nothing was erased: no lifetime can be extrapolated.".into();
    };
    let device = &run.config.device;
    let source = device
        .endurance_source
        .as_deref()
        .map_or_else(String::new, |source| format!(" ({})", source.trim_end_matches('.')));
    let mut text = format!(
        "Lifetime, extrapolated from {} to {} P/E cycles{source}: {} of host writes",
        number::counted(life.from_erases, "erase"),
        grouped(device.rules.endurance.into()),
        figure::show_number(Format::DecimalBytes, tbw),
    );
    text += &match life.years.zip(life.at_bytes_per_day) {
        Some((years, rate)) if !life.overloaded => format!(
            ", which is {} at {} a day.",
            figure::show_number(Format::Years, years),
            figure::show_number(Format::DecimalBytes, rate),
        ),
        _ => ".".to_owned(),
    };
    if life.few_erases {
        text += " Fewer than one erase a block: too few to rely on.";
    }
    text += &Door::CommandLine.words(&super::answer::settling(run));
    if let Some(factor) = life.time_factor.filter(|_| life.overloaded) {
        text += &format!(
            " The device is overloaded: it would need {} × the time the trace has.",
            number::short(factor)
        );
    }
    text
}

//! The device found for a drive.

use serde_json::{Value, json};
use thermocline_flash::Profile;
use thermocline_identify::{Identified, MeasuredRun, Ranked};
use thermocline_units::show_size;

use super::table::{Figures, heading, width as width_of, wrap};

/// A measurement that separates families by less than this is useless.
const TELLS: f64 = 0.03;
/// Measurements that are proposed.
const PROPOSED: usize = 2;

/// The largest error of the best fit in the last quarter of a run.
pub fn worst(found: &Identified) -> f64 {
    let ends = found.best().fit.runs.iter().map(|run| run.distance.last_quarter.abs());
    ends.fold(0.0, f64::max)
}

/// The ranking, and the answer.
pub fn show(found: &Identified, runs: &[MeasuredRun], width: usize) -> String {
    let mut text = heading("families, the best first; * as good as the best") + "\n";
    // Where there are many runs, only JSON has the error of each.
    let wide = table(found, runs.len());
    let fits = width_of(&wide) <= width;
    text += &(if fits { wide } else { table(found, 0) } + "\n");
    for (at, run) in runs.iter().enumerate() {
        let end = run.curve.last_quarter();
        let tells = match found.tells[at] {
            _ if found.ranking.len() < 2 => "one family was tried".into(),
            apart if apart < TELLS => "distinguishes no families".into(),
            apart => format!("moves families by {:.0} %", apart * 100.0),
        };
        text += &format!(
            "run {}: {}: measured {end:.3} in the last quarter; {tells}\n",
            at + 1,
            run.name
        );
    }
    let scale = format!(
        "{} simulations of drives with 1/{} of the pages{}.",
        found.simulations,
        found.scale,
        found.of_scale.map_or(String::new(), |change| format!(
            "; twice as many change the last quarter by at most {:.1} %",
            change * 100.0
        ))
    );
    text += &(wrap(&scale, width) + "\n");
    for line in answer(found, runs) {
        text += &(wrap(&line, width) + "\n");
    }
    text
}

/// The ranking, with the errors of each run.
fn table(found: &Identified, runs: usize) -> String {
    let header = ["family", "over-\nprov.", "super-\nblocks", "distance"].map(str::to_owned);
    let of_runs = (1..=runs).map(|number| format!("run {number}"));
    let mut table = Figures::new(header.into_iter().chain(of_runs));
    for one in &found.ranking {
        let fit = &one.fit;
        let mark = if one.as_good { " *" } else { "" };
        let mut row = vec![
            format!("{}{mark}", fit.model.family.name),
            format!("{:.1} %", fit.model.over_provisioning * 100.0),
            fit.model.superblocks.to_string(),
            format!("{:.1} %", fit.distance * 100.0),
        ];
        let errors = fit.runs.iter().take(runs).map(|run| run.distance.last_quarter * 100.0);
        row.extend(errors.map(|percent| format!("{percent:+.1} %")));
        table.row(row);
    }
    table.finish(None)
}

/// The answer in sentences.
pub fn answer(found: &Identified, runs: &[MeasuredRun]) -> Vec<String> {
    let best = found.best();
    let (fit, model) = (&best.fit, &best.fit.model);
    let mut lines = Vec::new();
    if found.stopped {
        lines.push("The search was stopped; this is what it had.".to_owned());
    }
    let overhead = match fit.overhead {
        Some(share) => format!("{:.1} % programmed beside the pages", share * 100.0),
        None => "what it programs beside the pages is unknown: 0 assumed; write in sequence to measure it".into(),
    };
    let range = best.over_provisioning.map_or(String::new(), |(low, high)| {
        format!(" ({:.1} to {:.1} % fit as well)", low * 100.0, high * 100.0)
    });
    lines.push(format!(
        "Answer: {}, {:.1} % over-provisioning{range}, {} superblocks{}, {overhead}{}.",
        model.family.name,
        model.over_provisioning * 100.0,
        model.superblocks,
        superblocks(best),
        if found.slc_cache.is_some() { ", behind an SLC cache of unknown size" } else { "" },
    ));
    lines.push(format!(
        "Write amplification in the last quarter is off by at most {:.1} %, whole curves by {:.1} % (rms).",
        worst(found) * 100.0,
        fit.runs.iter().map(|run| run.distance.curve).fold(0.0, f64::max) * 100.0
    ));
    for (run, fit) in runs.iter().zip(&fit.runs) {
        if let Some(state) = fit.state {
            lines.push(format!("{}: fits best after a drive that was {state}.", run.name));
        }
    }
    let others: Vec<_> = found.ranking.iter().skip(1).filter(|one| one.as_good).collect();
    if !others.is_empty() {
        let names: Vec<_> = others.iter().map(|one| one.fit.model.family.name.as_str()).collect();
        lines.push(format!("Not distinguished from it: {}.", names.join("; ")));
    }
    for next in found.next.iter().take(PROPOSED) {
        let request = next
            .request_bytes
            .map_or(String::new(), |bytes| format!(" in requests of {}", show_size(bytes)));
        let values: Vec<_> =
            next.predicted.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
        lines.push(format!(
            "Measure next: {}{request} for {} capacities after a {} fill: {}.",
            next.workload,
            next.capacities,
            next.state,
            values.join(", ")
        ));
    }
    lines
}

fn superblocks(best: &Ranked) -> String {
    let (least, most) = (best.superblocks.iter().min(), best.superblocks.iter().max());
    match (least, most) {
        (Some(least), Some(most)) if least < most => format!(" ({least} to {most} fit as well)"),
        _ => String::new(),
    }
}

/// The result as JSON.
pub fn value(found: &Identified, runs: &[MeasuredRun], profile: &Profile) -> Value {
    let ranked = |one: &Ranked| {
        let fit = &one.fit;
        json!({
            "family": fit.model.family.name,
            "victim": fit.model.family.policy.victim.show(),
            "placement": fit.model.family.policy.placement.show(),
            "over_provisioning": fit.model.over_provisioning,
            "over_provisioning_as_good": one.over_provisioning,
            "superblocks": fit.model.superblocks,
            "superblocks_as_good": one.superblocks,
            "overhead": fit.overhead,
            "distance": fit.distance,
            "as_good": one.as_good,
            "runs": fit.runs,
        })
    };
    let run = |(run, tells): (&MeasuredRun, &f64)| {
        json!({
            "name": run.name,
            "write_amplification": run.curve.last_quarter(),
            "tells": tells,
        })
    };
    let next = found.next.iter().map(|next| {
        json!({
            "workload": next.workload,
            "request_bytes": next.request_bytes,
            "preconditioned": next.state,
            "capacities": next.capacities,
            "write_amplification": next.predicted.iter().cloned()
                .map(|(name, value)| (name, value.into())).collect::<serde_json::Map<_, _>>(),
            "differs": next.differs,
        })
    });
    json!({
        "answer": answer(found, runs),
        "ranking": found.ranking.iter().map(ranked).collect::<Vec<_>>(),
        "runs": runs.iter().zip(&found.tells).map(run).collect::<Vec<_>>(),
        "next": next.collect::<Vec<_>>(),
        "simulations": found.simulations,
        "scale": found.scale,
        "of_scale": found.of_scale,
        "stopped": found.stopped,
        "profile": profile,
    })
}

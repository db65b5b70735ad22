//! The result of a search.

use comfy_table::{Attribute, Cell};
use serde_json::{Value, json};
use thermocline_sim::metric::{self, Metric};
use thermocline_study::tune::{Figures as Found, Tried, Tuned};

use super::{
    figure,
    number::{self, NONE},
    table::{Figures, MARK, heading, wrap},
};

/// Characters in a line of a policy and its parameters, at least.
const LABEL: usize = 30;
/// Characters that the figures beside it take.
const BESIDE: usize = 50;
/// Members of the front that are shown.
const SHOWN: usize = 12;

/// The choice, its metric, the Pareto front, and the answer.
pub fn show(tuned: &Tuned, aim: &'static Metric, width: usize, markdown: bool) -> String {
    let title = |text: &str| if markdown { format!("{text}\n\n") } else { heading(text) + "\n" };
    let table = |all: &[&Tried]| {
        let table = rows(all, tuned, aim, width);
        if markdown { table.markdown() } else { table.finish(None) + "\n" }
    };
    let mut chosen = vec![&tuned.best];
    if tuned.untuned.command != tuned.best.command {
        chosen.push(&tuned.untuned);
    }
    let mut text = title(&format!("{}: the choice, and the best policy as it comes", aim.key));
    text += &table(&chosen);
    let front: Vec<_> = tuned.front.iter().take(SHOWN).collect();
    text +=
        &title("least write amplification, RAM and write p99: nothing beats these in all three");
    text += &table(&front);
    if let Some(more @ 1..) = tuned.front.len().checked_sub(SHOWN) {
        text += &format!("{} more in --json\n", number::counted(more as u64, "choice"));
    }
    text + &wrap(&answer(tuned, aim), width) + "\n"
}

/// The result of a search on a volume.
pub struct OfVolume {
    /// The trace.
    pub trace: String,
    /// The volume.
    pub volume: String,
    /// The result, or why there is none.
    pub tuned: Result<Tuned, String>,
}

/// As programs read it: an object a volume.
pub fn listed(found: &[OfVolume]) -> Vec<Value> {
    let one = |one: &OfVolume| match &one.tuned {
        Ok(tuned) => json!({ "trace": one.trace, "volume": one.volume, "tuned": tuned }),
        Err(error) => json!({ "trace": one.trace, "volume": one.volume, "error": error }),
    };
    found.iter().map(one).collect()
}

/// A row for each volume, and how often each policy was chosen.
pub fn volumes(found: &[OfVolume], aim: &'static Metric, width: usize, markdown: bool) -> String {
    let name = if aim.header.is_empty() { &aim.key } else { &aim.header };
    let header = ["volume", "policy", name, "as it\ncomes", "gain"];
    let mut table = Figures::new(header.map(str::to_owned));
    let mut chosen: Vec<(&str, usize)> = Vec::new();
    for one in found {
        let Ok(tuned) = &one.tuned else { continue };
        let rest = |tried: &Tried| tried.confirmed.or(tried.searched).and_then(|found| found.aim);
        let (best, before) = (rest(&tuned.best), rest(&tuned.untuned));
        let shown = |value: Option<f64>| {
            let shown = value.map(|value| figure::show_number(aim.look.format, value));
            shown.unwrap_or_else(|| NONE.to_owned()) + " "
        };
        let gain = best.zip(before).filter(|(best, _)| *best != 0.0);
        let gain =
            gain.map_or_else(|| NONE.into(), |(best, before)| number::excess(before / best - 1.0));
        let (figure, comes) = (shown(best), shown(before));
        table.row([one.volume.clone(), label(&tuned.best, width), figure, comes, gain + " "]);
        let base = tuned.best.policy.split('(').next().unwrap_or_default();
        match chosen.iter_mut().find(|(policy, _)| *policy == base) {
            Some((_, count)) => *count += 1,
            None => chosen.push((base, 1)),
        }
    }
    let mut text = if markdown { table.markdown() } else { table.finish(Some(width)) };
    for one in found {
        if let Err(why) = &one.tuned {
            text += &wrap(&format!("{} --volume {}: {why}\n", one.trace, one.volume), width);
        }
    }
    chosen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let ran = found.iter().filter(|one| one.tuned.is_ok()).count();
    let counts: Vec<_> =
        chosen.iter().map(|(policy, count)| format!("{policy} on {count}")).collect();
    let answer = match &chosen[..] {
        [] => "Answer: none, because no volume could be searched.".to_owned(),
        _ => {
            format!("Answer: of {}, {}.", number::counted(ran as u64, "volume"), counts.join(", "))
        }
    };
    text + &wrap(&answer, width) + "\n"
}

fn rows(all: &[&Tried], tuned: &Tuned, aim: &'static Metric, width: usize) -> Figures {
    let name = if aim.header.is_empty() { &aim.key } else { &aim.header };
    let is_wa = aim.key == "write_amplification";
    let mut header = vec!["policy".to_owned(), format!("{name},\nsearched"), "on the\nrest".into()];
    header.push("worse\nby".into());
    header.extend((!is_wa).then(|| "write\namplif.".to_owned()));
    header.extend(["RAM", "write\np99"].map(str::to_owned));
    let mut table = Figures::new(header);
    for tried in all {
        let searched = |of: fn(&Found) -> Option<f64>| tried.searched.as_ref().and_then(of);
        let shown = |format, value: Option<f64>| {
            value.map_or_else(|| NONE.to_owned(), |value| figure::show_number(format, value)) + " "
        };
        let of = |key: &str, value| {
            metric::find(key).map_or_else(String::new, |metric| shown(metric.look.format, value))
        };
        let is_best = tried.command == tuned.best.command;
        let label = label(tried, width);
        let mut cells = vec![match is_best {
            true => Cell::new(format!("{label} {MARK}")).add_attribute(Attribute::Bold),
            false => Cell::new(label),
        }];
        let confirmed = tried.confirmed.and_then(|found| found.aim);
        let mut add = |text: String| cells.push(Cell::new(text));
        add(shown(aim.look.format, searched(|found| found.aim)));
        add(shown(aim.look.format, confirmed));
        add(tried.distance.map_or_else(|| NONE.into(), number::excess) + " ");
        if !is_wa {
            add(of("write_amplification", searched(|found| found.write_amplification)));
        }
        add(of("memory.total_bytes", searched(|found| found.memory_bytes)));
        add(of("response_us.write.p99", searched(|found| found.write_p99_us)));
        table.row(cells);
    }
    table
}

/// A policy and its chosen settings, a line each.
fn label(tried: &Tried, width: usize) -> String {
    let settings = tried.settings.iter().map(|(option, value)| format!("{option} {value}"));
    let policy = wrap(&tried.policy, width.saturating_sub(BESIDE).max(LABEL)).trim_end().to_owned();
    [policy].into_iter().chain(settings).collect::<Vec<_>>().join("\n")
}

fn answer(tuned: &Tuned, aim: &'static Metric) -> String {
    let failed = match tuned.failures {
        0 => String::new(),
        failures => format!(", of which {failures} could not run"),
    };
    let mut text = format!("{}{failed}", number::counted(tuned.simulations as u64, "simulation"));
    text += &match tuned.requests {
        Some([first, rest]) => format!(
            ", on the first {} requests; the other {} confirm.\n",
            number::grouped(first),
            number::grouped(rest)
        ),
        None => ", with one seed; another confirms.\n".into(),
    };
    let show = |value: f64| figure::show_number(aim.look.format, value);
    let (best, untuned) = (&tuned.best, &tuned.untuned);
    text += &format!("Answer: {}", best.policy);
    match (best.confirmed.and_then(|f| f.aim), untuned.confirmed.and_then(|f| f.aim)) {
        (Some(rest), Some(before)) if best.command != untuned.command => {
            text += &format!(
                ": {} {} on the rest, {} with {} as it comes",
                aim.key,
                show(rest),
                show(before),
                untuned.policy
            );
        }
        (Some(rest), _) => {
            text += &format!(" as it comes: {} {} on the rest", aim.key, show(rest));
        }
        (None, _) => text += "; it could not be confirmed",
    }
    text + &format!(".\nTry it: {}", best.command)
}

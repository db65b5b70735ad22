//! The answer in words.

use thermocline_sim::{
    RunResult,
    answer::{Answer, Reason},
    metric::Format,
};
use thermocline_units as units;

use crate::{
    figure::show_number,
    number::{self, share},
};

/// The policy, its margin, and its cost.
pub fn sentence(answer: &Answer) -> String {
    let aim = answer.aim;
    let Some(best) = &answer.best else {
        let why = answer.undecided.unwrap_or("the policies cannot be distinguished");
        return format!("No answer (aim {aim}): {why}.");
    };
    let mut text = format!("Answer (aim {aim}): {best}.");
    text += &ties(answer, best);
    text += &margins(answer);
    if let Some(erases) = answer.few_events {
        text += &format!(
            " Only {} were counted: a smaller difference than that of three is none.",
            number::counted(erases, "erase")
        );
    }
    text += &costs(answer);
    text += &left_out(answer);
    text += &unsettled(answer);
    if answer.few_erases {
        text += " There were too few erases to extrapolate lifetimes: write amplification decided, \
                 and a longer trace, or this one several times, may decide otherwise.";
    }
    if let Some(factor) = answer.overloaded {
        text += &format!(
            " The device is overloaded: it would need {} × the time the trace has.",
            number::short(factor)
        );
    }
    text
}

/// Policies that ran and are no candidates, a sentence a reason.
fn left_out(answer: &Answer) -> String {
    let of = |(reason, why): (Reason, &str)| {
        let named = answer.left_out.iter().filter(|out| out.reason == reason);
        let names: Vec<_> = named.map(|out| out.policy.as_str()).collect();
        (!names.is_empty()).then(|| format!(" Left out: {} ({why}).", names.join(", ")))
    };
    let reasons = [
        (Reason::ModelsHost, "a host that places its own data; ‹buildable any› admits it"),
        (Reason::ModelsController, "no host that places its own data; ‹buildable any› admits it"),
        (Reason::Overloaded, "overloaded: its times are those of a growing queue"),
    ];
    reasons.into_iter().filter_map(of).collect()
}

/// A warning about results of devices that were not in their final state.
fn unsettled(answer: &Answer) -> String {
    let named = match &answer.unsettled[..] {
        [] => return String::new(),
        [only] => format!("with {only}"),
        all => format!("with {} policies", all.len()),
    };
    format!(
        " Write amplification had not settled {named}: the figures and lifetimes are those of a device that is \
         still filling with garbage (‹settle› repeats the input until they are level)."
    )
}

/// A warning about a run that ended before its device had settled; nothing for others.
pub fn settling(run: &RunResult) -> String {
    let Some(settled) = run.settled.as_ref().filter(|settled| !settled.settled) else {
        return String::new();
    };
    let figure = |value: f64| number::fixed(value, 3);
    let stretches = match (settled.passes, settled.stretch.as_str()) {
        (Some(passes), _) => format!("{} in the last of {passes} passes", figure(settled.last)),
        (None, "passes") => format!("{} in the last pass", figure(settled.last)),
        (None, _) => format!("{} in the last quarter of the writes", figure(settled.last)),
    };
    format!(
        " Write amplification had not settled: it was {stretches} and {} in the one before; ‹settle› repeats the \
         input until it has.",
        figure(settled.before)
    )
}

/// A short form.
pub fn brief(answer: &Answer) -> String {
    let Some(best) = &answer.best else {
        return answer.undecided.unwrap_or("the policies cannot be distinguished").to_owned();
    };
    let margin = match (&answer.next, answer.margin) {
        (Some(next), Some(margin)) => format!(", {} ahead of {next}", share(margin)),
        _ => String::new(),
    };
    let ties = match answer.ties.len() {
        0 => String::new(),
        1..=3 => format!(" (as good: {})", answer.ties.join(", ")),
        n => format!(" ({n} others are as good)"),
    };
    format!("{best}{ties}{margin}")
}

fn ties(answer: &Answer, best: &str) -> String {
    const MOST: usize = 4;
    if answer.ties.is_empty() {
        return String::new();
    }
    let second = if answer.aim == "memory" { "write amplification" } else { "memory" };
    if answer.next.is_none() {
        return format!(" All policies are within 1 % or the noise: choose by {second}: {best}.");
    }
    let mut names: Vec<&str> = answer.ties.iter().map(String::as_str).take(MOST).collect();
    let others = format!("{} others", answer.ties.len() - names.len());
    if answer.ties.len() > MOST {
        names.push(&others);
    }
    let list = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    };
    format!(" It ties with {list}, within 1 % or the noise: {second} decided.")
}

fn margins(answer: &Answer) -> String {
    // The beginning of a sentence, what stands between a share and the first other policy, and what
    // between a share and the second.
    let (subject, first, second) = match answer.metric {
        "lifetime.tbw_bytes" => ("The flash takes", "more host writes than with", "more than with"),
        "write_amplification" => ("It writes", "less to the flash than", "less than"),
        "response_us.write.p99" => ("Its write p99 is", "below that of", "below that of"),
        "memory.total_bytes" => ("It needs", "less RAM than", "less than"),
        _ => ("Lifetime, write p99 and RAM together are", "better than with", "better than with"),
    };
    let by = |margin: f64| match answer.metric {
        "lifetime.tbw_bytes" => share(margin),
        // The same difference relative to the other policy.
        _ => share(margin / (1.0 + margin)),
    };
    let mut parts = Vec::new();
    if let (Some(next), Some(margin)) = (&answer.next, answer.margin) {
        parts.push(format!("{} {first} {next}, the next", by(margin)));
    }
    let known = answer.next.iter().chain(&answer.ties).any(|name| name == "greedy");
    if let Some(margin) = answer.over_greedy.filter(|_| !known) {
        let between = if parts.is_empty() { first } else { second };
        parts.push(format!("{} {between} greedy", by(margin)));
    }
    if parts.is_empty() { String::new() } else { format!(" {subject} {}.", parts.join(", and ")) }
}

fn costs(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(excess) = answer.over_oracle {
        text += &match excess > 0.0005 {
            true => format!(" It writes {} more than the oracle.", share(excess)),
            false => " It writes no more than the oracle.".to_owned(),
        };
    }
    let Some(costs) = &answer.costs else { return text };
    let of_greedy = |figure: Option<f64>, show: &dyn Fn(f64) -> String| {
        let is_greedy = answer.best.as_deref() == Some("greedy");
        figure
            .filter(|_| !is_greedy)
            .map_or_else(String::new, |value| format!(", greedy {}", show(value)))
    };
    let greedy = answer.greedy_costs;
    if let (Some(page), Some(total)) = (costs.bytes_per_page, costs.total_bytes) {
        let other = of_greedy(greedy.and_then(|g| g.bytes_per_page), &|x| number::fixed(x, 1));
        text += &format!(
            " It costs {} bytes of RAM a page ({} in all{other})",
            number::fixed(page, 1),
            units::show_size(total as u64),
        );
        if let Some(p99) = costs.write_p99_us {
            let show = |us: f64| show_number(Format::Micros, us);
            let other = of_greedy(greedy.and_then(|g| g.write_p99_us), &show);
            let queue = if answer.overloaded.is_some() { " (overloaded)" } else { "" };
            text += &format!(" and a write p99 of {}{queue}{}", show(p99), bracketed(&other));
        }
        text += ".";
    }
    text
}

fn bracketed(other: &str) -> String {
    other.strip_prefix(", ").map_or_else(String::new, |other| format!(" ({other})"))
}

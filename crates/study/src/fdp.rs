//! What placement handles would bring: the host's hints against what a drive infers by itself.

use thermocline_assembly::{PolicySpec, policy::OwnPolicies};
use thermocline_policy::placement::models_host;
use thermocline_report::{
    compared::{Compared, Row},
    number,
};
use thermocline_sim::{RunResult, SimError, answer};

use crate::jobs::Ready;

/// The policy whose placement is replaced: its victims are SepBIT's, too.
const BASE: &str = "sep-gc";

/// What a drive does by itself, as far as no policies are named.
pub const INFERRING: [&str; 4] = ["greedy", BASE, "sep-bit", "thermocline"];

/// Both kinds of handles, as NVMe has them.
///
/// # Errors
/// None where there are as many handles as the option allows.
pub fn specs(handles: u32, own: &OwnPolicies) -> Result<Vec<PolicySpec>, SimError> {
    let spec = |placement| {
        let call = format!("{placement}(handles={handles})");
        let spec = own.spec(Some(BASE), None, Some(&call))?;
        Ok(PolicySpec { name: call, ..spec })
    };
    ["hints", "hints-isolated"].into_iter().map(spec).collect()
}

/// Refuses inputs without hints, with which handles would seem to bring nothing.
///
/// # Errors
/// The first such input.
pub fn check(inputs: &[Ready]) -> Result<(), SimError> {
    match inputs.iter().find(|input| input.most_hint() == 0) {
        None => Ok(()),
        Some(input) => Err(SimError::Usage(format!(
            "{}: no write has a hint, so ‹fdp› has nothing to place by; give hints by a column of the \
             trace, by ‹hint volume› or by ‹hint 0..1GiB=1›",
            input.name()
        ))),
    }
}

/// The answer for an input, in a sentence; and another where handles are shared.
pub fn answer(
    handles: u32,
    most_hint: u16,
    policies: &[PolicySpec],
    compared: &Compared,
) -> Vec<String> {
    let rows = policies.iter().zip(&compared.rows);
    let found: Vec<_> = rows.filter_map(|(spec, row)| Found::of(spec, row)).collect();
    let least = |hinted: bool| {
        let some = found.iter().filter(|found| found.hinted == hinted);
        some.min_by(|a, b| a.mean().total_cmp(&b.mean()))
    };
    let (Some(told), Some(inferred)) = (least(true), least(false)) else { return Vec::new() };
    let (count, name) = (number::counted(handles.into(), "handle"), &compared.input);
    let both = format!(
        "{} pages programmed a page written with {}, {} with {}, which infers by itself",
        number::fixed(told.mean(), 3),
        told.name,
        number::fixed(inferred.mean(), 3),
        inferred.name
    );
    let oracle = compared.runs().find_map(|run| Some(run.oracle.as_ref()?.write_amplification));
    let oracle = oracle
        .map_or_else(String::new, |least| format!("; {} with an oracle", number::fixed(least, 3)));
    let share = told.mean() / inferred.mean() - 1.0;
    let what = if answer::are_tied(&told.each, &inferred.each) {
        format!("{count} would bring nothing")
    } else if share < 0.0 {
        format!("{count} would save {} of all programs", number::share(-share))
    } else {
        format!("{count} would cost {} more programs", number::share(share))
    };
    let mut said = vec![format!("{name}: {what}: {both}{oracle}")];
    if u32::from(most_hint) > handles {
        said.push(format!("{name}: hints go up to {most_hint}, so some share a handle"));
    }
    said
}

/// A policy that could be built, and its write amplification with each seed.
struct Found<'a> {
    name: &'a str,
    each: Vec<f64>,
    hinted: bool,
}

impl<'a> Found<'a> {
    /// `None` for what could not run, knows the future, or models another host.
    fn of(spec: &PolicySpec, row: &'a Row) -> Option<Self> {
        let hinted = spec.reads_hints();
        if !hinted && (spec.sees_future() || models_host(&spec.placement.name)) {
            return None;
        }
        let each = row.runs().iter().map(|run: &RunResult| run.write_amplification);
        let each = each.collect::<Option<Vec<f64>>>().filter(|each| !each.is_empty())?;
        Some(Self { name: row.name(), each, hinted })
    }

    fn mean(&self) -> f64 {
        self.each.iter().sum::<f64>() / self.each.len() as f64
    }
}

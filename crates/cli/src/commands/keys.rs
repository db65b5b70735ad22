//! `thermocline keys`: the keys of results, with units and meanings.

use serde_json::json;
use thermocline_sim::metric::{Metric, metrics};

use crate::{
    args::catalogue::KeysArgs,
    exit::Failure,
    output::Output,
    print::{
        json,
        table::{Listing, USUAL_WIDTH},
    },
};

/// Prints all keys, or those in which a word occurs.
pub fn run(args: &KeysArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let named = |metric: &&Metric| metric.key.to_lowercase().contains(&word);
    let said = |metric: &&Metric| metric.about.to_lowercase().contains(&word);
    let mut found: Vec<_> = metrics().iter().filter(named).collect();
    if found.is_empty() {
        found = metrics().iter().filter(said).collect();
    }
    if found.is_empty() {
        return Err(Failure::usage(format!(
            "no key of a result has `{word}` in its name or its meaning; `thermocline keys` lists all"
        )));
    }
    if args.json {
        let row = |metric: &&Metric| {
            json!({
                "key": metric.key,
                "type": metric.kind.name(),
                "unit": metric.unit(),
                "meaning": metric.about,
            })
        };
        return json::print(&found.iter().map(row).collect::<Vec<_>>(), output);
    }
    let mut list = Listing::new(output.width().unwrap_or(USUAL_WIDTH));
    for metric in found {
        let kind = match metric.unit() {
            "" => metric.kind.name().to_owned(),
            unit => format!("{}, {unit}", metric.kind.name()),
        };
        list.entry(&metric.key, &format!("({kind})"), [metric.about]);
    }
    output.put_styled(&list.finish())
}

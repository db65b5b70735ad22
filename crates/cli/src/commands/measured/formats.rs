//! `thermocline measured formats`: the printouts that can be read.

use serde_json::{Value, json};
use thermocline_measured::formats::FORMATS;

use crate::{
    args::measured::FormatsArgs,
    exit::Failure,
    output::Output,
    print::{json, table::Pairs},
};

/// Lists them.
pub fn run(args: &FormatsArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if args.json {
        let listed = FORMATS.iter().map(|format| {
            json!({ "tool": format.tool, "counters": format.counters, "source": format.source })
        });
        return json::print(&listed.collect::<Vec<Value>>(), output);
    }
    let mut pairs = Pairs::new(&output);
    for format in FORMATS {
        pairs.group(format.tool);
        pairs.add("counters", format.counters.to_owned());
        pairs.add("source", format.source.to_owned());
    }
    output.put_styled(&pairs.finish())
}

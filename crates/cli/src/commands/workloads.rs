//! `thermocline workloads`: what can be generated.

use thermocline_study::catalogue;

use crate::{
    args::catalogue::WorkloadsArgs,
    exit::Failure,
    output::Output,
    print::{
        json,
        table::{Listing, USUAL_WIDTH},
    },
};

/// Prints the list.
pub fn run(args: &WorkloadsArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if args.json {
        return json::print(&catalogue::workloads(), output);
    }
    let mut list = Listing::new(output.width().unwrap_or(USUAL_WIDTH));
    for w in thermocline_workloads::all() {
        list.entry(
            w.syntax,
            "",
            [w.summary, &format!("Use: {}", w.when), &format!("Source: {}", w.source)],
        );
    }
    output.put_styled(&list.finish())
}

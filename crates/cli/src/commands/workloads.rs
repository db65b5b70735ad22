//! `thermocline workloads`: what can be generated.

use serde_json::json;

use crate::{
    args::catalogue::WorkloadsArgs,
    exit::Failure,
    output::Output,
    print::{json, table::Sheet},
};

/// Prints the list.
pub fn run(args: &WorkloadsArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if args.json {
        let list: Vec<_> = thermocline_workloads::all()
            .map(|w| {
                json!({
                    "syntax": w.syntax,
                    "summary": w.summary,
                    "when": w.when,
                    "source": w.source,
                })
            })
            .collect();
        return json::print(&list, output);
    }
    let mut sheet = Sheet::new(&["workload", "what it does", "when to use it", "source"], &output);
    for w in thermocline_workloads::all() {
        sheet.row([w.syntax, w.summary, w.when, w.source]);
    }
    output.put_styled(&sheet.finish())
}

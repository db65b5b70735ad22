//! `thermocline workloads`: what can be generated.

use serde_json::json;
use thermocline_trace::generate;

use crate::{
    args::catalogue::WorkloadsArgs,
    exit::Failure,
    output::Output,
    print::{json, table::Sheet},
};

/// Prints the list.
pub fn run(args: &WorkloadsArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let workloads = generate::workloads();
    if args.json {
        let list: Vec<_> = workloads
            .iter()
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
    for w in workloads {
        sheet.row([w.syntax, w.summary, w.when, w.source]);
    }
    output.put_styled(&sheet.finish())
}

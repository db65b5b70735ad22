//! `thermocline trace info`: the content of traces.

use thermocline_sim::SimError;
use thermocline_study::trace::info;

use crate::{
    args::trace::InfoArgs,
    console::Console,
    exit::Failure,
    output::Output,
    print::{json, trace},
};

/// Reads every trace to its end and prints its figures.
pub fn run(args: &InfoArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let InfoArgs { page_size, reading, transforms, .. } = args;
    let info = |file| info(file, *page_size, reading, transforms, console.context());
    let traces = args.files.iter().map(|file| info(file));
    let traces = traces.collect::<Result<Vec<_>, SimError>>()?;
    if args.json {
        return json::print(&serde_json::json!({ "traces": traces }), output);
    }
    let text = trace::show(&traces, &output);
    output.put_styled(&text)
}

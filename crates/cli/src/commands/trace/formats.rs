//! `thermocline trace formats`: what can be read.

use serde_json::json;
use thermocline_trace::read::Format;

use crate::{
    args::trace::FormatsArgs,
    exit::Failure,
    output::Output,
    print::{json, table::Sheet},
};

/// Prints the list.
pub fn run(args: &FormatsArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if args.json {
        let list: Vec<_> = Format::all()
            .map(|f| json!({"name": f.name(), "about": f.about(), "source": f.source()}))
            .collect();
        return json::print(&list, output);
    }
    let mut sheet = Sheet::new(&["name", "what it is", "source"], &output);
    for f in Format::all() {
        sheet.row([f.name(), f.about(), f.source()]);
    }
    let more = "Any of them may be compressed (gzip, zstd, xz, bzip2).\n";
    output.put_styled(&(sheet.finish() + more))
}

//! `thermocline trace formats`: what can be read.

use thermocline_study::catalogue;
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
        return json::print(&catalogue::formats(), output);
    }
    let mut sheet = Sheet::new(&["name", "what it is", "source"], &output);
    for f in Format::all() {
        sheet.row([f.name(), f.about(), f.source()]);
    }
    let more = "Any of them may be compressed (gzip, zstd, xz, bzip2).\n";
    output.put_styled(&(sheet.finish() + more))
}

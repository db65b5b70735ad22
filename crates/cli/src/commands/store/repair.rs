//! `thermocline repair`: the tables rebuilt from the pages, and a fresh checkpoint.

use thermocline_assembly::{Access, Repaired, repair};

use super::page::ranges;
use crate::{
    args::store::ChipArgs,
    console::Console,
    exit::Failure,
    interrupt,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Ranges of pages that are named in the text, of each kind of trouble.
const MOST_NAMED: usize = 100;

/// Repairs a chip and prints the findings.
pub fn run(args: &ChipArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let bar = console.context().runs("reading".into(), 1);
    let repaired = repair(&args.chip, &Access::default(), interrupt::progress())?;
    drop(bar);
    if args.json { json::print(&repaired, output) } else { show(&repaired, output) }
}

fn show(repaired: &Repaired, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    pairs.group(&repaired.image);
    pairs.add("logical pages", number::grouped(repaired.logical_pages.into()));
    pairs.add("out-of-band areas read", number::grouped(repaired.areas_read));
    pairs.add("logical pages with data", number::grouped(repaired.pages_with_data.into()));
    pairs.add("pages that cannot be read", number::grouped(repaired.unreadable_pages));
    pairs.add("logical pages rolled back", number::grouped(repaired.rolled_back.len() as u64));
    pairs.add("logical pages lost", number::grouped(repaired.lost.len() as u64));
    pairs.add("flushed pages not found", number::grouped(repaired.missing_pages));
    pairs.add("log pages not found", number::grouped(repaired.missing_log_pages));
    let mut text = pairs.finish();
    for (what, pages) in [("rolled back", &repaired.rolled_back), ("lost", &repaired.lost)] {
        let ranges = ranges(pages);
        for range in ranges.iter().take(MOST_NAMED) {
            text += &format!("{what}: {range}\n");
        }
        if ranges.len() > MOST_NAMED {
            text += &format!("and {} more, which --json lists\n", ranges.len() - MOST_NAMED);
        }
    }
    if repaired.headless {
        text +=
            "No head of the index log could be read: pages trimmed long ago may hold data again.\n";
    }
    if repaired.missing_pages + repaired.missing_log_pages > 0 {
        text += "Nobody knows whose the pages are that were not found: any logical page may hold older \
                 data, and trimmed ones theirs again. Compare with a backup.\n";
    }
    for mended in &repaired.mended {
        text += &format!("{mended}\n");
    }
    text += "The tables were rebuilt from the pages; a checkpoint was written.\n";
    output.put_styled(&text)
}

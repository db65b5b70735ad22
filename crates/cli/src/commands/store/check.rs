//! `thermocline check`: everything a chip says, held against everything else it says. Writes nothing.

use serde::Serialize;
use thermocline_flash::{Lpn, Ppn};
use thermocline_ftl::Mount;
use thermocline_sim::AnyLayer;

use super::reading::{Page, read_all};
use crate::{
    args::store::CheckArgs,
    chips::{self, Access, Chip},
    console::Console,
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Exit codes, in the manner of `qemu-img check`.
const COULD_NOT_CHECK: u8 = 1;
const CORRUPT: u8 = 2;
const LEAKS: u8 = 3;

/// Pages that are named one by one, of each kind of trouble.
const MOST_NAMED: usize = 100;

/// Checks, and says what was found.
pub fn run(args: &CheckArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let found = match check(args, console) {
        Ok(found) => found,
        // Codes are of their own here: whatever kept us from checking is told, and is a 1.
        Err(failure) => {
            crate::console::complain(&failure.to_string());
            return Err(Failure::Told(COULD_NOT_CHECK));
        }
    };
    let code = found.code();
    if args.chip.json { json::print(&found, output) } else { show(&found, output) }?;
    if code == 0 { Ok(()) } else { Err(Failure::Told(code)) }
}

/// What was found.
#[derive(Debug, Serialize)]
struct Found {
    image: String,
    /// Nothing is wrong with it.
    sound: bool,
    /// It was unmounted; else the next mount recovers what was flushed.
    clean: bool,
    logical_pages: u32,
    /// Logical pages that hold data.
    pages_with_data: u32,
    /// Out-of-band areas that were read to rebuild the tables.
    areas_read: u64,
    /// Pages whose data were read and fit their checksums.
    pages_verified: u64,
    /// What the tables contradict themselves in.
    contradictions: Vec<String>,
    /// Pages that the checkpoint finds elsewhere than the pages themselves say; of a chip that was not
    /// unmounted they may be ones that were not flushed.
    differences: u64,
    differing: Vec<Page>,
    /// Pages whose data cannot be read.
    lost: u64,
    lost_pages: Vec<Page>,
    /// Pages of the chip that were cut off when power failed: nothing uses them until they are
    /// cleaned.
    leaked_pages: u64,
}

impl Found {
    fn code(&self) -> u8 {
        let contradicted = !self.contradictions.is_empty() || self.clean && self.differences > 0;
        match () {
            () if contradicted || self.lost > 0 => CORRUPT,
            () if self.leaked_pages > 0 => LEAKS,
            () => 0,
        }
    }
}

fn check(args: &CheckArgs, console: Console) -> Result<Found, Failure> {
    let access = Access { read_only: true, ..Access::default() };
    let (mut quick, recovery) = chips::mount(chips::open(&args.chip.chip, &access)?, Mount::Quick)?;
    let logical_pages = quick.logical_pages();
    let places: Vec<Ppn> = (0..logical_pages).map(|lpn| quick.inspect().locate(Lpn(lpn))).collect();
    let mut found = Found {
        image: args.chip.chip.to_string(),
        sound: false,
        clean: recovery.clean,
        logical_pages,
        pages_with_data: recovery.pages_found,
        areas_read: 0,
        pages_verified: 0,
        contradictions: contradiction("checkpoint", &quick).into_iter().collect(),
        differences: 0,
        differing: Vec::new(),
        lost: 0,
        lost_pages: Vec::new(),
        leaked_pages: 0,
    };
    // As the server would: by the checkpoint.
    if !args.tables_only {
        found.pages_verified = read_all(&mut quick, &args.chip.chip, console, |page| {
            found.lost += 1;
            if found.lost_pages.len() < MOST_NAMED {
                found.lost_pages.push(page);
            }
        })?;
    }
    // The chip is locked by one at a time.
    drop(quick);
    let opened = chips::open(&args.chip.chip, &access)?;
    let (layer, rebuilt) = chips::mount(opened, Mount::FromPages)?;
    found.contradictions.extend(contradiction("pages", &layer));
    found.areas_read = rebuilt.areas_read;
    for (lpn, &at) in (0..).zip(&places) {
        if layer.inspect().locate(Lpn(lpn)) != at {
            found.differences += 1;
            if found.differing.len() < MOST_NAMED {
                found.differing.push(Page::of(&layer, lpn, at));
            }
        }
    }
    // What the rebuilding could not read is either lost, or was cut off and nobody misses it.
    found.leaked_pages = rebuilt.unreadable_pages.saturating_sub(found.lost);
    found.sound = found.code() == 0;
    Ok(found)
}

/// What the tables of a layer contradict themselves in, and what they were made from.
fn contradiction(source: &str, layer: &AnyLayer<Chip>) -> Option<String> {
    layer.inspect().check().err().map(|e| format!("by the {source}: {e}"))
}

fn show(found: &Found, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    let grouped = number::grouped;
    pairs.group(&found.image);
    pairs.add(
        "result",
        match found.code() {
            0 => "sound",
            LEAKS => "sound, with leaks that cleaning will find",
            _ => "corrupt",
        },
    );
    pairs.add(
        "left",
        if found.clean { "unmounted" } else { "in use or crashed: the next mount recovers it" },
    );
    pairs.group("verified");
    pairs.add("logical pages", grouped(found.logical_pages.into()));
    pairs.add("of these, with data", grouped(found.pages_with_data.into()));
    pairs.add("data read and sound", grouped(found.pages_verified));
    pairs.add("out-of-band areas read", grouped(found.areas_read));
    pairs.group("found");
    pairs.add("contradictions", grouped(found.contradictions.len() as u64));
    pairs.add("differences from the checkpoint", grouped(found.differences));
    pairs.add("pages lost", grouped(found.lost));
    pairs.add("pages leaked", grouped(found.leaked_pages));
    let mut text = pairs.finish();
    for contradiction in &found.contradictions {
        text += &format!("{contradiction}\n");
    }
    for (what, pages) in [("differs", &found.differing), ("lost", &found.lost_pages)] {
        for page in pages {
            text += &page.line(what);
        }
    }
    if found.lost > 0 {
        text += "What is lost reads as an error until it is overwritten or trimmed.\n";
    }
    output.put_styled(&text)
}

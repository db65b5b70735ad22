//! `thermocline check`: everything a chip says, held against everything else it says. Writes nothing.

use serde_json::Value;
use thermocline_assembly::{CheckReport, Verdict, check};
use thermocline_server::control::Command;

use super::{live, page::line};
use crate::{
    args::store::CheckArgs,
    console::Console,
    exit::Failure,
    interrupt,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Exit codes of a checked chip, as of `qemu-img check`. If the check could not run, the codes are those of
/// other commands: 3 for a file that is not an image, with a message and no report.
const CORRUPT: u8 = 2;
const NOTHING_LOST: u8 = 3;
/// The verdict on a damaged medium without lost data.
const DAMAGED: &str = "damaged, and no data are lost: `thermocline repair` writes anew what is bad";

/// Checks a chip and prints the findings.
pub fn run(args: &CheckArgs, console: Console) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if let Some(answer) = live::ask(&args.chip.chip, Command::Check)? {
        return show_live(&answer, args.chip.json, output);
    }
    let bar = console.context().runs("reading".into(), 1);
    let checked = check(&args.chip.chip, args.tables_only, interrupt::progress());
    drop(bar);
    let report = checked?;
    if args.chip.json { json::print(&report, output) } else { show(&report, output) }?;
    match report.verdict() {
        Verdict::Sound => Ok(()),
        Verdict::Leaks | Verdict::Damaged => Err(Failure::Told(NOTHING_LOST)),
        Verdict::Corrupt => Err(Failure::Told(CORRUPT)),
    }
}

fn show(found: &CheckReport, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    let grouped = number::grouped;
    pairs.group(&found.image);
    pairs.add(
        "result",
        match found.verdict() {
            Verdict::Sound => "sound",
            Verdict::Leaks => "sound, with leaks that cleaning will find",
            Verdict::Damaged => DAMAGED,
            Verdict::Corrupt => "corrupt",
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
    for trouble in found.contradictions.iter().chain(&found.ailments) {
        text += &format!("{trouble}\n");
    }
    for (what, pages) in [("differs", &found.differing), ("lost", &found.lost_pages)] {
        for page in pages {
            text += &line(what, page);
        }
    }
    if found.lost > 0 {
        text += "What is lost reads as an error until it is overwritten or trimmed.\n";
    }
    output.put_styled(&text)
}

/// A server's findings about a chip in use.
pub fn show_live(found: &Value, as_json: bool, output: Output) -> Result<(), Failure> {
    let count = |key: &str| number::grouped(found[key].as_u64().unwrap_or(0));
    let is_sound = found["sound"].as_bool().unwrap_or(false);
    let texts = |key: &str| found[key].as_array().map_or(&[][..], Vec::as_slice);
    let (contradictions, ailments) = (texts("contradictions"), texts("ailments"));
    let is_whole = contradictions.is_empty() && found["lost"].as_u64() == Some(0);
    if as_json {
        json::print(found, output)?;
    } else {
        let mut pairs = Pairs::new(&output);
        pairs.group(found["image"].as_str().unwrap_or_default());
        let result = match (is_sound, is_whole) {
            (true, _) => "sound",
            (false, true) => DAMAGED,
            (false, false) => "corrupt",
        };
        pairs.add("result", result);
        pairs.add("left", "in use: by its server, which checked it");
        pairs.group("verified");
        pairs.add("logical pages", count("logical_pages"));
        pairs.add("of these, with data", count("pages_with_data"));
        pairs.add("data read and sound", count("pages_verified"));
        pairs.group("found");
        pairs.add("contradictions", number::grouped(contradictions.len() as u64));
        pairs.add("pages lost", count("lost"));
        let mut text = pairs.finish();
        for trouble in contradictions.iter().chain(ailments) {
            text += &format!("{}\n", trouble.as_str().unwrap_or_default());
        }
        for page in found["lost_pages"].as_array().into_iter().flatten() {
            text += &format!("lost: logical page {}\n", page["lpn"]);
        }
        output.put_styled(&text)?;
    }
    match (is_sound, is_whole) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Told(NOTHING_LOST)),
        (false, false) => Err(Failure::Told(CORRUPT)),
    }
}

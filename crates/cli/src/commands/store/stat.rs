//! `thermocline stat`: how a chip is, in the manner of `zpool status`.

use serde_json::Value;
use thermocline_assembly::{Status, chips::SERVED, status};
use thermocline_server::control::Command;
use thermocline_units::show_size;

use super::live;
use crate::{
    args::store::ChipArgs,
    exit::Failure,
    output::Output,
    print::{json, number, table::Pairs},
};

/// Prints the state of a chip.
pub fn run(args: &ChipArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    if let Some(answer) = live::ask(&args.chip, Command::Stat)? {
        return if args.json { json::print(&answer, output) } else { show_live(&answer, output) };
    }
    let status = status(&args.chip)?;
    if args.json { json::print(&status, output) } else { show(&status, output) }
}

/// The number of blocks that may fail.
pub fn spare_text(spare_blocks: Option<u32>) -> String {
    spare_blocks.map_or_else(
        || format!("the default policy, {}, does not fit", SERVED),
        |spare| number::counted(spare.into(), "block"),
    )
}

fn show(status: &Status, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    let grouped = |n: u32| number::grouped(n.into());
    pairs.group(&status.image);
    pairs.add("device", status.device.clone());
    pairs.add("id", status.id.clone());
    pairs.add("layer", status.layer);
    pairs.add("state", status.state);
    pairs.add("action", status.action);
    for ailment in &status.ailments {
        pairs.add("damage", ailment.clone());
    }
    pairs.group("space");
    pairs.add("exported", show_size(status.exported_bytes));
    pairs.add("logical pages", grouped(status.logical_pages));
    pairs.add("of these, with data", grouped(status.pages_with_data));
    pairs.add("erase blocks", grouped(status.blocks));
    pairs.add("of these, free", grouped(status.free_blocks));
    pairs.add("of these, index log", grouped(status.index_blocks));
    pairs.group("wear");
    pairs.add(
        "erases of a block",
        format!(
            "{} mean, {} to {}, of {}",
            number::fixed(status.wear.mean, 1),
            grouped(status.wear.min),
            grouped(status.wear.max),
            grouped(status.wear.endurance)
        ),
    );
    if status.banks.len() > 1 {
        for (number, bank) in status.banks.iter().enumerate() {
            pairs.add(
                &format!("bank {number}"),
                format!(
                    "{} mean, {} to {}; {} free blocks, {} pages with data",
                    number::fixed(bank.wear.mean, 1),
                    grouped(bank.wear.min),
                    grouped(bank.wear.max),
                    grouped(bank.free_blocks),
                    grouped(bank.current_pages),
                ),
            );
        }
    }
    pairs.group("errors");
    pairs.add("bad blocks", grouped(status.bad_blocks));
    pairs.add("may still fail before read-only", spare_text(status.spare_blocks));
    pairs.add("pages that cannot be read", number::grouped(status.unreadable_pages));
    output.put_styled(&pairs.finish())
}

/// A server's report on a chip in use.
pub fn show_live(live: &Value, output: Output) -> Result<(), Failure> {
    let mut pairs = Pairs::new(&output);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |value: &Value| value.as_u64().map_or("unknown".into(), number::grouped);
    let mean = |wear: &Value| {
        let mean = number::fixed(wear["mean"].as_f64().unwrap_or(0.0), 1);
        format!("{mean} mean, {} to {}", count(&wear["min"]), count(&wear["max"]))
    };
    pairs.group(&text(&live["image"]));
    pairs.add("export", text(&live["export"]));
    pairs.add("device", text(&live["device"]));
    pairs.add("id", text(&live["id"]));
    pairs.add("layer", text(&live["layer"]));
    pairs.add("state", text(&live["state"]));
    pairs.add("action", text(&live["action"]));
    let settings = &live["settings"];
    pairs.add("policy", text(&settings["policy"]));
    pairs.add(
        "watermarks",
        format!(
            "reserve {}, low {}, high {}",
            settings["reserve"], settings["low"], settings["high"]
        ),
    );
    pairs.add("clients", count(&live["clients"]["connections"]));
    pairs.group("space");
    pairs.add("exported", show_size(live["exported_bytes"].as_u64().unwrap_or(0)));
    for (name, key) in [
        ("logical pages", "logical_pages"),
        ("of these, with data", "pages_with_data"),
        ("erase blocks", "blocks"),
        ("of these, free", "free_blocks"),
        ("of these, index log", "index_blocks"),
    ] {
        pairs.add(name, count(&live[key]));
    }
    let since = &live["since_mount"];
    pairs.group("since it was mounted");
    for (name, key) in [
        ("pages written by clients", "host_pages_written"),
        ("pages copied", "flash_pages_copied"),
        ("blocks erased", "flash_blocks_erased"),
        ("survivors spilled to other streams", "pages_spilled"),
        ("erases by swaps for wear", "swap_erases"),
        ("blocks moved by scrubs", "blocks_scrubbed"),
    ] {
        pairs.add(name, count(&since[key]));
    }
    if let Some(amplification) = since["write_amplification"].as_f64() {
        pairs.add("write amplification", number::fixed(amplification, 3));
    }
    for (rule, blocks) in live["choices"].as_object().into_iter().flatten() {
        pairs.add(&format!("victims by {rule}"), count(blocks));
    }
    for (name, what) in live["policy_state"].as_object().into_iter().flatten() {
        pairs.add(name, what.as_str().unwrap_or_default().to_owned());
    }
    pairs.group("wear");
    let wear = &live["wear"];
    pairs.add("erases of a block", format!("{}, of {}", mean(wear), count(&wear["endurance"])));
    let banks = live["banks"].as_array().map_or(&[][..], Vec::as_slice);
    let sum =
        |key: &str| banks.iter().filter_map(|bank| bank[key].as_u64()).fold(0, u64::saturating_add);
    if sum("read_only_blocks") > 0 {
        let (blocks, pages) = (sum("read_only_blocks"), sum("read_only_pages"));
        let shown =
            format!("{} with {} pages", number::counted(blocks, "block"), number::grouped(pages));
        pairs.add("read-only data apart", shown);
    }
    for (number, bank) in banks.iter().enumerate().filter(|_| banks.len() > 1) {
        let (free, pages) = (count(&bank["free_blocks"]), count(&bank["current_pages"]));
        let shown = format!("{}; {free} free blocks, {pages} pages with data", mean(&bank["wear"]));
        pairs.add(&format!("bank {number}"), shown);
    }
    pairs.group("errors");
    pairs.add("bad blocks", count(&live["bad_blocks"]));
    pairs.add("may still fail before read-only", count(&live["spare_blocks"]));
    for (name, key) in [
        ("programs that failed", "failed_programs"),
        ("erases that failed", "failed_erases"),
        ("reads that failed", "failed_reads"),
    ] {
        pairs.add(name, count(&live["health"][key]));
    }
    pairs.add("pages lost", count(&since["pages_lost"]));
    output.put_styled(&pairs.finish())
}

//! `thermocline devices`: built-in profiles and their sources.

use std::fmt::Write;

use thermocline_assembly::{Device, device};
use thermocline_flash::Profile;
use thermocline_units::show_size;

use crate::{
    args::catalogue::DevicesArgs,
    exit::Failure,
    output::Output,
    print::{
        json, number,
        table::{Listing, Pairs, USUAL_WIDTH, heading, wrap},
    },
};

/// Prints the list, or one device.
pub fn run(args: &DevicesArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    match &args.name {
        Some(name) => {
            if args.toml {
                return output.put(device::toml(name)?.as_bytes());
            }
            let profile = Device::load(name)?.profile;
            if args.json { json::print(&profile, output) } else { show(&profile, output) }
        }
        None => {
            let all = device::built_in();
            if args.json { json::print(&all, output) } else { list(&all, output) }
        }
    }
}

fn list(all: &[Profile], output: Output) -> Result<(), Failure> {
    let mut list = Listing::new(output.width().unwrap_or(USUAL_WIDTH));
    for p in all {
        let g = &p.geometry;
        let us = |ns: u64| number::time_us(ns as f64 / 1000.0);
        let banks = if g.banks > 1 { format!(" in {} banks", g.banks) } else { String::new() };
        let shape = format!(
            "{}{banks}, pages of {}, blocks of {}, {} P/E cycles",
            show_size(g.capacity()),
            show_size(g.page_size.into()),
            show_size(g.block_size()),
            number::grouped(p.rules.endurance.into()),
        );
        let times = format!(
            "read {}, program {}, erase {}",
            us(p.timing.read()),
            us(p.timing.program()),
            us(p.timing.erase()),
        );
        list.entry(&p.name, "", [p.summary.as_str(), shape.as_str(), times.as_str()]);
    }
    let more = "`thermocline devices NAME` shows all figures and their sources.\n";
    output.put_styled(&(list.finish() + more))
}

fn show(p: &Profile, output: Output) -> Result<(), Failure> {
    let (g, t) = (&p.geometry, &p.timing);
    let mut text = format!("{}\n{}\n", heading(&p.name), p.summary);
    let us = |ns: u64| number::time_us(ns as f64 / 1000.0);
    let mut pairs = Pairs::new(&output);
    pairs.group("geometry");
    pairs.add("capacity", show_size(g.capacity()));
    pairs.add("banks", g.banks.to_string());
    pairs.add("blocks a bank", number::grouped(g.blocks_per_bank.into()));
    pairs.add("pages a block", number::grouped(g.pages_per_block.into()));
    pairs.add("of these, header", g.header_pages.to_string());
    pairs.add("page", show_size(g.page_size.into()));
    pairs.add("out-of-band area a page", show_size(g.oob_size.into()));
    pairs.add("system blocks", g.system_blocks.to_string());
    pairs.group("rules");
    pairs.add("pages in order", if p.rules.in_order { "yes" } else { "no" });
    pairs.add("endurance", format!("{} erases", number::grouped(p.rules.endurance.into())));
    pairs.add("factory-bad blocks", format!("at most {}", p.rules.initial_bad_blocks));
    pairs.group("timing (set-up + busy)");
    for (name, setup, busy) in [
        ("read", t.read_setup_ns, t.read_ns),
        ("program", t.program_setup_ns, t.program_ns),
        ("erase", t.erase_setup_ns, t.erase_ns),
    ] {
        pairs.add(name, format!("{} + {}", us(setup), us(busy)));
    }
    pairs.add("moving a page", us(t.copy_ns));
    if let Some(energy) = &p.energy {
        pairs.group("energy");
        pairs.add("read", format!("{} µJ", energy.read_uj));
        pairs.add("program", format!("{} µJ", energy.program_uj));
        pairs.add("erase", format!("{} µJ", energy.erase_uj));
    }
    text += &pairs.finish();
    let _ = writeln!(text, "\n{}", heading("sources"));
    let width = output.width().unwrap_or(USUAL_WIDTH);
    for source in &p.sources {
        let _ = writeln!(text, "{}", wrap(&format!("- {source}"), width));
    }
    output.put_styled(&text)
}

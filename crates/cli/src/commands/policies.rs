//! `thermocline policies`: what there is to choose from.

use std::fmt::Write;

use thermocline_assembly::{
    names::unknown,
    policy::{CatalogueEntry, CatalogueParam, catalogue},
};
use thermocline_policy::preset::LayerKind;

use crate::{
    args::catalogue::PoliciesArgs,
    exit::Failure,
    output::Output,
    print::{
        json,
        table::{Listing, USUAL_WIDTH, heading, wrap},
    },
};

const AXES: [(&str, &str); 7] = [
    ("preset", "Presets (--policy, --policies)"),
    ("victim", "Victim policies (--victim): which block is cleaned next"),
    ("placement", "Placements (--placement): which open block a page goes to"),
    ("idle", "Idle policies (--idle): garbage collection between requests"),
    ("dead-data", "Sources of dead data (--dead-data)"),
    ("layer", "FTLs with parameters of their own"),
    ("impossible", "Named by the papers, impossible on flash"),
];

/// Prints the catalogue, or its entries of one name.
pub fn run(args: &PoliciesArgs) -> Result<(), Failure> {
    let output = Output::open(None)?;
    let all = catalogue();
    let Some(name) = &args.name else {
        return if args.json { json::print(&all, output) } else { list(&all, output) };
    };
    let named: Vec<_> = all.iter().filter(|entry| is_called(entry, name)).collect();
    if named.is_empty() {
        let known = all.iter().flat_map(|e| e.aliases.iter().copied().chain([e.name]));
        let remedy = "`thermocline policies` lists them";
        return Err(unknown("policy", name, known, remedy).into());
    }
    if args.json {
        return json::print(&named, output);
    }
    let mut text = String::new();
    for (i, entry) in named.iter().enumerate() {
        text += if i > 0 { "\n" } else { "" };
        show(&mut text, entry, &all, &output);
    }
    output.put_styled(&text)
}

fn is_called(entry: &CatalogueEntry, name: &str) -> bool {
    entry.name == name || entry.aliases.contains(&name)
}

fn list(all: &[CatalogueEntry], output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    for (axis, title) in AXES {
        let mut list = Listing::new(output.width().unwrap_or(USUAL_WIDTH));
        for entry in all.iter().filter(|entry| entry.axis == axis) {
            let parameters: Vec<_> = entry.parameters.iter().map(|p| p.name).collect();
            let beside = match (axis, &entry.combines) {
                ("preset", Some(combines)) => format!("= {combines}"),
                ("preset", None) => "= updates in place".into(),
                _ if parameters.is_empty() => String::new(),
                _ => format!("({})", parameters.join(", ")),
            };
            let source = format!("Source: {}", entry.source);
            list.entry(&names(entry), &beside, [entry.summary, source.as_str()]);
        }
        let _ = writeln!(text, "{}\n{}", heading(title), list.finish());
    }
    text += "`thermocline policies NAME` shows parameters and defaults.\n";
    output.put_styled(&text)
}

fn names(entry: &CatalogueEntry) -> String {
    if entry.aliases.is_empty() {
        return entry.name.into();
    }
    format!("{} ({})", entry.name, entry.aliases.join(", "))
}

/// One entry with the parameters it takes; those of a preset are its axes'.
fn show(text: &mut String, entry: &CatalogueEntry, all: &[CatalogueEntry], output: &Output) {
    let _ = writeln!(text, "{}", heading(&format!("{} {}", entry.axis, names(entry))));
    let width = output.width().unwrap_or(USUAL_WIDTH);
    let _ = writeln!(text, "{}", wrap(&format!("{}.", entry.summary), width));
    let _ = writeln!(text, "{}", wrap(&format!("Source: {}", entry.source), width));
    if let Some(combines) = &entry.combines {
        let _ = writeln!(text, "Combines: {combines}");
    }
    let parameters = parameters(entry, all);
    if parameters.is_empty() {
        text.push_str("Parameters: none\n");
        return;
    }
    let mut list = Listing::new(output.width().unwrap_or(USUAL_WIDTH));
    for (of, p) in parameters {
        let beside = format!("of the {of}, {}, default {}", p.expected, p.default);
        list.entry(p.name, &beside, [p.meaning.as_str()]);
    }
    text.push_str(&list.finish());
}

fn parameters<'a>(
    entry: &'a CatalogueEntry,
    all: &'a [CatalogueEntry],
) -> Vec<(&'static str, &'a CatalogueParam)> {
    let axes: Vec<&CatalogueEntry> = match thermocline_policy::preset::find(entry.name) {
        Some(preset) if entry.axis == "preset" && entry.combines.is_some() => {
            let (victim, placement) = thermocline_policy::preset::axes(preset);
            let is_axis = |e: &&CatalogueEntry| match e.axis {
                "victim" => e.name == victim.name,
                "placement" => preset.layer == LayerKind::PageMapped && e.name == placement.name,
                "idle" => Some(e.name) == preset.idle,
                "dead-data" => e.name == preset.dead_data,
                "layer" => e.name == preset.layer.name(),
                _ => false,
            };
            all.iter().filter(is_axis).collect()
        }
        _ => vec![entry],
    };
    axes.into_iter().flat_map(|e| e.parameters.iter().map(|p| (e.axis, p))).collect()
}

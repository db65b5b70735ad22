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
        table::{Sheet, heading},
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

/// Prints the catalogue, or what is called by one name in it.
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
        let presets = axis == "preset";
        let second = if presets { "victim + placement" } else { "parameters" };
        let mut sheet =
            Sheet::new(&["name", second, "what it is, when to use it", "source"], &output);
        for entry in all.iter().filter(|entry| entry.axis == axis) {
            let second = if presets {
                entry.combines.clone().unwrap_or_else(|| "updates in place".into())
            } else {
                let names: Vec<_> = entry.parameters.iter().map(|p| p.name).collect();
                names.join(", ")
            };
            sheet.row([names(entry), second, entry.summary.into(), entry.source.into()]);
        }
        let _ = writeln!(text, "{}\n{}", heading(title), sheet.finish());
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
    let _ = writeln!(text, "{}.", entry.summary);
    let _ = writeln!(text, "Source: {}", entry.source);
    if let Some(combines) = &entry.combines {
        let _ = writeln!(text, "Combines: {combines}");
    }
    let parameters = parameters(entry, all);
    if parameters.is_empty() {
        text.push_str("Parameters: none\n");
        return;
    }
    let mut sheet = Sheet::new(&["parameter", "of", "default", "meaning", "write"], output);
    for (of, p) in parameters {
        sheet.row([p.name, of, &p.default, &p.meaning, p.expected]);
    }
    text.push_str(&sheet.finish());
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

//! docs/policies.md lists exactly the registered policies.

use thermocline_policy::{
    PolicyInfo,
    placement::PLACEMENTS,
    preset::{IMPOSSIBLE, LayerKind, PRESETS, axes},
    victim::VICTIMS,
};

/// The rows of the table under a heading: the name in the first column, and the rest.
fn rows<'a>(guide: &'a str, heading: &str) -> Vec<(&'a str, &'a str)> {
    let (_, from) = guide.split_once(&format!("\n## {heading}\n")).expect("the heading is there");
    let section = from.split("\n## ").next().expect("a first part");
    let row = |line: &'a str| line.strip_prefix("| `")?.split_once('`');
    section.lines().filter_map(row).collect()
}

fn names<'a>(rows: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    sorted(rows.iter().map(|(name, _)| *name))
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn every_registered_policy_has_a_row() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies.md");
    let guide = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let infos = |all: &[PolicyInfo]| sorted(all.iter().map(|info| info.name));

    let presets = rows(&guide, "Presets");
    assert_eq!(names(&presets), sorted(PRESETS.iter().map(|preset| preset.name)), "presets");
    let victims = rows(&guide, "Victim policies");
    assert_eq!(names(&victims), sorted(VICTIMS.iter().map(|entry| entry.info.name)), "victims");
    let placements = rows(&guide, "Placements");
    assert_eq!(names(&placements), infos(PLACEMENTS), "placements");
    for info in IMPOSSIBLE {
        assert!(guide.contains(&format!("`{}`", info.name)), "{}", info.name);
    }
    for preset in PRESETS.iter().filter(|preset| preset.layer == LayerKind::PageMapped) {
        let (_, row) = presets.iter().find(|(name, _)| *name == preset.name).expect("has a row");
        // The two striping presets share the text of a row.
        if !row.contains("| the same") {
            let (victim, placement) = axes(preset);
            for axis in [victim.name, placement.name] {
                assert!(row.contains(&format!("`{axis}`")), "{}: {axis}", preset.name);
            }
        }
    }
    for alias in PRESETS.iter().flat_map(|preset| preset.aliases) {
        assert!(guide.contains(&format!("`{alias}`")), "{alias}");
    }
}

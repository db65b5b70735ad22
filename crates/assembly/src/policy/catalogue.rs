//! All policies there are, with their parameters and sources.

use serde::Serialize;
use thermocline_policy::{
    PolicyInfo,
    bank::BankAssignment,
    dead, dftl, idle, nftl,
    params::ParamValue,
    placement,
    preset::{self, LayerKind},
    trigger::Trigger,
    victim,
};

/// A preset or a single axis, as the catalogue shows it.
#[derive(Clone, Debug, Serialize)]
pub struct CatalogueEntry {
    /// `preset`, `victim`, `placement`, `idle`, `dead-data`, `layer`, or `impossible` on flash.
    pub axis: &'static str,
    /// The name users write.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: Vec<&'static str>,
    /// One line: its effect and its use.
    pub summary: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// For a preset, its victim policy and placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combines: Option<String>,
    /// Its parameters.
    pub parameters: Vec<CatalogueParam>,
}

/// A parameter, as the catalogue shows it.
#[derive(Clone, Debug, Serialize)]
pub struct CatalogueParam {
    /// The key.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: String,
    /// The default.
    pub default: String,
    /// The form of values.
    pub expected: &'static str,
}

/// Everything `thermocline policies` lists.
#[must_use]
pub fn catalogue() -> Vec<CatalogueEntry> {
    let params = |info: &PolicyInfo| {
        (info.params)()
            .into_iter()
            .map(|p| CatalogueParam {
                name: p.name,
                meaning: p.doc,
                default: p.default,
                expected: p.expected,
            })
            .collect()
    };
    let axis = |axis: &'static str, info: &PolicyInfo| CatalogueEntry {
        axis,
        name: info.name,
        aliases: info.aliases.to_vec(),
        summary: info.summary,
        source: info.source,
        combines: None,
        parameters: params(info),
    };
    let mut entries: Vec<_> = preset::PRESETS
        .iter()
        .map(|p| CatalogueEntry {
            axis: "preset",
            name: p.name,
            aliases: p.aliases.to_vec(),
            summary: p.summary,
            source: p.source,
            combines: (p.layer != LayerKind::InPlace).then(|| combination(p)),
            parameters: Vec::new(),
        })
        .collect();
    entries.extend(victim::VICTIMS.iter().map(|v| axis("victim", &v.info)));
    entries.extend(placement::PLACEMENTS.iter().map(|p| axis("placement", p)));
    entries.extend(idle::IDLES.iter().map(|i| axis("idle", &i.info)));
    entries.extend(dead::DEAD_DATA.iter().map(|d| axis("dead-data", d)));
    entries.extend([&nftl::INFO, &dftl::INFO].map(|info| axis("layer", info)));
    entries.extend(preset::IMPOSSIBLE.iter().map(|wish| axis("impossible", wish)));
    entries
}

/// The axes of a preset in one line.
fn combination(p: &preset::Preset) -> String {
    let idle = p.idle.map_or(String::new(), |idle| format!(" + idle {idle}"));
    let dead = match p.dead_data {
        "trim" => String::new(),
        other => format!(" + {other}"),
    };
    if p.layer == LayerKind::Nftl {
        return format!("NFTL, {} pairs{idle}{dead}", p.victim);
    }
    if p.layer == LayerKind::Dftl {
        return format!("DFTL, {} + map apart", p.victim);
    }
    let read_only = if p.read_only_separation { " + read-only apart" } else { "" };
    let swap = if p.swap { " + swap" } else { "" };
    let trigger = match p.trigger {
        Trigger::Lazy => String::new(),
        other => format!(" + {} cleaning", other.show()),
    };
    let batch = match p.batch {
        1 => String::new(),
        n => format!(" + {n} blocks at once"),
    };
    let banks = match p.bank_assignment {
        BankAssignment::Static => "",
        BankAssignment::Dynamic => " + dynamic banks",
    };
    format!("{} + {}{read_only}{swap}{trigger}{batch}{banks}{idle}{dead}", p.victim, p.placement)
}

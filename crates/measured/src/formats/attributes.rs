//! Attributes of SATA drives, by smartctl's names. The names include the units: smartmontools' database of drives
//! gives a vendor's attribute a name such as `NAND_Writes_32MiB`.

use serde_json::Value;

use super::whole;
use crate::{Count, Quantity, Reading};

/// Attributes whose normalised value is the life that is left, in percent.
const LIFE_LEFT: [&str; 6] = [
    "Media_Wearout_Indicator",
    "Percent_Lifetime_Remain",
    "Percent_Life_Remaining",
    "SSD_Life_Left",
    "Wear_Leveling_Count",
    "Remaining_Lifetime_Perc",
];
const SECTOR: u64 = 512;
const GB: u64 = 1_000_000_000;

/// An attribute.
struct Attribute<'a> {
    id: u64,
    name: &'a str,
    value: f64,
    raw: u128,
}

/// Reads the known counters.
pub(super) fn read(value: &Value, reading: &mut Reading, notes: &mut Vec<String>) {
    let table = value.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    let attributes: Vec<_> = table.into_iter().flatten().filter_map(attribute).collect();
    if !attributes.is_empty() {
        let (mut host, mut physical) = (None, None);
        for attribute in &attributes {
            if let Some(quantity) = quantity(attribute.name) {
                let Some(unit) = unit(attribute, &attributes) else {
                    note(
                        notes,
                        format!(
                            "{}: attribute {} {} is left out: its unit is not known",
                            reading.place.file, attribute.id, attribute.name
                        ),
                    );
                    continue;
                };
                let slot = if quantity == Quantity::Host { &mut host } else { &mut physical };
                take(slot, attribute, unit, quantity);
            } else if LIFE_LEFT.contains(&attribute.name)
                && (0.0..=100.0).contains(&attribute.value)
            {
                reading.life_used.get_or_insert(100.0 - attribute.value);
            }
        }
        if let Some(pages) = page_counts(&attributes, host.as_ref(), notes, reading) {
            physical = Some(pages.1);
            host = host.or(Some(pages.0));
        }
        same_unit(&host, &mut physical, notes, reading);
        reading.host = reading.host.take().or(host);
        reading.physical = reading.physical.take().or(physical);
    }
    statistics(value, reading);
    let used = value.pointer("/endurance_used/current_percent").and_then(Value::as_f64);
    reading.life_used = reading.life_used.or(used);
}

fn attribute(value: &Value) -> Option<Attribute<'_>> {
    Some(Attribute {
        id: value.get("id")?.as_u64()?,
        name: value.get("name")?.as_str()?,
        value: value.get("value").and_then(Value::as_f64).unwrap_or(-1.0),
        raw: value.pointer("/raw/value").and_then(whole)?,
    })
}

/// The quantity that a name counts.
fn quantity(name: &str) -> Option<Quantity> {
    let has = |part: &str| name.contains(part);
    let writes = has("Writ") || has("Prog");
    let other =
        has("Read") || has("Error") || has("Fail") || has("Perc") || has("Amp") || has("Page");
    if !writes || other || name.ends_with("_Exp") || has("_High") || has("_Low") {
        return None;
    }
    let flash = ["NAND", "Nand", "Flash", "TLC", "SLC", "Media_W"].iter().any(|part| has(part));
    if flash && !has("Protect") {
        return Some(Quantity::Physical);
    }
    let host =
        ["Host_W", "Lifetime_W", "Total_W", "Total_LBAs_W", "Total_Host_LBA_W", "Device_Sectors_W"];
    host.iter().any(|part| name.starts_with(part)).then_some(Quantity::Host)
}

/// Bytes of an attribute's unit, if its name shows it.
fn unit(attribute: &Attribute<'_>, all: &[Attribute<'_>]) -> Option<u64> {
    let has = |part: &str| attribute.name.contains(part);
    if has("32MiB") {
        return Some(32 << 20);
    }
    if has("GiB") {
        return Some(1 << 30);
    }
    if has("MiB") {
        return Some(1 << 20);
    }
    if has("GB") {
        return Some(GB);
    }
    if has("LBA") || has("Sector") {
        // Drives that are in no database get general names: Intel's 241 counts what its 225 counts.
        let alike =
            |other: &&Attribute<'_>| other.raw == attribute.raw && other.name.contains("32MiB");
        return Some(if all.iter().any(|other| alike(&other)) { 32 << 20 } else { SECTOR });
    }
    // Samsung's PM863 and later count sectors under this name.
    (attribute.name == "NAND_Writes").then_some(SECTOR)
}

/// Flash of several kinds counts together; of several counters of one thing the finest counts.
fn take(slot: &mut Option<Count>, attribute: &Attribute<'_>, unit: u64, quantity: Quantity) {
    let named = format!("{} {}", attribute.id, attribute.name);
    let kinds = ["TLC", "SLC"].iter().any(|kind| attribute.name.contains(kind));
    match slot {
        Some(count) if kinds && count.unit == unit && quantity == Quantity::Physical => {
            count.raw += attribute.raw;
            count.what = format!("{} and {named}", count.what);
        }
        Some(count) if count.unit <= unit => {}
        _ => {
            let what = format!(
                "{}: attribute {named} in units of {unit} bytes (smartmontools)",
                quantity.column()
            );
            *slot = Some(Count { raw: attribute.raw, unit, what });
        }
    }
}

/// Micron counts pages: 247 of the host, 248 of the translation layer beside it. The page size follows from 246,
/// sectors of the host.
fn page_counts(
    all: &[Attribute<'_>],
    host: Option<&Count>,
    notes: &mut Vec<String>,
    reading: &Reading,
) -> Option<(Count, Count)> {
    const PAGE: u64 = 16 << 10;
    let named = |id: u64, part: &str| {
        all.iter().find(|attribute| attribute.id == id && attribute.name.contains(part))
    };
    let (pages, more) = (named(247, "Host_Program_Page")?, named(248, "Program_Page")?);
    let told = host.filter(|host| host.unit == SECTOR && pages.raw > 0 && host.raw > 0);
    let told = told.map(|host| host.raw as f64 * SECTOR as f64 / pages.raw as f64);
    let page = told.map(|bytes| 2_f64.powf(bytes.log2().round()) as u64);
    let page = page.filter(|page| (4 << 10..=256 << 10).contains(page)).unwrap_or_else(|| {
        note(
            notes,
            format!(
                "{}: attribute 247 counts pages of a size that 246 does not give; 16 KiB assumed",
                reading.place.file
            ),
        );
        PAGE
    });
    let count =
        |raw, what: &str| Count { raw, unit: page, what: what.replace('#', &page.to_string()) };
    Some((
        count(pages.raw, "host_bytes: attribute 247 Host_Program_Page_Count in pages of # bytes"),
        count(
            pages.raw + more.raw,
            "physical_bytes: attributes 247 and 248 in pages of # bytes (Micron TN-FD-23)",
        ),
    ))
}

/// A drive that counts the host's bytes in GiB counts its flash so, whatever a name says.
fn same_unit(
    host: &Option<Count>,
    physical: &mut Option<Count>,
    notes: &mut Vec<String>,
    reading: &Reading,
) {
    if let (Some(host), Some(physical)) = (host, physical)
        && host.unit == 1 << 30
        && physical.unit == GB
    {
        physical.unit = host.unit;
        physical.what = physical.what.replace(&GB.to_string(), &host.unit.to_string());
        note(
            notes,
            format!(
                "{}: GB of the flash are taken as GiB, as the host's bytes are",
                reading.place.file
            ),
        );
    }
}

/// Device statistics of ATA: logical sectors written.
fn statistics(value: &Value, reading: &mut Reading) {
    let sector = value.get("logical_block_size").and_then(Value::as_u64).unwrap_or(SECTOR);
    let pages = value.pointer("/ata_device_statistics/pages").and_then(Value::as_array);
    let pages = pages.into_iter().flatten().filter_map(|page| page.get("table")?.as_array());
    for entry in pages.flatten() {
        let raw = entry.get("value").and_then(whole);
        match (entry.get("name").and_then(Value::as_str), raw) {
            (Some("Logical Sectors Written"), Some(raw)) if reading.host.is_none() => {
                let what =
                    format!("host_bytes: logical sectors of {sector} bytes (ATA statistics)");
                reading.host = Some(Count { raw, unit: sector, what });
            }
            (Some("Percentage Used Endurance Indicator"), Some(raw)) => {
                reading.life_used.get_or_insert(raw as f64);
            }
            _ => {}
        }
    }
}

/// Says a thing once.
fn note(notes: &mut Vec<String>, text: String) {
    let after = |text: &str| text.split_once(": ").map(|(_, rest)| rest.to_owned());
    if notes.iter().all(|known| after(known) != after(&text)) {
        notes.push(text);
    }
}

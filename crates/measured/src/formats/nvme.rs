//! Logs of NVMe drives as JSON: keys that are known, wherever they stand.

use serde_json::Value;

use super::whole;
use crate::{Count, Quantity, Reading};

/// The unit of the standard's log: thousands of 512 bytes.
const DATA_UNIT: u64 = 512_000;
/// The unit of Intel's and Solidigm's log.
const INTEL_UNIT: u64 = 32 << 20;

/// A counter by its key: small letters and digits, everything else as `_`.
struct Known {
    key: &'static str,
    quantity: Quantity,
    unit: u64,
    what: &'static str,
}

const fn known(key: &'static str, quantity: Quantity, unit: u64, what: &'static str) -> Known {
    Known { key, quantity, unit, what }
}

const KNOWN: &[Known] = &[
    known(
        "data_units_written",
        Quantity::Host,
        DATA_UNIT,
        "data units of 512,000 bytes (NVM Express)",
    ),
    known("host_bytes_written", Quantity::Host, INTEL_UNIT, "units of 32 MiB (Intel, Solidigm)"),
    known("physical_media_units_written", Quantity::Physical, 1, "bytes (OCP, log page C0h)"),
    known("physical_media_units_written_tlc", Quantity::Physical, 1, "bytes (vendor's log, TLC)"),
    known("physical_media_units_written_slc", Quantity::Physical, 1, "bytes (vendor's log, SLC)"),
    known("physical_media_units_bytes_tlc", Quantity::Physical, 1, "bytes (WDC, TLC)"),
    known("physical_media_units_bytes_slc", Quantity::Physical, 1, "bytes (WDC, SLC)"),
    known("physicallywrittenbytes", Quantity::Physical, 1, "bytes (vendor's log)"),
    known("nand_writes_bytes_written", Quantity::Physical, 1, "bytes (Micron)"),
    known(
        "nand_bytes_written",
        Quantity::Physical,
        INTEL_UNIT,
        "units of 32 MiB (Intel, Solidigm)",
    ),
    // The project's own server.
    known("host_bytes", Quantity::Host, 1, "bytes"),
    known("physical_bytes", Quantity::Physical, 1, "bytes"),
];
const LIFE: [&str; 2] = ["percent_used", "percentage_used"];

/// Reads the known counters.
pub(super) fn read(value: &Value, reading: &mut Reading) {
    visit(value, 0, reading);
    pages(value, reading);
}

fn visit(value: &Value, depth: usize, reading: &mut Reading) {
    const DEEPEST: usize = 4;
    let Value::Object(object) = value else { return };
    for (key, value) in object {
        let plain = plain(key);
        if let Some(known) = KNOWN.iter().find(|known| known.key == plain)
            && let Some(raw) = whole(value)
        {
            add(known, raw, reading);
        } else if LIFE.contains(&plain.as_str())
            && let Some(percent) = whole(value)
        {
            reading.life_used.get_or_insert(percent as f64);
        } else if depth < DEEPEST {
            visit(value, depth + 1, reading);
        }
    }
}

/// Flash of several kinds counts together.
fn add(known: &Known, raw: u128, reading: &mut Reading) {
    let what = format!("{}: {}, {}", known.quantity.column(), known.key, known.what);
    let slot = match known.quantity {
        Quantity::Host => &mut reading.host,
        Quantity::Physical => &mut reading.physical,
    };
    match slot {
        Some(count) if known.key.ends_with("lc") && count.unit == known.unit => {
            count.raw += raw;
            count.what = format!("{} and {}", count.what, known.key);
        }
        Some(_) => {}
        None => *slot = Some(Count { raw, unit: known.unit, what }),
    }
}

/// The project's own server counts pages.
fn pages(value: &Value, reading: &mut Reading) {
    let counted = value.get("since_mount").unwrap_or(value);
    let number = |key: &str| counted.get(key).or_else(|| value.get(key)).and_then(whole);
    let Some(page) = number("page_size") else { return };
    let count = |raw: Option<u128>, what: &str| {
        let unit = u64::try_from(page).ok()?;
        Some(Count { raw: raw?, unit, what: format!("{what} of {page} bytes (thermocline)") })
    };
    let host = count(number("host_pages_written"), "host_bytes: pages");
    reading.host = reading.host.take().or(host);
    let physical = count(number("flash_pages_programmed"), "physical_bytes: pages");
    reading.physical = reading.physical.take().or(physical);
}

/// A key without its spelling.
fn plain(key: &str) -> String {
    let mut plain = String::with_capacity(key.len());
    for c in key.chars() {
        if c.is_ascii_alphanumeric() {
            plain.push(c.to_ascii_lowercase());
        } else if !plain.ends_with('_') && !plain.is_empty() {
            plain.push('_');
        }
    }
    plain.trim_end_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_in_any_spelling() {
        assert_eq!(plain("Physical media units written"), "physical_media_units_written");
        assert_eq!(plain("Physical Media Units Written - TLC"), "physical_media_units_written_tlc");
        assert_eq!(plain("NAND Writes (Bytes Written)"), "nand_writes_bytes_written");
    }
}

//! Formats of tools: one file for each kind, and the table of all.

mod attributes;
mod csv;
mod ext_csd;
mod nvme;

use serde_json::Value;

use crate::{
    Count, MeasuredError, Measurement, Quantity, Reading,
    documents::{Body, Document},
};

/// A kind of printout.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The tool that prints it.
    pub tool: &'static str,
    /// Its counters and their units.
    pub counters: &'static str,
    /// Where the units are stated.
    pub source: &'static str,
}

/// Every kind of printout that can be read.
pub const FORMATS: &[Format] = &[
    Format {
        tool: "nvme smart-log -o json",
        counters: "data_units_written: 512,000 bytes; percent_used",
        source: "NVM Express Base Specification, SMART / Health Information: thousands of 512 bytes",
    },
    Format {
        tool: "nvme ocp smart-add-log -o json",
        counters: "physical media units written: bytes",
        source: "OCP Datacenter NVMe SSD Specification, log page C0h, SMART-1",
    },
    Format {
        tool: "nvme intel smart-log-add, nvme solidigm smart-log-add (-o json)",
        counters: "nand_bytes_written, host_bytes_written: 32 MiB",
        source: "Intel SSD DC P4510 Series Product Specification, additional SMART attributes F4h, F5h",
    },
    Format {
        tool: "nvme wdc vs-smart-add-log, nvme micron vs-nand-stats (-o json)",
        counters: "physical media units written, TLC and SLC: bytes; NAND writes: bytes",
        source: "nvme-cli, plugins wdc and micron",
    },
    Format {
        tool: "smartctl -j -A (NVMe)",
        counters: "data_units_written: 512,000 bytes; percentage_used",
        source: "NVM Express Base Specification",
    },
    Format {
        tool: "smartctl -j -A (SATA)",
        counters: "attributes by their names: ..._32MiB, ..._GiB, ..._LBAs; pages of 247 and 248",
        source: "smartmontools drivedb.h; Micron TN-FD-23 for 246 to 248",
    },
    Format {
        tool: "mmc extcsd read, life_time of the kernel",
        counters: "life time estimates A and B: steps of 10 %",
        source: "JEDEC JESD84-B51, DEVICE_LIFE_TIME_EST_TYP_A and _B",
    },
    Format {
        tool: "thermocline ctl stat, as JSON",
        counters: "host and flash pages, of the chip's page size",
        source: "this project",
    },
    Format {
        tool: "CSV, and the files of `measured import`",
        counters: "seconds, host_bytes, physical_bytes, life_used_percent",
        source: "this project",
    },
];

/// Reads a printout. Only a table has several readings.
///
/// # Errors
/// If it has no known counter, with the known ones.
pub fn read(document: &Document, notes: &mut Vec<String>) -> Result<Vec<Reading>, MeasuredError> {
    let mut reading = Reading::at(&document.place, document.time);
    match &document.body {
        Body::Csv(text) => return csv::read(text, &document.place),
        Body::Text(text) => ext_csd::read(text, &mut reading),
        Body::Json(value) => {
            if value.get("points").is_some() {
                return own(value, document);
            }
            nvme::read(value, &mut reading);
            attributes::read(value, &mut reading, notes);
            reading.drive = reading.drive.take().or_else(|| model(value));
        }
    }
    if reading.is_empty() {
        let tools: Vec<_> = FORMATS.iter().map(|format| format.tool).collect();
        return Err(MeasuredError::input(
            &document.place,
            "no counter of bytes written is known here",
            format!("these printouts are read: {}", tools.join("; ")),
        ));
    }
    Ok(vec![reading])
}

/// A file of `measured import`.
fn own(value: &Value, document: &Document) -> Result<Vec<Reading>, MeasuredError> {
    let measurement: Measurement = serde_json::from_value(value.clone()).map_err(|e| {
        MeasuredError::input(&document.place, e.to_string(), "write it by `measured import`")
    })?;
    let what = |quantity: Quantity| {
        let names = |line: &&String| line.starts_with(quantity.column());
        let known = measurement.counters.iter().find(names);
        known.cloned().unwrap_or_else(|| format!("{}: bytes", quantity.column()))
    };
    let count = |bytes: Option<u64>, quantity| {
        bytes.map(|bytes| Count { raw: bytes.into(), unit: 1, what: what(quantity) })
    };
    let point = |point: &crate::Point| Reading {
        host: count(point.host_bytes, Quantity::Host),
        physical: count(point.physical_bytes, Quantity::Physical),
        life_used: point.life_used_percent,
        drive: measurement.drive.clone(),
        ..Reading::at(&document.place, Some(point.seconds))
    };
    Ok(measurement.points.iter().map(point).collect())
}

fn model(value: &Value) -> Option<String> {
    let names = ["model_name", "ModelNumber", "mn", "model", "drive"];
    let name = names.iter().find_map(|key| value.get(*key))?.as_str()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// A whole number, as JSON or as text.
fn whole(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => {
            number.as_u64().map(u128::from).or_else(|| number.as_f64().map(|n| n as u128))
        }
        Value::String(text) => {
            let digits: String = text.chars().filter(|c| *c != ',' && *c != '_').collect();
            match digits.trim().strip_prefix("0x") {
                Some(hex) => u128::from_str_radix(hex, 16).ok(),
                None => digits.trim().parse().ok(),
            }
        }
        Value::Object(object) => {
            let part = |key: &str| object.get(key).and_then(whole);
            match (part("hi"), part("lo")) {
                (Some(hi), Some(lo)) => Some(hi << 64 | lo),
                _ => part("raw"),
            }
        }
        _ => None,
    }
}

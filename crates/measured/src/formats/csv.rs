//! Tables: seconds, host_bytes, physical_bytes, in any order and under the usual names.

use crate::{Count, MeasuredError, Place, Quantity, Reading};

const TIME: &[&str] = &["seconds", "time_s", "time", "timestamp", "elapsed_s", "elapsed", "t"];
const HOST: &[&str] =
    &["host_bytes", "host_bytes_written", "host_written_bytes", "host_write_bytes"];
const PHYSICAL: &[&str] = &[
    "physical_bytes",
    "physical_bytes_written",
    "physical_written_bytes",
    "nand_bytes",
    "nand_bytes_written",
    "media_bytes_written",
];
const LIFE: &[&str] = &["life_used_percent", "percent_used", "percentage_used"];

/// Reads the rows.
pub(super) fn read(text: &str, place: &Place) -> Result<Vec<Reading>, MeasuredError> {
    let at = |line: usize| Place { file: place.file.clone(), line };
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let mut comments = Vec::new();
    let header = loop {
        match lines.next() {
            Some((_, line)) if line.starts_with('#') => {
                comments.push(line.trim_start_matches('#').trim().to_owned());
            }
            Some((_, "")) => {}
            Some(header) => break header,
            None => return Err(no_table(place)),
        }
    };
    let names: Vec<_> = header.1.split([',', ';', '\t']).map(clean).collect();
    let column = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let (time, host, physical) = (column(TIME), column(HOST), column(PHYSICAL));
    let life = column(LIFE);
    if host.is_none() && physical.is_none() && life.is_none() {
        return Err(no_table(&at(header.0)));
    }
    let about = |key: &str| {
        let has = |line: &&String| line.starts_with(key);
        comments.iter().find(has).cloned()
    };
    let what = |quantity: Quantity| {
        about(quantity.column()).unwrap_or_else(|| format!("{}: bytes", quantity.column()))
    };
    let drive = about("drive: ").map(|line| line["drive: ".len()..].to_owned());
    let mut readings = Vec::new();
    for (line, row) in lines.filter(|(_, row)| !row.is_empty() && !row.starts_with('#')) {
        let place = at(line);
        let cells: Vec<_> = row.split([',', ';', '\t']).map(str::trim).collect();
        let number = |column: Option<usize>| -> Result<Option<f64>, MeasuredError> {
            let Some(text) = column.map(|at| cells.get(at).copied().unwrap_or("")) else {
                return Ok(None);
            };
            if text.is_empty() {
                return Ok(None);
            }
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
                _ => Err(MeasuredError::input(
                    &place,
                    format!("`{text}` in column {} is no number", names[column.unwrap_or(0)]),
                    "give seconds and bytes as numbers of at least 0",
                )),
            }
        };
        let count = |column: Option<usize>, quantity| -> Result<Option<Count>, MeasuredError> {
            let Some(number) = number(column)? else { return Ok(None) };
            // Whole numbers above 2^53 are not to be rounded.
            let exact = column.and_then(|at| cells[at].parse().ok());
            let raw = exact.unwrap_or(number as u128);
            Ok(Some(Count { raw, unit: 1, what: what(quantity) }))
        };
        readings.push(Reading {
            host: count(host, Quantity::Host)?,
            physical: count(physical, Quantity::Physical)?,
            life_used: number(life)?,
            drive: drive.clone(),
            ..Reading::at(&place, number(time)?)
        });
    }
    if readings.is_empty() {
        return Err(no_table(place));
    }
    Ok(readings)
}

fn clean(name: &str) -> String {
    name.trim().trim_matches('"').to_lowercase().replace([' ', '-'], "_")
}

fn no_table(place: &Place) -> MeasuredError {
    MeasuredError::input(
        place,
        "this is neither JSON nor a table of counters",
        "a table begins with seconds,host_bytes,physical_bytes; tools print JSON with -o json (nvme) or -j \
         (smartctl)",
    )
}

//! A measurement, and its files.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{MeasuredError, Place, Quantity};

/// A point of a measurement: counts since the first point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Seconds since the first point.
    pub seconds: f64,
    /// Bytes written by the host, if the drive counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_bytes: Option<u64>,
    /// Bytes programmed by the drive, if it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<u64>,
    /// Share of the drive's life that is used up, in percent, as the drive says; not counted from the first point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_used_percent: Option<f64>,
}

/// Bytes that a host wrote and bytes that the drive programmed, over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The drive's model, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// The counters, with their units and the sources of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// In order of time.
    pub points: Vec<Point>,
}

impl Measurement {
    /// Host bytes and physical bytes at each point.
    ///
    /// # Errors
    /// If one of them is missing, or the host wrote nothing.
    pub fn curve(&self) -> Result<Vec<(u64, u64)>, MeasuredError> {
        let place = Place { file: self.drive.clone().unwrap_or("the measurement".into()), line: 1 };
        let without = |quantity: Quantity, remedy: &str| {
            MeasuredError::input(&place, format!("there are no {}", quantity.column()), remedy)
        };
        let mut curve = Vec::with_capacity(self.points.len());
        for point in &self.points {
            let host = point.host_bytes.ok_or_else(|| {
                without(
                    Quantity::Host,
                    "import `nvme smart-log -o json` or `smartctl -j -A` beside it",
                )
            })?;
            let physical = point.physical_bytes.ok_or_else(|| {
                without(
                    Quantity::Physical,
                    "import `nvme ocp smart-add-log -o json` or the vendor's log beside it",
                )
            })?;
            curve.push((host, physical));
        }
        if curve.last().is_none_or(|(host, _)| *host == 0) {
            let what = "the host wrote nothing between the first reading and the last";
            return Err(MeasuredError::input(&place, what, "measure while something writes"));
        }
        Ok(curve)
    }

    /// As CSV. Everything beside the points is in comments.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let about = self.drive.iter().map(|drive| format!("drive: {drive}"));
        for line in about.chain(self.counters.iter().cloned()) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# {}", line.replace('\n', " "));
        }
        let any = |of: fn(&Point) -> bool| self.points.iter().any(of);
        let columns = [
            (any(|p| p.host_bytes.is_some()), "host_bytes"),
            (any(|p| p.physical_bytes.is_some()), "physical_bytes"),
            (any(|p| p.life_used_percent.is_some()), "life_used_percent"),
        ];
        text += "seconds";
        for (_, name) in columns.iter().filter(|(has, _)| *has) {
            text += ",";
            text += name;
        }
        text += "\n";
        for point in &self.points {
            let number = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
            let life = point.life_used_percent.map_or(String::new(), |v| v.to_string());
            let cells = [number(point.host_bytes), number(point.physical_bytes), life];
            text += &point.seconds.to_string();
            for (cell, _) in cells.iter().zip(columns).filter(|(_, (has, _))| *has) {
                text += ",";
                text += cell;
            }
            text += "\n";
        }
        text
    }

    /// As JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("numbers and texts") + "\n"
    }
}

//! Values of metrics as text, single and in columns.

use serde_json::Value;
use thermocline_sim::metric::{Format, Metric};
use thermocline_units as units;

use crate::number::{self, NONE, Unit};

const DAYS: f64 = 365.25;

/// Powers of 1000, as storage is sold.
const DECIMAL: [(&str, f64); 6] =
    [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)];

/// Powers of 1024.
const BINARY: [(&str, f64); 5] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("TiB", 1099511627776.0),
];

/// A value by itself.
pub fn show(format: Format, value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::Null, _) => NONE.into(),
        (Value::String(text), _) => text.clone(),
        (_, Some(number)) => show_number(format, number),
        (other, None) => other.to_string(),
    }
}

/// A number by itself.
pub fn show_number(format: Format, value: f64) -> String {
    match format {
        Format::Plain | Format::Short => number::short(value),
        Format::Count => number::grouped(value as u64),
        Format::Fixed(digits) => number::fixed(value, digits.into()),
        Format::Percent => number::percent(value),
        Format::Excess => number::excess(value),
        Format::Bytes => units::show_size(value as u64),
        Format::DecimalBytes => in_unit(value, &DECIMAL),
        Format::Micros => number::time_us(value),
        Format::Seconds => number::time_us(value * 1e6),
        Format::Years if value >= 1.0 => format!("{} years", number::short(value)),
        Format::Years => format!("{} days", number::short(value * DAYS)),
    }
}

fn in_unit(value: f64, units: &[(&str, f64)]) -> String {
    let (name, scale) = unit_of(value, units);
    format!("{} {name}", number::short(value / scale))
}

/// The largest unit in which a value is at least 1.
fn unit_of<'a>(value: f64, units: &[(&'a str, f64)]) -> (&'a str, f64) {
    units.iter().rev().find(|(_, scale)| value >= *scale).copied().unwrap_or(units[0])
}

/// The unit of an axis up to this value, and its size in the metric's own unit.
pub fn unit_of_axis(format: Format, most: f64) -> (Option<&'static str>, f64) {
    let named = |(name, scale): (&'static str, f64)| (Some(name), scale);
    let time = |us: f64, own: f64| {
        let unit = Unit::of_us(us);
        (Some(unit.name), 1.0 / unit.convert(own))
    };
    match format {
        Format::Micros => time(most, 1.0),
        Format::Seconds => time(most * 1e6, 1e6),
        Format::Bytes => named(unit_of(most, &BINARY)),
        Format::DecimalBytes => named(unit_of(most, &DECIMAL)),
        Format::Years if most >= 1.0 || most == 0.0 => named(("years", 1.0)),
        Format::Years => named(("days", 1.0 / DAYS)),
        Format::Percent | Format::Excess => named(("%", 0.01)),
        Format::Plain | Format::Count | Format::Fixed(_) | Format::Short => (None, 1.0),
    }
}

/// How the values of a column are written, all in one unit with as many digits.
#[derive(Debug)]
pub struct Scale {
    format: Format,
    /// The unit that its header names.
    pub unit: Option<&'static str>,
    factor: f64,
    digits: usize,
}

impl Scale {
    /// For these values: the least of them has its digits.
    pub fn of(format: Format, values: impl Iterator<Item = f64>) -> Self {
        let least = values.filter(|value| *value > 0.0).reduce(f64::min).unwrap_or(0.0);
        let scaled = |(unit, scale): (&'static str, f64), most: usize| {
            let digits = number::digits_for(least / scale).min(most);
            Self { format, unit: Some(unit), factor: 1.0 / scale, digits }
        };
        match format {
            Format::Micros => {
                let unit = Unit::of_us(least);
                let digits = number::digits_for(unit.convert(least)).clamp(1, 2);
                Self { format, unit: Some(unit.name), factor: unit.convert(1.0), digits }
            }
            Format::Seconds => scaled(("s", 1.0), 2),
            Format::DecimalBytes => scaled(unit_of(least, &DECIMAL), 2),
            Format::Bytes => scaled(unit_of(least, &BINARY), 1),
            Format::Years if least >= 1.0 || least == 0.0 => scaled(("years", 1.0), 2),
            Format::Years => scaled(("days", 1.0 / DAYS), 2),
            Format::Percent => Self { format, unit: None, factor: 100.0, digits: 1 },
            Format::Fixed(digits) => {
                Self { format, unit: None, factor: 1.0, digits: digits.into() }
            }
            Format::Count => Self { format, unit: None, factor: 1.0, digits: 0 },
            Format::Plain | Format::Short | Format::Excess => {
                Self { format, unit: None, factor: 1.0, digits: number::digits_for(least) }
            }
        }
    }

    /// The header of a metric's column, with the unit.
    pub fn header(&self, metric: &Metric) -> String {
        let name = metric.header.replace('\n', " ");
        let name = if name.is_empty() { metric.key.clone() } else { name };
        self.unit.map_or_else(|| name.clone(), |unit| format!("{name}, {unit}"))
    }

    /// A value of the column.
    pub fn show(&self, value: f64) -> String {
        match self.format {
            Format::Excess => number::excess(value),
            Format::Percent => format!("{} %", number::fixed(value * self.factor, self.digits)),
            _ => number::fixed(value * self.factor, self.digits),
        }
    }

    /// The error of a value, in the same unit.
    pub fn show_half(&self, half: f64) -> String {
        match self.format {
            Format::Excess => number::fixed(half * 100.0, 1),
            _ => number::fixed(half * self.factor, self.digits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_units_that_suit_them() {
        assert_eq!(show_number(Format::DecimalBytes, 7.3e12), "7.300 TB");
        assert_eq!(show_number(Format::Years, 0.5), "182.6 days");
        assert_eq!(show(Format::Count, &Value::Null), NONE);
        let column = Scale::of(Format::Micros, [3000.0, 61_000.0].into_iter());
        assert_eq!((column.unit, column.show(61_000.0)), (Some("ms"), "61.00".into()));
        let bytes = Scale::of(Format::Bytes, [2048.0, 1e6].into_iter());
        assert_eq!((bytes.unit, bytes.show(2048.0)), (Some("KiB"), "2.0".into()));
        assert_eq!(unit_of_axis(Format::Micros, 61_000.0), (Some("ms"), 1e3));
        assert_eq!(unit_of_axis(Format::Seconds, 90.0), (Some("min"), 60.0));
        assert_eq!(unit_of_axis(Format::Bytes, 3e6), (Some("MiB"), 1048576.0));
        assert_eq!(unit_of_axis(Format::Fixed(3), 4.0), (None, 1.0));
    }
}

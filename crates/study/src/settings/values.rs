//! Values as users write them, and names that shells can complete.

use clap::{
    Arg, Command, Error,
    builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser},
};
use std::{ffi::OsStr, path::Path, str::FromStr};
use thermocline_assembly::policy::split_list;
use thermocline_policy::{Ticks, params::ParamValue};
use thermocline_sim::{
    answer::{Aim, Buildable},
    metric::{self, Metric},
};
use thermocline_trace::{read::Format, transform::Window};
use thermocline_units::{parse_share, parse_size};

/// Bytes: `4k`, `4KiB`, `192MiB`.
pub fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|e| e.to_string())
}

/// A share: `15%`, `0.15`.
pub fn share(text: &str) -> Result<f64, String> {
    parse_share(text).map_err(|e| e.to_string())
}

/// Nanoseconds: `84min`, `20ms`.
pub fn time(text: &str) -> Result<u64, String> {
    Ticks::parse(text.trim())
        .map(|ticks| ticks.0)
        .ok_or_else(|| format!("`{text}` is not a time; write it as 84min, 250s, 20ms or 100us"))
}

/// One of this many: `1/8`.
pub fn sample(text: &str) -> Result<u32, String> {
    let of = text.trim().strip_prefix("1/").and_then(|of| of.trim().parse().ok());
    of.filter(|of| (2..=1 << 16).contains(of))
        .ok_or_else(|| format!("`{text}` is not a sample; write it as 1/8, one of eight pages"))
}

/// A page: large enough to count, small enough for every table.
pub fn page_size(text: &str) -> Result<u64, String> {
    let bytes = size(text)?;
    if (1..=1 << 31).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("a page cannot have {bytes} bytes; choose from 1 byte to 2GiB"))
    }
}

/// A window of requests (`64`) or of time (`20ms`).
pub fn window(text: &str) -> Result<Window, String> {
    match text.parse() {
        Ok(requests) => Ok(Window::Requests(requests)),
        Err(_) => time(text).map(Window::Time).map_err(|e| format!("{e}; or as requests: 64")),
    }
}

/// Bytes a day, in the units in which storage is sold or in powers of 1024: `50GB`, `20GiB`.
pub fn daily_writes(text: &str) -> Result<u64, String> {
    let bytes = size(text).ok().filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| format!("`{text}` is no amount of data; write it as 50GB or 20GiB"))
}

/// A metric by its key, or by the last words of it.
pub fn metric(text: &str) -> Result<&'static Metric, String> {
    let text = text.trim();
    metric::find(text).ok_or_else(|| {
        let called: Vec<_> = metric::metrics().iter().filter(|m| m.is_called(text)).collect();
        if called.is_empty() {
            return format!("`{text}` is no key of a result; docs/results.md lists them");
        }
        let keys: Vec<_> = called.iter().map(|metric| metric.key.as_str()).collect();
        format!("`{text}` may be {}; write one of these", keys.join(" or "))
    })
}

/// What a policy is chosen for.
pub fn aim() -> impl TypedValueParser<Value = Aim> {
    PossibleValuesParser::new(Aim::ALL.map(Aim::name))
        .map(|name| Aim::ALL.into_iter().find(|aim| aim.name() == name).unwrap_or_default())
}

/// Who builds a policy.
pub fn buildable() -> impl TypedValueParser<Value = Buildable> {
    PossibleValuesParser::new(Buildable::ALL.map(Buildable::name))
        .map(|name| Buildable::ALL.into_iter().find(|who| who.name() == name).unwrap_or_default())
}

/// A trace format by name, or `columns:…`.
pub fn trace_format(text: &str) -> Result<Format, String> {
    Format::from_str(text).map_err(|e| e.to_string())
}

/// Which of the filled pages are read-only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadOnlyArg {
    /// Those the trace never writes.
    Unwritten,
    /// This share of them.
    Share(f64),
}

impl FromStr for ReadOnlyArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unwritten" {
            return Ok(Self::Unwritten);
        }
        share(text).map(Self::Share).map_err(|e| format!("{e}, or `unwritten` with a trace"))
    }
}

/// What is written before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FillArg {
    /// Nothing.
    Nothing,
    /// This share of the chip.
    Share(f64),
}

impl FromStr for FillArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Nothing);
        }
        share(text).map(Self::Share).map_err(|e| format!("{e}, or `none`"))
    }
}

/// A list of calls, such as `SepBIT,CAT(tau=1h)` or `CAT/table-4`, with names that are known but for case
/// and hyphens as they are known: `sep-bit,cat(tau=1h)`.
fn with_known_names(text: &str, known: &[&str]) -> String {
    let items = split_list(text);
    if items.is_empty() {
        return text.to_owned();
    }
    let items: Vec<_> = items.iter().map(|item| with_known_name(item, known)).collect();
    items.join(",")
}

/// A name, and what may follow it in brackets or after a slash.
fn with_known_name(item: &str, known: &[&str]) -> String {
    let letters = |name: &str| {
        let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let (name, rest) = item.split_at(item.find(['(', '/']).unwrap_or(item.len()));
    let is = |other: &&&str| letters(other) == letters(name);
    match known.iter().find(is) {
        Some(alike) if !known.contains(&name) => format!("{alike}{rest}"),
        _ => item.to_owned(),
    }
}

/// Takes any text, writes known names as they are known, and offers them to shells.
#[derive(Clone)]
pub struct Suggest(pub fn() -> Vec<&'static str>);

impl TypedValueParser for Suggest {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        // A file may be called as it likes.
        if Path::new(&text).exists() {
            return Ok(text);
        }
        Ok(with_known_names(&text, &(self.0)()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// Names of presets.
pub fn presets() -> Vec<&'static str> {
    thermocline_policy::preset::PRESETS.iter().map(|p| p.name).collect()
}

/// Names of victim policies.
pub fn victims() -> Vec<&'static str> {
    thermocline_policy::victim::VICTIMS.iter().map(|v| v.info.name).collect()
}

/// Names of placements.
pub fn placements() -> Vec<&'static str> {
    thermocline_policy::placement::PLACEMENTS.iter().map(|p| p.name).collect()
}

/// Names of what can be done between requests.
pub fn idles() -> Vec<&'static str> {
    let names = thermocline_policy::idle::IDLES.iter().map(|i| i.info.name);
    ["none"].into_iter().chain(names).collect()
}

/// Names of those who know what is dead.
pub fn dead_data() -> Vec<&'static str> {
    thermocline_policy::dead::DEAD_DATA.iter().map(|d| d.name).collect()
}

/// Names of everything `policies` lists.
pub fn policies() -> Vec<&'static str> {
    let mut names = presets();
    for name in victims().into_iter().chain(placements()).chain(idles()).chain(dead_data()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Names of built-in devices.
pub fn devices() -> Vec<&'static str> {
    thermocline_flash::BUILT_IN_PROFILES.iter().map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_whatever_their_case_and_hyphens() {
        let known = ["cat", "sep-bit", "greedy"];
        for (text, expected) in [
            ("CAT", "cat"),
            ("SepBIT, Greedy", "sep-bit,greedy"),
            ("CAT(tau=1h, offset=0),Sep_Bit", "cat(tau=1h, offset=0),sep-bit"),
            ("CAT/table-4", "cat/table-4"),
            ("M6,cat,Kat", "M6,cat,Kat"),
            ("", ""),
            (",", ","),
        ] {
            assert_eq!(with_known_names(text, &known), expected);
        }
    }

    #[test]
    fn daily_writes_accept_decimal_and_binary_units() {
        assert_eq!(daily_writes("50GB"), Ok(50_000_000_000));
        assert_eq!(daily_writes("1.5 TB"), Ok(1_500_000_000_000));
        assert_eq!(daily_writes("20GiB"), Ok(20 << 30));
        assert!(daily_writes("fifty").is_err() && daily_writes("0GB").is_err());
    }
}

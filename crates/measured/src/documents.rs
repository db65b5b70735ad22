//! Splits files: each printout of a tool is a document with a place and, if known, a time.
//!
//! The time of a printout is its own (`local_time` of smartctl, a `time` or `seconds` beside it), else that in its
//! file's name (`smart-1700000000.json`, `2026-11-26T14-05-00.json`), else, in a folder of files with one printout
//! each, the file's modification time.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde_json::{Deserializer, Value};

use crate::{MeasuredError, Place};

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
    /// When it was written, in seconds since 1970.
    pub written: Option<f64>,
}

impl Text {
    /// A text with a name, written at no time.
    #[must_use]
    pub fn of(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), text, written: None }
    }
}

/// A printout.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it begins.
    pub place: Place,
    /// When it was printed.
    pub time: Option<f64>,
    /// Its body.
    pub body: Body,
}

/// The form of a printout.
#[derive(Clone, Debug)]
pub enum Body {
    /// An object of JSON.
    Json(Value),
    /// Lines of text.
    Text(String),
    /// A table, its first line the names of the columns.
    Csv(String),
}

/// Reads files; of folders, every file in the order of the names.
///
/// # Errors
/// [`MeasuredError::Io`].
pub fn files<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<Vec<Text>, MeasuredError> {
    let io = |path: &Path, source| MeasuredError::Io { file: path.display().to_string(), source };
    let mut all = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let mut found = vec![path.to_owned()];
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(|e| io(path, e))?;
            let files = entries.map(|entry| entry.map(|entry| entry.path()));
            let files: Result<Vec<PathBuf>, _> = files.collect();
            found = files.map_err(|e| io(path, e))?;
            found.retain(|file| file.is_file());
            found.sort();
        }
        for file in found {
            let bytes = fs::read(&file).map_err(|e| io(&file, e))?;
            let written = fs::metadata(&file).and_then(|data| data.modified()).ok();
            let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            all.push(Text {
                name: file.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                written: written.map(|time| time.as_secs_f64()),
            });
        }
    }
    Ok(all)
}

/// The printouts of files.
///
/// # Errors
/// JSON that ends too early, with its line.
pub fn split(texts: &[Text]) -> Result<Vec<Document>, MeasuredError> {
    let mut all = Vec::new();
    for text in texts {
        let mut found = match text.text.trim_start().chars().next() {
            None => continue,
            Some('{' | '[') => objects(text)?,
            Some(_) if text.text.contains("EXT_CSD") => registers(text),
            Some(_) if is_life_time(&text.text) => {
                vec![document(text, 1, Body::Text(text.text.clone()))]
            }
            Some(_) => vec![document(text, 1, Body::Csv(text.text.clone()))],
        };
        // A file's time is the time of its only printout.
        if let [only] = &mut found[..] {
            let table = matches!(only.body, Body::Csv(_));
            only.time = only.time.or_else(|| if table { None } else { named(&text.name) });
            let written = (texts.len() > 1 && !table).then_some(text.written).flatten();
            only.time = only.time.or(written);
        }
        all.append(&mut found);
    }
    Ok(all)
}

fn document(text: &Text, line: usize, body: Body) -> Document {
    let place = Place { file: text.name.clone(), line };
    let time = match &body {
        Body::Json(value) => told(value),
        Body::Text(_) | Body::Csv(_) => None,
    };
    Document { place, time, body }
}

/// Objects one after another, or in a list.
fn objects(text: &Text) -> Result<Vec<Document>, MeasuredError> {
    let line = |at: usize| 1 + text.text[..at].matches('\n').count();
    let mut stream = Deserializer::from_str(&text.text).into_iter::<Value>();
    let mut found = Vec::new();
    loop {
        let rest = &text.text[stream.byte_offset()..];
        let first = line(stream.byte_offset() + (rest.len() - rest.trim_start().len()));
        match stream.next() {
            None => return Ok(found),
            Some(Ok(Value::Array(values))) => {
                let own = values.into_iter().filter(Value::is_object);
                found.extend(own.map(|value| document(text, first, Body::Json(value))));
            }
            Some(Ok(value)) => found.push(document(text, first, Body::Json(value))),
            Some(Err(error)) => {
                return Err(MeasuredError::input(
                    &Place { file: text.name.clone(), line: error.line().max(1) },
                    format!("this is no JSON: {error}"),
                    "a printout may be cut off; leave it out",
                ));
            }
        }
    }
}

/// Printouts of an eMMC's registers, one after another.
fn registers(text: &Text) -> Vec<Document> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.text.lines().enumerate() {
        let first = line.contains("Extended CSD rev")
            || (line.contains("LIFE_TIME_EST_TYP_A")
                && found.last().is_some_and(|(_, text)| text.contains("LIFE_TIME_EST_TYP_A")));
        if first || found.is_empty() {
            found.push((at + 1, String::new()));
        }
        if let Some((_, text)) = found.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    let is_register = |(_, text): &(usize, String)| text.contains("EXT_CSD");
    let found = found.into_iter().filter(is_register);
    found.map(|(line, body)| document(text, line, Body::Text(body))).collect()
}

/// Whether this is `life_time` of the kernel: `0x01 0x02`.
fn is_life_time(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().collect();
    matches!(&words[..], [a, b] if a.starts_with("0x") && b.starts_with("0x"))
}

/// The time that a printout says.
fn told(value: &Value) -> Option<f64> {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().ok().or_else(|| calendar(text)),
        value => value.as_f64(),
    };
    let own = ["seconds", "time", "timestamp", "time_s"].iter().find_map(|key| value.get(*key));
    let smartctl = value.pointer("/local_time/time_t");
    own.or(smartctl).and_then(number)
}

/// The time that a file's name says.
fn named(name: &str) -> Option<f64> {
    let name = Path::new(name).file_name()?.to_string_lossy().into_owned();
    let numbers = name.split(|c: char| !c.is_ascii_digit());
    let since = |digits: &str| match digits.len() {
        10 => digits.parse::<f64>().ok(),
        13 => digits.parse::<f64>().ok().map(|ms| ms / 1000.0),
        _ => None,
    };
    numbers.into_iter().find_map(since).or_else(|| calendar(&name))
}

/// `2026-11-26T14:05:00`, with any or no marks between the numbers.
fn calendar(text: &str) -> Option<f64> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|c| c - b'0').collect();
    // Other numbers, such as a device's, may precede it.
    digits.windows(14).find_map(second_of)
}

/// Seconds since 1970 of a date and a time, as fourteen digits.
fn second_of(digits: &[u8]) -> Option<f64> {
    let number = |at: usize, many: usize| {
        digits[at..at + many].iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(*digit))
    };
    let (year, month, day) = (number(0, 4), number(4, 2), number(6, 2));
    let (hour, minute, second) = (number(8, 2), number(10, 2), number(12, 2));
    let fits = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !fits || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 1970 in the Gregorian calendar, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_printout_is_found_in_its_name() {
        assert_eq!(named("/a/smart-1700000000.json"), Some(1_700_000_000.0));
        assert_eq!(named("1700000000500.json"), Some(1_700_000_000.5));
        for name in ["2023-11-14T22-13-20.json", "nvme0_20231114_221320.json"] {
            assert_eq!(named(name), Some(1_700_000_000.0), "{name}");
        }
        assert_eq!((named("nvme0n1.json"), named("2023-13-14T22-13-20")), (None, None));
        assert_eq!(calendar("1970-01-01 00:00:00"), Some(0.0));
        assert_eq!(calendar("2024-02-29 12:00:00"), Some(1_709_208_000.0));
    }

    #[test]
    fn printouts_one_after_another_have_their_lines() {
        let text = "{\"seconds\": 1}\n{\n \"seconds\": 2}\n\n[{\"time\": 3}, {\"time\": \"4\"}]";
        let found = split(&[Text::of("a.json", text.into())]).expect("JSON");
        let places: Vec<_> = found.iter().map(|one| (one.place.line, one.time)).collect();
        assert_eq!(places, [(1, Some(1.0)), (2, Some(2.0)), (5, Some(3.0)), (5, Some(4.0))]);
        let error = split(&[Text::of("a.json", "{\"x\": 1}\n{\"x\"".into())]).expect_err("cut off");
        assert!(error.to_string().starts_with("a.json:2: "), "{error}");
    }
}

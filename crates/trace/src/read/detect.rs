//! Tells a trace's format from how it begins.

use std::{io::Cursor, path::Path};

use super::{
    context::Context,
    entry::{Entry, Setup},
    fault::shown,
    format::Format,
    formats::{REFUSED, REGISTRY},
    input::Input,
    reader::Guess,
    sample::{Hit, Sample},
    sniff,
    units::TimeUnit,
};
use crate::{Request, TraceError};

/// A score at which a format is believed more than a header line that names its columns.
const SURE: u8 = 90;

/// The score of a magic number, or of a header line that only one format has.
const CERTAIN: u8 = 100;

/// Requests that two readings of a sample are compared by.
const COMPARED: usize = 500;

/// The format that fits best, or why there is none; `time_unit` is what the user says of times.
pub(crate) fn detect(
    sample: &Sample<'_>,
    path: &Path,
    time_unit: Option<TimeUnit>,
) -> Result<Guess, TraceError> {
    if sample.bytes.is_empty() {
        return Err(TraceError::Format {
            path: path.to_owned(),
            what: "the trace is empty".into(),
            remedy: "check where it came from".into(),
        });
    }
    let mut best: Option<(&'static Entry, Hit)> = None;
    for entry in REGISTRY {
        if let Some(hit) = (entry.detect)(sample)
            && best.as_ref().is_none_or(|(_, other)| hit.score > other.score)
        {
            best = Some((entry, hit));
        }
    }
    let known = best.map(|(entry, hit)| (Format::of(entry), hit));
    match (known, sniff::text(sample, time_unit)) {
        (Some((format, hit)), _) if hit.score == CERTAIN => {
            Ok(Guess { format, from: Some(hit.from) })
        }
        (known, Ok(Some(described))) => {
            let format = format!("columns:{}", described.text).parse()?;
            match known {
                Some((known, hit))
                    if hit.score >= SURE && !denies(sample, &known, &format, &described) =>
                {
                    Ok(Guess { format: known, from: Some(hit.from) })
                }
                _ => Ok(Guess { format, from: Some("its header line") }),
            }
        }
        (known, Err(unclear)) if known.as_ref().is_none_or(|(_, hit)| hit.score < SURE) => {
            let named = known.map(|(format, _)| format!(", or ‹trace-format {format}›"));
            Err(TraceError::Format {
                path: path.to_owned(),
                what: unclear.what,
                remedy: format!(
                    "say which by ‹columns '{}'›, with {}{}",
                    unclear.example,
                    unclear.others,
                    named.unwrap_or_default()
                ),
            })
        }
        (Some((format, hit)), _) => Ok(Guess { format, from: Some(hit.from) }),
        (None, _) => Err(refusal(sample, path)),
    }
}

/// Whether the header line says explicitly that `known`, which the rows look like, reads them wrongly.
fn denies(
    sample: &Sample<'_>,
    known: &Format,
    described: &Format,
    told: &sniff::Description,
) -> bool {
    let (Ok(known), Ok(described)) =
        (first_requests(sample, known), first_requests(sample, described))
    else {
        return false;
    };
    let differs = |one: &Request, other: &Request| {
        told.tells_time && one.time_ns != other.time_ns
            || told.tells_places && (one.offset, one.len) != (other.offset, other.len)
    };
    known.len() == described.len()
        && known.iter().zip(&described).any(|(one, other)| differs(one, other))
}

/// What a format makes of the sample, as far as it can read it.
fn first_requests(sample: &Sample<'_>, format: &Format) -> Result<Vec<Request>, TraceError> {
    let mut text = sample.lines.join(&b'\n');
    text.push(b'\n');
    let inputs = vec![Input::new(Path::new("sample"), Cursor::new(text))?];
    let setup = Setup { inputs, argument: None, action: None, time_unit: None, contents: false };
    let (mut cx, mut requests) = (Context::new(None, None, true), Vec::new());
    for mut reader in format.open(setup)? {
        reader.decode(&mut cx, &mut requests, COMPARED)?;
    }
    Ok(requests)
}

/// Why no format fits.
fn refusal(sample: &Sample<'_>, path: &Path) -> TraceError {
    let path = path.to_owned();
    if let Some(refused) = REFUSED.iter().find(|refused| (refused.detect)(sample)) {
        let (what, remedy) = (refused.what.to_owned(), refused.remedy.to_owned());
        return TraceError::Format { path, what, remedy };
    }
    let start = &sample.bytes[..sample.bytes.len().min(64)];
    let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
    if let Some(names) = sniff::names(sample) {
        return TraceError::Format {
            path,
            what: format!("no known trace format has the columns {}", names.join(", ")),
            remedy: "say by ‹columns› which is what, by name or number, such as \
                     'time=timestamp:us,op=type:W/R,offset=lba:sectors,size=bytes', or name the format \
                     with ‹trace-format›"
                .into(),
        };
    }
    TraceError::Format {
        path,
        what: format!("no known trace format begins with {}", shown(line)),
        remedy: "name the format with ‹trace-format›, or describe its columns with ‹trace-format columns:…›"
            .into(),
    }
}

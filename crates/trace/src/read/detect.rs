//! Tells a trace's format from how it begins.

use std::path::Path;

use super::{
    entry::Entry,
    fault::shown,
    format::Format,
    formats::{REFUSED, REGISTRY},
    reader::Guess,
    sample::{Hit, Sample},
    sniff,
};
use crate::TraceError;

/// A score at which a format is believed more than a header line that tells what its columns are.
const SURE: u8 = 90;

/// The format that fits best, or why there is none.
pub(crate) fn detect(sample: &Sample<'_>, path: &Path) -> Result<Guess, TraceError> {
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
    if best.as_ref().is_none_or(|(_, hit)| hit.score < SURE)
        && let Some(columns) = sniff::text(sample)
    {
        let format = format!("columns:{columns}").parse()?;
        return Ok(Guess { format, from: Some("its header line") });
    }
    let (entry, hit) = best.ok_or_else(|| refusal(sample, path))?;
    Ok(Guess { format: Format::of(entry), from: Some(hit.from) })
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
            remedy: "say by --columns which is what, by name or number, such as \
                     'time=timestamp:us,op=type:W/R,offset=lba:sectors,size=bytes', or name the format \
                     with --format"
                .into(),
        };
    }
    TraceError::Format {
        path,
        what: format!("no known trace format begins with {}", shown(line)),
        remedy: "name the format with --format, or describe its columns with --format columns:…"
            .into(),
    }
}

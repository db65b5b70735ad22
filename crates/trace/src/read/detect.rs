//! Tells a trace's format from how it begins.

use std::path::Path;

use super::{
    entry::Entry,
    fault::shown,
    formats::{REFUSED, REGISTRY},
    sample::{Hit, Sample},
};
use crate::TraceError;

/// The format that fits best, or why there is none.
pub(crate) fn detect(
    sample: &Sample<'_>,
    path: &Path,
) -> Result<(&'static Entry, Hit), TraceError> {
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
    best.ok_or_else(|| refusal(sample, path))
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
    TraceError::Format {
        path,
        what: format!("no known trace format begins with {}", shown(line)),
        remedy: "name the format with --format, or describe its columns with --format columns:…"
            .into(),
    }
}

//! The beginning of a trace, and how well a format fits it.

use super::{
    context::Context,
    layout::{Columns, Layout, columns},
    lines::{Header, LineFormat, read_line},
    rwbs,
};
use crate::Request;

/// Number of decompressed bytes examined.
pub(crate) const LOOKED_AT: usize = 64 << 10;

/// Maximum number of rows examined.
const ROWS: usize = 2_500;

/// The beginning of a trace.
pub(crate) struct Sample<'a> {
    /// The first [`LOOKED_AT`] bytes, or the whole trace.
    pub(crate) bytes: &'a [u8],
    /// Its lines, without an incomplete last one; empty for binary traces.
    pub(crate) lines: Vec<&'a [u8]>,
}

/// A matching format.
pub(crate) struct Hit {
    /// Confidence: 100 for a magic number, 50 for "it may be".
    pub(crate) score: u8,
    /// The evidence; completes "guessed from …".
    pub(crate) from: &'static str,
}

/// The rows of a sample, parsed in some format.
pub(crate) struct Rows {
    /// The requests read.
    pub(crate) requests: Vec<Request>,
    /// Number of refused lines.
    bad: usize,
    /// The names of the volumes.
    volumes: Vec<String>,
}

impl Rows {
    /// True if the format reads nearly all of the sample. A few invalid lines must not prevent
    /// detection.
    pub(crate) fn fit(&self) -> bool {
        !self.requests.is_empty() && self.bad * 10 <= self.requests.len() && !self.misnamed()
    }

    /// True if the names of the volumes are times or operations, so that the columns must have
    /// other roles.
    fn misnamed(&self) -> bool {
        let is_time = |name: &str| name.contains('.') && name.parse::<f64>().is_ok();
        let is_op = |name: &str| name.starts_with(['R', 'W']) && rwbs::is_word(name.as_bytes());
        let all = |is: &dyn Fn(&str) -> bool| self.volumes.iter().all(|name| is(name));
        !self.volumes.is_empty() && (all(&is_time) || all(&is_op))
    }
}

impl<'a> Sample<'a> {
    /// Examines the beginning of a trace.
    pub(crate) fn new(bytes: &'a [u8]) -> Sample<'a> {
        let cut = bytes.len() > LOOKED_AT;
        let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
        let mut lines: Vec<&[u8]> = Vec::new();
        if is_text(bytes) {
            lines = bytes.split(|&b| b == b'\n').take(ROWS).collect();
            if (cut && lines.len() > 1 && lines.len() < ROWS)
                || lines.last().is_some_and(|line| line.is_empty())
            {
                lines.pop();
            }
            for line in &mut lines {
                *line = line.strip_suffix(b"\r").unwrap_or(line);
            }
        }
        Sample { bytes, lines }
    }

    /// Parses the sample as `format`.
    pub(crate) fn rows<F: LineFormat>(&self, mut format: F) -> Rows {
        let mut cx = Context::default();
        let mut header = Header::default();
        let mut rows = Rows { requests: Vec::new(), bad: 0, volumes: Vec::new() };
        for line in &self.lines {
            match read_line(&mut format, &mut header, line, &mut cx) {
                Ok(request) => rows.requests.extend(request),
                Err(_) => rows.bad += 1,
            }
        }
        rows.volumes = cx.volumes.names().to_vec();
        rows
    }

    /// A hit if the sample's rows fit `layout` and have `width` columns.
    pub(crate) fn columns(
        &self,
        layout: &Layout,
        width: std::ops::RangeInclusive<usize>,
        score: u8,
        from: &'static str,
    ) -> Option<Hit> {
        // The last lines are rows even after a long preamble. The very last one may be incomplete
        // in a truncated trace.
        let mut rows = self.lines.iter().rev().filter(|line| !line.is_empty()).take(2);
        let fits = rows.any(|row| width.contains(&columns(row, layout.separator).count()))
            && self.rows(Columns::new(layout.clone())).fit();
        fits.then_some(Hit { score, from })
    }

    /// The first line that is neither blank nor a comment.
    pub(crate) fn first_line(&self) -> &'a [u8] {
        let line = self
            .lines
            .iter()
            .find(|line| !matches!(line.trim_ascii().first(), None | Some(b'#')))
            .copied()
            .unwrap_or_default();
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
    }
}

/// True if bytes may be text: no control bytes except those for lines and columns.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r' | 0x1b))
}

//! Drives a reader of lines: splits lines, counts them, and adds positions to errors.

use memchr::{memchr, memrchr};

use super::{
    context::Context,
    decode::Decode,
    fault::{Fault, Parsed, shown},
    input::Input,
    row::{Quick, Row},
};
use crate::{Place, Request, TraceError};

/// Maximum length of a line.
pub(crate) const LONGEST: usize = 1 << 20;

/// A text format: the meaning of one line.
pub(crate) trait LineFormat: Send {
    /// Whether a first line without any number is a header to skip.
    const SKIPS_HEADER: bool = true;

    /// The request of one line, without its line end; `None` if it has none.
    fn line(&mut self, line: &[u8], cx: &mut Context) -> Parsed<Option<Request>>;

    /// Reads the first of several whole lines after skipping leading blanks, and adds its request,
    /// if any, to `out`. Handles typical rows. Leaves all others to [`LineFormat::line`], without
    /// any change of state.
    #[inline]
    fn quick(&mut self, _row: &mut Row<'_>, _cx: &mut Context, _out: &mut Vec<Request>) -> Quick {
        None
    }

    /// A request held back from an earlier line, for formats whose lines do not each yield one
    /// request. Called until there is none.
    #[inline]
    fn held(&mut self) -> Option<Request> {
        None
    }

    /// The trace has ended, so nothing will complete what is held back.
    fn end(&mut self, _cx: &mut Context) {}
}

/// Reads a text trace line by line.
pub(crate) struct Lines<F> {
    input: Input,
    format: F,
    /// Number of lines so far, which is the number of the current one, counted from 1.
    number: u64,
    /// The first line, if it is a header.
    header: Header,
    /// Whether the lines have ended, and with which error. The error is returned after what is held
    /// back.
    ended: Option<Result<(), TraceError>>,
}

impl<F: LineFormat> Lines<F> {
    /// Reads `input` as `format`.
    pub(crate) fn new(input: Input, format: F) -> Lines<F> {
        Lines { input, format, number: 0, header: Header::default(), ended: None }
    }
}

impl<F: LineFormat> Decode for Lines<F> {
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        deliver(&mut self.format, out, limit);
        if self.ended.is_none() && out.len() < limit {
            match self.lines(cx, out, limit) {
                Ok(()) if out.len() >= limit => return Ok(()),
                ended => self.ended = Some(ended),
            }
            self.format.end(cx);
            deliver(&mut self.format, out, limit);
        }
        if out.len() >= limit {
            return Ok(());
        }
        // Everything held back has been delivered, so the error may follow.
        match &mut self.ended {
            Some(ended) => std::mem::replace(ended, Ok(())),
            None => Ok(()),
        }
    }
}

impl<F: LineFormat> Lines<F> {
    /// Reads lines until `out` holds `limit` requests or the trace ends.
    fn lines(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError> {
        loop {
            let used = self.whole_lines(cx, out, limit)?;
            self.input.consume(used);
            if out.len() >= limit {
                return Ok(());
            }
            if self.input.window().len() > LONGEST {
                return Err(self.too_long(self.number + 1, self.input.window()));
            }
            if !self.input.fill()? {
                return self.last_line(cx, out);
            }
        }
    }

    /// Reads lines that are completely in the buffer. Returns the number of bytes consumed.
    fn whole_lines(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<usize, TraceError> {
        let bytes = self.input.window();
        let whole = memrchr(b'\n', bytes).map_or(0, |last| last + 1);
        // The fast parser does not check the length of a line.
        let quickly = bytes.len() <= LONGEST && !is_slow();
        let mut used = 0;
        while out.len() < limit && used < whole {
            let lines = &bytes[used..whole];
            self.number += 1;
            if quickly && self.header.is_past() {
                let before = out.len();
                if let Some(length) = quick_row(&mut self.format, lines, cx, out) {
                    used += length;
                    if out.len() == before {
                        deliver(&mut self.format, out, limit);
                    }
                    continue;
                }
            }
            let length = memchr(b'\n', lines).unwrap_or_default();
            if length > LONGEST {
                return Err(self.too_long(self.number, lines));
            }
            used += length + 1;
            match read_line(&mut self.format, &mut self.header, &lines[..length], cx) {
                Ok(Some(request)) => out.push(request),
                // Requests released by a line precede those of the next.
                Ok(None) => deliver(&mut self.format, out, limit),
                Err(fault) if cx.tolerate(self.number, &fault) => {}
                Err(fault) => return Err(fault.at(self.input.path(), Place::Line(self.number))),
            }
        }
        Ok(used)
    }

    /// Reads the part after the last line end.
    fn last_line(&mut self, cx: &mut Context, out: &mut Vec<Request>) -> Result<(), TraceError> {
        let line = self.input.window();
        if line.is_empty() {
            return Ok(());
        }
        self.number += 1;
        let result = read_line(&mut self.format, &mut self.header, line, cx);
        let length = line.len();
        match result {
            Ok(request) => out.extend(request),
            Err(fault) if cx.tolerate(self.number, &fault) => {}
            Err(fault) => return Err(fault.at(self.input.path(), Place::Line(self.number))),
        }
        self.input.consume(length);
        Ok(())
    }

    #[cold]
    fn too_long(&self, number: u64, line: &[u8]) -> TraceError {
        Fault::with_remedy(
            format!("the line beginning {} is longer than 1 MiB", shown(line)),
            "this is no text trace of this format; name the right one with ‹trace-format›",
        )
        .at(self.input.path(), Place::Line(number))
    }
}

/// Adds the requests that the format held back.
#[inline]
fn deliver<F: LineFormat>(format: &mut F, out: &mut Vec<Request>, limit: usize) {
    while out.len() < limit
        && let Some(request) = format.held()
    {
        out.push(request);
    }
}

/// Reads the first of several whole lines in the fast parser, if it is not a comment. Returns its
/// length.
#[inline]
fn quick_row<F: LineFormat>(
    format: &mut F,
    lines: &[u8],
    cx: &mut Context,
    out: &mut Vec<Request>,
) -> Option<usize> {
    let mut row = Row::new(lines);
    row.blanks();
    // Rows begin with digits and letters, which are all above '#'.
    if *row.rest().first()? <= b'#' {
        return None;
    }
    format.quick(&mut row, cx, out)?;
    #[cfg(test)]
    QUICK_ROWS.set(QUICK_ROWS.get() + 1);
    Some(lines.len() - row.after_line().len())
}

#[cfg(test)]
thread_local! {
    /// Makes tests read every row in the slow parser, to compare the two.
    pub(crate) static SLOWLY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };

    /// Number of rows read in the fast parser.
    pub(crate) static QUICK_ROWS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Whether the fast parser is disabled, which happens only in tests.
pub(crate) fn is_slow() -> bool {
    #[cfg(test)]
    return SLOWLY.get();
    #[cfg(not(test))]
    false
}

/// The first line that is neither blank nor a comment, if it is a header.
#[derive(Default)]
pub(crate) struct Header(Option<Box<[u8]>>);

impl Header {
    /// Whether the first line has been read.
    #[inline]
    fn is_past(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a line repeats the header, as in concatenated files.
    #[inline]
    fn is_repeated_by(&self, line: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|header| !header.is_empty() && **header == *line.trim_ascii())
    }
}

/// Reads one line, unless it is blank, a comment or a header.
#[inline]
pub(crate) fn read_line<F: LineFormat>(
    format: &mut F,
    header: &mut Header,
    line: &[u8],
    cx: &mut Context,
) -> Parsed<Option<Request>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Rows begin with digits and letters, which are all above '#'.
    if line.first().is_none_or(|&first| first <= b'#') && nothing_to_read(line) {
        return Ok(None);
    }
    // Each of several concatenated files may have a byte order mark.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if header.is_repeated_by(line) {
        return Ok(None);
    }
    if !header.is_past() {
        let found = F::SKIPS_HEADER && is_header(line);
        header.0 = Some(if found { line.trim_ascii().into() } else { Box::default() });
        if found {
            return Ok(None);
        }
    }
    format.line(line, cx)
}

/// Whether a line is blank or a comment.
fn nothing_to_read(line: &[u8]) -> bool {
    matches!(line.trim_ascii().first(), None | Some(b'#'))
}

/// True if no word of the line is, or begins like, a number.
pub(crate) fn is_header(line: &[u8]) -> bool {
    line.split(|b| matches!(b, b',' | b';' | b'\t' | b' '))
        .all(|word| !matches!(word.first(), Some(b'0'..=b'9' | b'-' | b'+' | b'.')))
}

//! Comma-separated values, for spreadsheets and scripts.

use super::{text::Text, writer::TraceWriter};
use crate::{Op, Request, TraceError};
use std::{io::Write, path::Path};

/// Characters that would end a field, a row or a quotation.
const UNFIT: [char; 4] = [',', '"', '\n', '\r'];

/// Writes rows under the header `time_ns,op,volume,offset,len`, and `,hint` where there are any.
///
/// Times are in nanoseconds since the trace's origin, offset and length in bytes, operations
/// `read`, `write`, `trim` and `flush`, volumes their names or numbers. A comma in a name becomes a
/// colon (`8,16` is `8:16`), so that no field needs quotes. The first batch decides whether there is
/// a column of hints.
pub struct CsvWriter<W> {
    text: Text<W>,
    /// Whether rows have hints; unknown before the first batch.
    hints: Option<bool>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the columns that every trace has; `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn new(writer: W, path: &Path) -> Result<Self, TraceError> {
        let mut text = Text::new(writer, path);
        text.push("time_ns,op,volume,offset,len");
        text.write()?;
        Ok(CsvWriter { text, hints: None })
    }

    /// Ends the header, unless it has ended. Returns whether rows have hints.
    fn header(&mut self, batch: &[Request]) -> bool {
        *self.hints.get_or_insert_with(|| {
            let hints = batch.iter().any(|request| request.hint != 0);
            self.text.push(if hints { ",hint\n" } else { "\n" });
            hints
        })
    }

    #[cold]
    fn late_hint(&self) -> TraceError {
        TraceError::Format {
            path: self.text.path.clone(),
            what: "the first requests have no hints, so there is no column for those of later ones"
                .into(),
            remedy: "write the native format, which keeps hints wherever they begin".into(),
        }
    }
}

impl<W: Write> TraceWriter for CsvWriter<W> {
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError> {
        if batch.is_empty() {
            return Ok(());
        }
        let hints = self.header(batch);
        if !hints && batch.iter().any(|request| request.hint != 0) {
            return Err(self.late_hint());
        }
        let text = &mut self.text;
        for request in batch {
            text.number(request.time_ns);
            text.push(match request.op {
                Op::Read => ",read,",
                Op::Write => ",write,",
                Op::Trim => ",trim,",
                Op::Flush => ",flush,",
            });
            match volumes.get(request.volume as usize) {
                None => text.number(request.volume.into()),
                Some(name) if name.contains(UNFIT) => text.push(&name.replace(UNFIT, ":")),
                Some(name) => text.push(name),
            }
            text.push(",");
            text.number(request.offset);
            text.push(",");
            text.number(request.len);
            if hints {
                text.push(",");
                text.number(request.hint.into());
            }
            text.push("\n");
        }
        text.write()
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        self.header(&[]);
        self.text.finish()
    }
}

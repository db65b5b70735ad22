//! Comma-separated values, for spreadsheets and scripts.

use super::{text::Text, writer::TraceWriter};
use crate::{Op, Request, TraceError};
use std::{io::Write, path::Path};

/// Characters that would end a field, a row or a quotation.
const UNFIT: [char; 4] = [',', '"', '\n', '\r'];

/// Writes rows under the header `time_ns,op,volume,offset,len`.
///
/// Times are in nanoseconds since the trace's origin, offset and length in bytes, operations
/// `read`, `write`, `trim` and `flush`, volumes their names or numbers. A comma in a name becomes a
/// colon (`8,16` is `8:16`), so that no field needs quotes.
pub struct CsvWriter<W> {
    text: Text<W>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header; `path` is for messages.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    pub fn new(writer: W, path: &Path) -> Result<Self, TraceError> {
        let mut text = Text::new(writer, path);
        text.push("time_ns,op,volume,offset,len\n");
        text.write()?;
        Ok(CsvWriter { text })
    }
}

impl<W: Write> TraceWriter for CsvWriter<W> {
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError> {
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
            text.push("\n");
        }
        text.write()
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        self.text.finish()
    }
}

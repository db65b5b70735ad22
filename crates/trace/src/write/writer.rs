//! What all writers of traces do.

use crate::{Request, Source, TraceError};

/// Takes the requests of a [`Source`], batch by batch, and ends the file properly.
pub trait TraceWriter {
    /// Writes requests; `volumes` are the names so far, as [`Source::volumes`] gives them.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError>;

    /// Writes what is still pending and whatever the format ends with. Nothing may follow.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    fn finish(&mut self) -> Result<(), TraceError>;
}

/// Writes everything `source` delivers and finishes; returns the number of requests.
///
/// # Errors
/// Those of the source and of the writer.
pub fn copy(
    source: &mut impl Source,
    writer: &mut (impl TraceWriter + ?Sized),
) -> Result<u64, TraceError> {
    let (mut batch, mut requests) = (Vec::new(), 0);
    loop {
        source.next_batch(&mut batch, 4096)?;
        if batch.is_empty() {
            writer.finish()?;
            return Ok(requests);
        }
        requests += batch.len() as u64;
        writer.write_batch(&batch, source.volumes())?;
    }
}

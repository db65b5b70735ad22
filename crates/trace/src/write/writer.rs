//! The common interface of trace writers.

use crate::{Request, Source, TraceError};

/// Takes the requests of a [`Source`], batch by batch, and completes the file.
pub trait TraceWriter {
    /// Writes requests. `volumes` are the names so far, from [`Source::volumes`].
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    fn write_batch(&mut self, batch: &[Request], volumes: &[String]) -> Result<(), TraceError>;

    /// Writes everything pending and the end of the file. Nothing may follow.
    ///
    /// # Errors
    /// [`TraceError::Io`] if writing fails.
    fn finish(&mut self) -> Result<(), TraceError>;
}

/// Writes a whole source and finishes the file. Returns the number of requests.
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

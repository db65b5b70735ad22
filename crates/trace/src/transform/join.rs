//! Places several volumes one after another on a single one.

use crate::{Contents, Op, Request, Source, TraceError};

/// Joins all volumes into one, each beginning at the end of the one before it.
///
/// Sizes must be known in advance, for example from
/// [`VolumeStats::end_bytes`](crate::stats::VolumeStats::end_bytes). Mapping a footprint densely
/// does not need this, because [`Footprint`](super::Footprint) keeps volumes apart by itself.
pub struct JoinVolumes<S> {
    source: S,
    /// First byte of each volume, then the end of the last.
    starts: Vec<u64>,
    name: [String; 1],
}

impl<S: Source> JoinVolumes<S> {
    /// Joins the volumes of `source`, whose sizes in bytes are given by index.
    ///
    /// # Errors
    /// [`TraceError::Usage`] if they exceed 2^64 bytes.
    pub fn new(source: S, sizes: &[u64]) -> Result<Self, TraceError> {
        let mut starts = vec![0u64];
        for &size in sizes {
            let end = starts[starts.len() - 1].checked_add(size).ok_or_else(|| {
                TraceError::usage(
                    "the volumes together exceed 2^64 bytes",
                    "select fewer volumes, or check the unit of the offsets",
                )
            })?;
            starts.push(end);
        }
        Ok(JoinVolumes { source, starts, name: ["joined".into()] })
    }

    /// Bytes of all volumes.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }
}

impl<S: Source> Source for JoinVolumes<S> {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        self.source.next_batch(batch, limit)?;
        for request in batch {
            let volume = request.volume as usize;
            request.volume = 0;
            if request.op == Op::Flush {
                continue;
            }
            let range = self.starts.get(volume).zip(self.starts.get(volume + 1));
            let placed = range.and_then(|(start, end)| {
                let first = start.checked_add(request.offset)?;
                (first.checked_add(request.len)? <= *end).then_some(first)
            });
            request.offset = placed.ok_or_else(|| {
                TraceError::usage(
                    format!(
                        "a request of {} bytes at byte {} lies outside volume {volume}",
                        request.len, request.offset
                    ),
                    "give the sizes of all volumes, as found by a pass over the same trace",
                )
            })?;
        }
        Ok(())
    }

    fn volumes(&self) -> &[String] {
        &self.name
    }

    fn contents(&self) -> &Contents {
        self.source.contents()
    }
}

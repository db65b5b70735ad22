//! Block traces: readers, writers, generators and transformations.

use std::ops::DerefMut;

mod contents;
mod error;
pub mod generate;
pub mod lives;
pub mod native;
pub mod read;
mod request;
pub mod stats;
pub mod transform;
pub mod write;
mod zstd;

pub use contents::Contents;
pub use error::{Place, TraceError};
pub use request::{Op, Request};

/// Requests in batches: the common interface of readers, generators and transformations.
///
/// Implementations clear `batch` and fill it with at most `limit` requests. An empty batch means
/// the end.
pub trait Source {
    /// Replaces the contents of `batch` by the next requests, at most `limit`; empty at the end.
    ///
    /// # Errors
    /// [`TraceError`], naming file and place; nothing follows an error.
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError>;

    /// Names of the volumes so far. [`Request::volume`] is an index into them.
    ///
    /// The list only grows, and it covers every request already delivered. Sources without names
    /// (generators) leave it empty.
    fn volumes(&self) -> &[String] {
        &[]
    }

    /// The data of the last batch's requests, where known. Sources that wrap a source pass it on if
    /// they pass on requests one by one, even at other addresses.
    fn contents(&self) -> &Contents {
        Contents::NONE
    }

    /// Number of requests at the start that only prepare the device (create a file system and fill
    /// it), so that statistics begin after them. Known at the end of the source.
    fn prelude(&self) -> u64 {
        0
    }

    /// Size of a volume's device in bytes, used or not, if the trace contains it. Known once a
    /// request of the volume was delivered.
    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        let _ = volume;
        None
    }
}

/// Forwards to the source behind a box or a reference.
impl<P: DerefMut<Target: Source>> Source for P {
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError> {
        (**self).next_batch(batch, limit)
    }

    fn volumes(&self) -> &[String] {
        (**self).volumes()
    }

    fn contents(&self) -> &Contents {
        (**self).contents()
    }

    fn prelude(&self) -> u64 {
        (**self).prelude()
    }

    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        (**self).volume_bytes(volume)
    }
}

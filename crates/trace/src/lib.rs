//! Block traces: readers, writers, generators and transformations.

use std::ops::DerefMut;

mod contents;
mod error;
pub mod generate;
pub mod native;
pub mod read;
mod request;
pub mod stats;
pub mod transform;
pub mod write;

pub use contents::Contents;
pub use error::{Place, TraceError};
pub use request::{Op, Request};

/// Requests in batches: what readers, generators and transformations have in common.
///
/// Implementations clear `batch` and fill it with up to its caller's chosen number of requests;
/// an empty batch means the end.
pub trait Source {
    /// Replaces the contents of `batch` by the next requests, at most `limit`; empty at the end.
    ///
    /// # Errors
    /// [`TraceError`], naming file and place; nothing follows an error.
    fn next_batch(&mut self, batch: &mut Vec<Request>, limit: usize) -> Result<(), TraceError>;

    /// Names of the volumes met so far; [`Request::volume`] is an index into them.
    ///
    /// The list only grows, and it covers every request already delivered. Sources without names
    /// (generators) leave it empty.
    fn volumes(&self) -> &[String] {
        &[]
    }

    /// What the requests of the last batch wrote or read, where that is known. Sources around a
    /// source pass it on if they pass on requests one by one, wherever they move them.
    fn contents(&self) -> &Contents {
        Contents::NONE
    }

    /// Requests from the start on that only prepare the device (make a file system and fill it), so
    /// that statistics begin after them. Known at the end of the source.
    fn prelude(&self) -> u64 {
        0
    }

    /// Bytes of the device that a volume is, used or not, where the trace says so. Known once a
    /// request of the volume was delivered.
    fn volume_bytes(&self, volume: u32) -> Option<u64> {
        let _ = volume;
        None
    }
}

/// What a box or a reference leads to.
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

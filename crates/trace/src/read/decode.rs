//! The common interface of format readers.

use super::context::Context;
use crate::{Contents, Request, TraceError};

/// A format's reader with its input.
pub(crate) trait Decode: Send {
    /// Adds requests to `out` until it holds `limit`. Adds fewer only at the end of the trace, and
    /// if [`Decode::is_full`] is true. `out` is empty before.
    ///
    /// Requests added before an error are valid.
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError>;

    /// The data of the last batch's requests, if wanted and known.
    fn contents(&self) -> &Contents {
        Contents::NONE
    }

    /// True if the last batch is short because its data are large, and more will follow.
    fn is_full(&self) -> bool {
        false
    }
}

/// Bytes of data at which a batch ends.
pub(crate) const FULL: usize = 8 << 20;

//! What all readers of formats have in common.

use super::context::Context;
use crate::{Contents, Request, TraceError};

/// A format's reader, over an input of its own.
pub(crate) trait Decode: Send {
    /// Adds requests to `out` until it holds `limit`; fewer only at the end of the trace, and
    /// where [`Decode::is_full`] says so. `out` is empty before.
    ///
    /// Requests added before an error are good.
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError>;

    /// What the requests of the last batch wrote or read, where that is wanted and known.
    fn contents(&self) -> &Contents {
        Contents::NONE
    }

    /// True if the last batch is short because its contents are large, and more will follow.
    fn is_full(&self) -> bool {
        false
    }
}

/// Bytes of contents at which a batch ends.
pub(crate) const FULL: usize = 8 << 20;

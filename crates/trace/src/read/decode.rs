//! What all readers of formats have in common.

use super::context::Context;
use crate::{Request, TraceError};

/// A format's reader, over an input of its own.
pub(crate) trait Decode: Send {
    /// Adds requests to `out` until it holds `limit`; fewer only at the end of the trace.
    ///
    /// Requests added before an error are good.
    fn decode(
        &mut self,
        cx: &mut Context,
        out: &mut Vec<Request>,
        limit: usize,
    ) -> Result<(), TraceError>;
}

//! What every operation works on.

use super::{cleaner::Cleaner, pacing::Worst, parts::Parts};

/// A page-mapped translation layer.
pub struct PageMapped<C, P> {
    pub(super) parts: Parts<C, P>,
    pub(super) cleaner: Cleaner,
    /// Whether something is to be done after a page write.
    pub(super) follows_up: bool,
    /// Whether victims are cleaned in steps.
    pub(super) is_paced: bool,
    pub(super) worst: Worst,
}

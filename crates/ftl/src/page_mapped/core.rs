//! The receiver of every operation.

use super::{cleaner::Cleaner, pacing::Worst, parts::Parts};

/// A page-mapped translation layer.
pub struct PageMapped<C, P> {
    pub(super) parts: Parts<C, P>,
    pub(super) cleaner: Cleaner,
    /// Whether a page write has work after it.
    pub(super) follows_up: bool,
    /// Whether victims are cleaned in steps.
    pub(super) is_paced: bool,
    pub(super) worst: Worst,
}

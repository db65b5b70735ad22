//! The stream byte of a page's out-of-band area: the block's role and the origin of the page. A
//! mount reads it (see [`generations`](super::generations)).

/// The block is a primary: pages at their own offsets.
pub(super) const PRIMARY: u8 = 0;
/// The block is a replacement: pages in the order of writing.
pub(super) const REPLACEMENT: u8 = 1;
/// The page was put there by a fold.
pub(super) const FOLDED: u8 = 2;
/// The page was put there by wear levelling.
pub(super) const MOVED: u8 = 4;
/// The page is the last one of its fold or move: the block is complete.
pub(super) const LAST: u8 = 8;
/// All bits: no greater value is ever written.
pub(super) const ALL: u8 = REPLACEMENT | FOLDED | MOVED | LAST;

//! Reads the out-of-band area of a page.

use thermocline_flash::{Flash, FlashError, Oob, Ppn};

/// A page as it is found.
pub(super) enum Page {
    Blank,
    Torn,
    Holds(Oob),
}

/// Reads the area beside a page.
#[inline]
pub(super) fn look<C: Flash>(chip: &mut C, at: Ppn) -> Result<Page, FlashError> {
    match chip.read_oob(at) {
        Ok(None) => Ok(Page::Blank),
        Ok(Some(oob)) => Ok(Page::Holds(oob)),
        Err(FlashError::Unreadable(_)) => Ok(Page::Torn),
        Err(e) => Err(e),
    }
}

//! Reading all that a chip holds, and naming the pages that cannot be read.

use serde::Serialize;
use thermocline_flash::{Flash, FlashError, Lpn, Ppn};
use thermocline_ftl::FtlError;
use thermocline_media::Place;

use crate::{AnyLayer, AssemblyError, Progress, chips::Chip};

/// Pages between two looks whether the user wants an end.
const AT_ONCE: u32 = 1024;

/// A lost logical page and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PageAt {
    /// The logical page.
    pub lpn: u32,
    /// The erase block; `None` if there is no copy.
    pub block: Option<u32>,
    /// The page of that block.
    pub page: Option<u32>,
}

impl PageAt {
    pub(crate) fn of(layer: &AnyLayer<Chip>, lpn: u32, at: Ppn) -> Self {
        let geometry = layer.chip().geometry();
        let is_there = at != Ppn::NONE;
        Self {
            lpn,
            block: is_there.then(|| geometry.block_of(at).0),
            page: is_there.then(|| geometry.page_of(at)),
        }
    }
}

/// Where all logical pages are.
pub(crate) fn places(layer: &mut AnyLayer<Chip>) -> Vec<Ppn> {
    (0..layer.logical_pages()).map(|lpn| layer.find(Lpn(lpn))).collect()
}

/// Reads every page that holds data, and reports the unreadable ones. Returns the number of
/// readable ones.
pub(crate) fn read_all(
    layer: &mut AnyLayer<Chip>,
    place: &Place,
    progress: &Progress,
    mut unreadable: impl FnMut(PageAt),
) -> Result<u64, AssemblyError> {
    let logical_pages = layer.logical_pages();
    progress.expect(u64::from(logical_pages));
    let mut payload = vec![0; layer.chip().geometry().page_size as usize];
    let mut verified = 0;
    for lpn in 0..logical_pages {
        if lpn.is_multiple_of(AT_ONCE) {
            progress.advance(AT_ONCE.into());
            if progress.is_cancelled() {
                return Err(AssemblyError::Interrupted);
            }
        }
        match layer.read(Lpn(lpn), &mut payload) {
            Ok(holds_data) => verified += u64::from(holds_data),
            Err(FtlError::Flash(FlashError::Unreadable(at))) => {
                unreadable(PageAt::of(layer, lpn, at));
            }
            Err(FtlError::Lost(_)) => unreadable(PageAt::of(layer, lpn, Ppn::NONE)),
            Err(e) => return Err(AssemblyError::failed(place, e)),
        }
    }
    Ok(verified)
}

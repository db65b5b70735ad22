//! Reading all that a chip holds, for `check` and `repair`.

use serde::Serialize;
use thermocline_flash::{Flash, FlashError, Lpn, Ppn};
use thermocline_ftl::FtlError;
use thermocline_sim::{AnyLayer, SimError};

use crate::{
    chips::{self, Chip},
    console::Console,
    exit::Failure,
    interrupt,
    progress::Bar,
};

/// A logical page in trouble, and where it lies.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Page {
    pub lpn: u32,
    /// The erase block; none where there is no copy of it.
    pub block: Option<u32>,
    /// The page of that block.
    pub page: Option<u32>,
}

impl Page {
    pub fn of(layer: &AnyLayer<Chip>, lpn: u32, at: Ppn) -> Self {
        let geometry = layer.chip().geometry();
        let is_there = at != Ppn::NONE;
        Self {
            lpn,
            block: is_there.then(|| geometry.block_of(at).0),
            page: is_there.then(|| geometry.page_of(at)),
        }
    }

    /// As a line of text, with what is the matter.
    pub fn line(&self, what: &str) -> String {
        match (self.block, self.page) {
            (Some(block), Some(page)) => {
                format!("{what}: logical page {} (block {block}, page {page})\n", self.lpn)
            }
            _ => format!("{what}: logical page {} (no copy of it is left)\n", self.lpn),
        }
    }
}

/// Reads every page that holds data, and tells of those that cannot be read. How many could.
pub fn read_all(
    layer: &mut AnyLayer<Chip>,
    name: &dyn std::fmt::Display,
    console: Console,
    mut tell: impl FnMut(Page),
) -> Result<u64, Failure> {
    let logical_pages = layer.logical_pages();
    let progress = interrupt::progress();
    progress.expect(u64::from(logical_pages));
    let bar = Bar::of_pages(console, "reading".into(), logical_pages.into());
    let mut payload = vec![0; layer.chip().geometry().page_size as usize];
    let mut verified = 0;
    for lpn in 0..logical_pages {
        if lpn.is_multiple_of(1024) {
            progress.advance(1024);
            if progress.is_cancelled() {
                return Err(SimError::Interrupted.into());
            }
        }
        match layer.read(Lpn(lpn), &mut payload) {
            Ok(holds_data) => verified += u64::from(holds_data),
            Err(FtlError::Flash(FlashError::Unreadable(at))) => tell(Page::of(layer, lpn, at)),
            Err(e) => return Err(chips::failed(format!("{name}: {e}"))),
        }
    }
    drop(bar);
    Ok(verified)
}

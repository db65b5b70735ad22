//! Looking at the log without a layer, for tools.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Lpn, Oob, Ppn};

use super::{
    find::{find_summary, log_pages},
    record::{Header, Record},
};

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub at: Ppn,
    /// The turn of its block: of two blocks the greater was written later. None where the area beside
    /// the page cannot be read.
    pub turn: Option<u64>,
    /// When it was written, by the layer's clock; 0 where that is not known.
    pub time: u64,
    /// The record; `None` if it cannot be read.
    pub record: Option<(Header, Record)>,
}

/// Everything the log holds that is not blank, in the order in which it was written; blocks that are
/// waiting to be erased come first, as they are the oldest.
///
/// # Errors
/// [`FlashError`], where the chip fails for another reason than an unreadable page.
pub fn entries<C: Flash + ?Sized>(chip: &mut C) -> Result<Vec<Entry>, FlashError> {
    let geometry = *chip.geometry();
    let system = match find_summary(chip)? {
        Some(summary) => summary.system_blocks.min(geometry.blocks()),
        None => return Ok(Vec::new()),
    };
    let mut all: Vec<(Option<u64>, Vec<Entry>)> = Vec::new();
    for block in (geometry.blocks() - system..geometry.blocks()).map(BlockId) {
        let mut pages = Vec::new();
        let mut payload = vec![0; geometry.page_size as usize];
        for at in log_pages(geometry, block) {
            let oob: Option<Oob> = match chip.read_oob(at) {
                Ok(None) => continue,
                Ok(oob) => oob.filter(|oob| oob.lpn == Lpn::NONE),
                Err(FlashError::Unreadable(_)) => None,
                Err(e) => return Err(e),
            };
            let record = match chip.read(at, &mut payload) {
                Ok(()) => Record::decode(&payload),
                Err(FlashError::Unreadable(_)) => None,
                Err(e) => return Err(e),
            };
            pages.push(Entry {
                at,
                turn: oob.map(|oob| oob.sequence),
                time: oob.map_or(0, |oob| oob.time),
                record,
            });
        }
        all.push((pages.iter().find_map(|entry| entry.turn), pages));
    }
    all.sort_by_key(|(turn, _)| *turn);
    Ok(all.into_iter().flat_map(|(_, pages)| pages).collect())
}

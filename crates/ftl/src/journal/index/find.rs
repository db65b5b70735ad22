//! How a chip was formatted: from its summary, or from its pages if no head of the index log can be
//! read.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, Flash, FlashError, Geometry, Lpn, Ppn, Retrying};

use super::{
    record::{Kind, Record},
    summary::{DEMAND_PAGED, IN_PLACE, MAP_STREAM, NFTL, PAGE_MAPPED, Summary, stream_of},
};
use crate::journal::watermark::program_number;

/// The pages of a block of the log, in the order in which they are written.
pub(crate) fn log_pages(geometry: Geometry, block: BlockId) -> impl Iterator<Item = Ppn> {
    (geometry.header_pages..geometry.pages_per_block).map(move |page| geometry.ppn(block, page))
}

/// Looks for the summary from the chip's last block backwards, since the size of the index log is
/// not known yet. `None` if the chip was not formatted.
///
/// # Errors
/// [`FlashError`], where the chip fails for another reason than an unreadable page.
pub fn find_summary<C: Flash + ?Sized>(chip: &mut C) -> Result<Option<Summary>, FlashError> {
    let mut chip = Retrying::new(chip);
    let geometry = *chip.geometry();
    let mut payload = vec![0; geometry.page_size as usize];
    // Bad blocks may hold what an earlier format left behind, so they come last.
    let all = (0..geometry.blocks()).rev().map(BlockId);
    let (bad, good): (Vec<_>, Vec<_>) = all.partition(|&block| chip.is_bad(block));
    for block in good.into_iter().chain(bad) {
        let at = geometry.ppn(block, geometry.header_pages);
        match chip.read_oob(at) {
            Ok(Some(oob)) if oob.lpn == Lpn::NONE && oob.note == Kind::Head as u16 => {}
            Ok(_) | Err(FlashError::Unreadable(_) | FlashError::BadBlock(_)) => continue,
            Err(e) => return Err(e),
        }
        match chip.read(at, &mut payload) {
            Ok(()) => {}
            Err(FlashError::Unreadable(_) | FlashError::BadBlock(_)) => continue,
            Err(e) => return Err(e),
        }
        if let Some(Record::Head(head)) = Record::decode(&payload).map(|(_, record)| record) {
            return Ok(Some(head.summary));
        }
    }
    Ok(None)
}

/// What the pages of a chip show of its layer, without a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Pages of data.
    pub data_pages: u64,
    /// Pages of the index log.
    pub log_pages: u64,
    /// The first block with a page of the log, from which on all blocks are the log's; none if there is
    /// no such page.
    pub first_log_block: Option<BlockId>,
    /// The kind of layer, as the pages of its log or of its map say; the page-mapped one if there are none.
    pub layer: u8,
    /// Logical pages that a checkpoint covers; 0 if none of its pages is there.
    pub told_pages: u32,
    /// The least number of logical pages that all data pages belong to.
    pub least_pages: u32,
}

impl Traces {
    /// The number of logical pages that the chip was formatted for, as far as its pages show.
    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.told_pages.max(self.least_pages)
    }
}

/// Looks at all areas of a chip without a summary for what a layer wrote.
///
/// # Errors
/// [`FlashError`], where the chip fails for another reason than an unreadable page.
pub fn find_traces<C: Flash + ?Sized>(chip: &mut C) -> Result<Option<Traces>, FlashError> {
    let mut chip = Retrying::new(chip);
    let geometry = *chip.geometry();
    let mut payload = vec![0; geometry.page_size as usize];
    let mut traces = Traces { layer: PAGE_MAPPED, ..Traces::default() };
    for block in (0..geometry.blocks()).map(BlockId) {
        // All data of a bad block that count are elsewhere; the rest may be of an earlier format.
        if chip.is_bad(block) {
            continue;
        }
        for at in log_pages(geometry, block) {
            let oob = match chip.read_oob(at) {
                Ok(Some(oob)) => oob,
                Ok(None) | Err(FlashError::Unreadable(_) | FlashError::BadBlock(_)) => continue,
                Err(e) => return Err(e),
            };
            if oob.lpn != Lpn::NONE {
                // Numbers are counted from 1.
                traces.data_pages += u64::from(program_number(oob.sequence) > 0);
                traces.least_pages = traces.least_pages.max(oob.lpn.0.saturating_add(1));
                if oob.stream == MAP_STREAM {
                    traces.layer = DEMAND_PAGED;
                }
                continue;
            }
            traces.log_pages += 1;
            let of_layer = |&layer: &u8| oob.stream == stream_of(layer);
            traces.layer =
                [NFTL, IN_PLACE, DEMAND_PAGED].into_iter().find(of_layer).unwrap_or(traces.layer);
            traces.first_log_block.get_or_insert(block);
            let says_how_many =
                [Kind::AbsentRuns, Kind::AbsentBits, Kind::Map].map(|kind| kind as u16);
            if !says_how_many.contains(&oob.note) {
                continue;
            }
            match chip.read(at, &mut payload) {
                Ok(()) => {}
                Err(FlashError::Unreadable(_) | FlashError::BadBlock(_)) => continue,
                Err(e) => return Err(e),
            }
            if let Some((header, Record::Absent(_) | Record::Map(_))) = Record::decode(&payload) {
                traces.told_pages =
                    traces.told_pages.max(header.first.saturating_add(header.count));
            }
        }
    }
    Ok((traces.data_pages + traces.log_pages > 0).then_some(traces))
}
